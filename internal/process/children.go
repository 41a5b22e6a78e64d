package process

import (
	"os/exec"
	"sync"
)

// Children are the processes that this process starts, with all that they
// leave behind. One value serves a whole process, because the kernel hands
// orphans to the process and not to a part of it; every child has to be
// started through it. Its methods may be called from several goroutines.
type Children struct {
	forks   sync.RWMutex // held to read by a start, to write by a look: none is half known then
	mu      sync.Mutex
	adopts  bool // orphans of the children become our own (subreaper)
	started map[int]child
}

// child is one that was started here and not forgotten yet.
type child struct {
	mark string // which step it works for; "": none
	kept bool   // it is to outlive this process
	// served: it answers calls of many steps, and what it starts is its own for
	// as long as it runs.
	served bool
}

// NewChildren is for a process that has started none so far.
func NewChildren() *Children { return &Children{started: map[int]child{}} }

// Start starts cmd, which works for the step mark, or for none (""). When it
// has been waited for, it has to be forgotten ([Children.Forget]).
func (c *Children) Start(cmd *exec.Cmd, mark string) error {
	return c.startChild(cmd, child{mark: mark})
}

// Serve starts cmd, a server that works for many steps and carries a mark of its
// own. What carries the mark is left alone until the server is forgotten.
func (c *Children) Serve(cmd *exec.Cmd, mark string) error {
	return c.startChild(cmd, child{mark: mark, served: true})
}

// Keep starts cmd, a process that is to outlive this one and that nobody waits
// for here.
func (c *Children) Keep(cmd *exec.Cmd) error { return c.startChild(cmd, child{kept: true}) }

func (c *Children) startChild(cmd *exec.Cmd, kind child) error {
	c.forks.RLock()
	defer c.forks.RUnlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started[cmd.Process.Pid] = kind
	return nil
}

// Forget says that a child has been waited for, and that its pid may be
// somebody else's from now on.
func (c *Children) Forget(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.started, pid)
}
