package mcp

import (
	"io"

	"fika/internal/system/process"
	"fika/internal/tool/proc"
)

// child is the process of a server.
type child struct {
	*proc.Peer
	stdout *messages
}

// launch says how a process is started.
type launch struct {
	server   Server
	confine  Confinement // nil: nothing confines the process
	dir      string
	mark     string
	children *process.Children
	log      io.WriteCloser // closed when the process has ended
}

// start starts a server.
func start(l launch) (*child, error) {
	c := proc.PeerCmd{
		Command: l.server.Command, Args: l.server.Args, Dir: l.dir, Env: l.server.Env, Mark: l.mark, Children: l.children, Stderr: l.log,
	}
	if l.confine != nil {
		c.Confine = l.confine
	}
	p, err := proc.StartPeer(c)
	if err != nil {
		return nil, err
	}
	return &child{p, newMessages(p.Stdout, l.log)}, nil
}

// broken returns why the process can no longer be spoken to, or "" if it can.
func (c *child) broken() string {
	why, closed := c.stdout.broken()
	if why != "" {
		return why
	}
	if closed && !c.AwaitEnd() {
		return "it closed its stdout"
	}
	select {
	case <-c.Ended():
	default:
		return ""
	}
	why, _ = c.HowEnded()
	return "it " + why
}
