package confine

import (
	"fmt"

	"fika"
	"fika/internal/sandbox"
	"fika/internal/tool"
)

// Job confines a command that runs on after its call. It is fixed when the command starts;
// unlike a call it puts no file back, because the person works beside it: what was
// protected then is read-only for it, and calls look after what appears later. A Job
// serves one process; the caller must Close it.
type Job struct {
	*call
	share *sandbox.Handover // nil: its namespaces are another's, or the machine's
}

// Job returns the confinement of a job in a folder. It works in the namespaces of another
// job if in is not nil. Error kind: Denied where such a command could not be ended for
// certain, or nothing could reach it.
func (a *Agent) Job(workspace string, in *sandbox.Spaces) (*Job, error) {
	s, err := a.opts.Probe.Open(a.opts.Mode)
	if err != nil {
		return nil, err
	}
	j := &Job{call: &call{agent: a, workspace: workspace, long: true}}
	if s.Tier() == sandbox.None {
		return j, nil
	}
	if why := s.CannotShare(a.opts.User.Credential()); why != "" {
		return nil, fika.Errorf(fika.Denied, "", "nothing is started in the background: %s", why)
	}
	switch {
	case a.opts.Network:
	case in != nil:
		j.enter(in)
	default:
		if j.share, err = sandbox.NewHandover(0); err != nil {
			return nil, err
		}
		j.call.share = j.share
	}
	return j, nil
}

// Spaces waits for the namespaces that calls can join; nil if the process has none of its
// own. It fails once the process has ended without them, or Close was called.
func (j *Job) Spaces() (*sandbox.Spaces, error) {
	if j.share == nil {
		return nil, nil
	}
	return j.share.Spaces()
}

// Close ends the wait for the namespaces. It may be called twice.
func (j *Job) Close() {
	if j.share != nil {
		j.share.Close()
	}
}

// ToolsIn is [Agent.Tools] for a call that works in the namespaces of a job. The rights of
// the two must be alike: see [Agent.Key].
func (a *Agent) ToolsIn(in *sandbox.Spaces, workspace string, opened ...string) tool.Confinement {
	c := &call{agent: a, workspace: workspace, opened: opened}
	if in != nil && !a.opts.Network {
		c.enter(in)
	}
	return c
}

// enter makes the call work in the namespaces of a job. It listens elsewhere than the
// others there.
func (c *call) enter(in *sandbox.Spaces) {
	c.join = in
	c.portAt = uint16(c.agent.opts.Probe.joined.Add(1)%portsOfCalls) + 1
}

// portsOfCalls is how many ports above that of the first call in a network others use in
// turn.
const portsOfCalls = 900

// port returns where the call listens in its network.
func (c *call) port() uint16 { return sandbox.ProxyPort + c.portAt }

// Key returns the same text for processes that are confined alike in a folder.
func (a *Agent) Key(workspace string) string {
	return (&Server{&call{agent: a, workspace: workspace}}).Key() + fmt.Sprint(a.opts.Hosts)
}

// Reaches reports whether the process reaches hosts that are named, without the network.
func (j *Job) Reaches() bool { return j.proxied() }
