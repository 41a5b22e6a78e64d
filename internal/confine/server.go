package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"fika/internal/sandbox"
	"fika/internal/tool"
)

// Server confines a process that lives for many calls: what it is kept from is
// settled when it starts, and protected files are looked at around each call
// ([Server.Watch]), because between calls they are the person's to change.
type Server struct {
	call *call
}

// Server makes the confinement of a server that works in a folder. With network
// it reaches the network even where commands of this agent do not.
func (a *Agent) Server(workspace string, network bool) *Server {
	o := a.opts
	o.Network = o.Network || network
	return &Server{&call{agent: &Agent{opts: o}, workspace: workspace}}
}

// Workspace is the folder that it works in.
func (s *Server) Workspace() string { return s.call.workspace }

// Tier names how strongly it is confined.
func (s *Server) Tier() string { return s.call.Tier() }

// Temp is the folder for its temporary files, and the name that it knows it by.
func (s *Server) Temp() (dir, seen string) { return s.call.Temp() }

// Network reports whether it reaches the network.
func (s *Server) Network() bool { return s.call.Network() }

// Confine says how it is started.
func (s *Server) Confine(path string, args []string) (tool.Confined, error) {
	group, dir, err := s.call.agent.opts.Limits.begin(s.call.agent.opts.Probe)
	if err != nil {
		return tool.Confined{}, err
	}
	c, err := s.call.confine(path, args)
	if err == nil && c.Done != nil {
		c.Done() // nothing has run yet: this only gives up what was remembered
		c.Done = nil
	}
	switch {
	case group == nil:
	case err != nil:
		dir.Close()
		group.End()
	default:
		c.Group, c.Done = dir, group.End
	}
	return c, err
}

// Key is the same for two servers that are confined alike, so that one process
// can do for both.
func (s *Server) Key() string {
	o := s.call.agent.opts
	text, _ := json.Marshal([]any{
		s.call.workspace, o.Mode, o.Paths, o.Network, o.ReadOnly, o.Write, o.Hide, o.Lend, o.Sockets, o.Temp, o.Caches, o.Limits,
	}) // of texts and truth values, which cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Watch remembers protected files before a call. The returned function puts back
// what the call has changed of them, and says so, a line each.
func (s *Server) Watch() (end func() []string, err error) {
	o := s.call.agent.opts
	found, err := o.Probe.Open(o.Mode)
	if err != nil || o.Mode == sandbox.Off {
		return func() []string { return nil }, err
	}
	p, _, err := s.call.profile()
	if err != nil {
		return nil, err
	}
	keeper, err := found.KeepProtected(p, o.Aside, o.Calls)
	if err != nil {
		return nil, err
	}
	return func() []string { return restore(keeper, nil) }, nil
}

// restore puts back what a keeper remembers, looks at what the call was let change,
// and closes it.
func restore(keeper *sandbox.Keeper, opened []string) []string {
	defer keeper.Close()
	changes, err := keeper.Restore()
	for _, path := range opened {
		line, failed := settle(keeper, path)
		if err = errors.Join(err, failed); line != "" {
			changes = append(changes, line)
		}
	}
	if err != nil {
		changes = append(slices.Clip(changes), "not everything could be undone: "+err.Error())
	}
	return changes
}
