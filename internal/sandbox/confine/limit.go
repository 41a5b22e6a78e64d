package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"sync"

	"fika"
	"fika/internal/system/cgroup"
)

// Limits bound how much of the machine all processes of an agent's tools use together.
type Limits struct {
	cgroup.Limits
	Required bool // nothing is run where the limits cannot be kept
	Agent    fika.AgentName
	Home     string // distinguishes the agents of different homes
}

// groupProbe finds out once whether control groups can be made.
type groupProbe struct {
	once  sync.Once
	root  *cgroup.Root
	err   error
	mu    sync.Mutex
	homes map[string]*cgroup.Groups
}

func (p *groupProbe) find() (*cgroup.Root, error) {
	p.once.Do(func() { p.root, p.err = cgroup.FindRoot("") })
	return p.root, p.err
}

// Groups returns the control groups for the agents of a home. The error says in words why
// there are none.
func (p *Probe) Groups(home string) (*cgroup.Groups, error) {
	root, err := p.groups.find()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(home))
	id := hex.EncodeToString(sum[:4])
	p.groups.mu.Lock()
	defer p.groups.mu.Unlock()
	if p.groups.homes == nil {
		p.groups.homes = map[string]*cgroup.Groups{}
	}
	if p.groups.homes[id] == nil {
		p.groups.homes[id] = root.GroupsFor(id)
	}
	return p.groups.homes[id], nil
}

// NoLimits says why limits cannot be kept here; empty if they can.
func (p *Probe) NoLimits(l Limits) string {
	if !l.AnySet() {
		return ""
	}
	g, err := p.Groups(l.Home)
	if err == nil {
		err = g.CanLimit(l.Limits)
	}
	if err != nil {
		return fika.ReasonOf(err)
	}
	return ""
}

// begin makes the control group of a process. The group is nil if there are no limits, or
// if it cannot be made and the limits are not required. Error kind: Denied.
func (l Limits) begin(p *Probe) (*cgroup.Call, *os.File, error) {
	if !l.AnySet() {
		return nil, nil, nil
	}
	c, dir, err := l.make(p)
	if err != nil && l.Required {
		return nil, nil, fika.Errorf(fika.Denied, "limits", "nothing is run, because its limits are required and cannot be kept here: %s", fika.ReasonOf(err))
	}
	return c, dir, nil
}

func (l Limits) make(p *Probe) (*cgroup.Call, *os.File, error) {
	g, err := p.Groups(l.Home)
	if err != nil {
		return nil, nil, err
	}
	c, err := g.Begin(l.Agent, l.Limits)
	if err != nil {
		return nil, nil, err
	}
	dir, err := c.Open()
	if err != nil {
		c.End()
		return nil, nil, err
	}
	return c, dir, nil
}
