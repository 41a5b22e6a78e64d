package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"fika"
	"fika/internal/sandbox"
	"fika/internal/tool"
)

// Server confines a process that lives for many calls: its confinement is fixed when it
// starts, and protected files are checked around each call ([Server.Watch]), because
// between calls the person may change them.
type Server struct {
	call *call
}

// Server returns the confinement of a server that works in a folder. With network it
// reaches the network even if commands of this agent do not.
func (a *Agent) Server(workspace string, network bool) *Server {
	o := a.opts
	o.Network, o.Hosts = o.Network || network, nil
	return &Server{&call{agent: &Agent{opts: o}, workspace: workspace}}
}

// Workspace returns the folder in which the server works.
func (s *Server) Workspace() string { return s.call.workspace }

// Tier returns the name of the tier in which the server is confined.
func (s *Server) Tier() string { return s.call.Tier() }

// Temp returns the folder for the server's temporary files, and the path by which the
// server knows it.
func (s *Server) Temp() (dir, seen string) { return s.call.Temp() }

// Network reports whether the server reaches the network.
func (s *Server) Network() bool { return s.call.Network() }

// Confine returns how to start the server.
func (s *Server) Confine(path string, args []string) (tool.Confined, error) {
	group, dir, err := s.call.agent.opts.Limits.begin(s.call.agent.opts.Probe)
	if err != nil {
		return tool.Confined{}, err
	}
	c, err := s.call.confine(path, args)
	if err == nil && c.Done != nil {
		c.Done() // nothing has run yet: this only releases the keeper
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

// Key returns the same text for two servers that are confined alike, so that one process
// can serve both.
func (s *Server) Key() string {
	o := s.call.agent.opts
	text, _ := json.Marshal([]any{
		s.call.workspace, o.Mode, o.Paths, o.HomeReadable, o.Network, o.ReadOnly, o.Write, o.Hide, o.Lend, o.Sockets, o.Temp, o.Caches, o.Limits,
	}) // texts, numbers and booleans, which cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Watch remembers protected files before a call. The returned function puts back those
// that the call has changed, and returns a line about each change.
func (s *Server) Watch() (end func() []string, err error) {
	o := s.call.agent.opts
	found, err := o.Probe.Open(o.Mode)
	if err != nil || o.Mode == sandbox.Off {
		return func() []string { return nil }, err
	}
	p, _, repos, err := s.call.profile()
	if err != nil {
		return nil, err
	}
	keeper, err := found.KeepProtected(p, o.Aside, o.Calls)
	if err != nil {
		return nil, err
	}
	w, err := s.call.watch(repos)
	if err != nil {
		keeper.Close()
		return nil, fika.Wrap(fika.Denied, "sandbox", err)
	}
	return func() []string { return restore(keeper, p.Opened, w) }, nil
}

// restore puts back what a keeper remembers, checks the files that the call was allowed
// to change, settles the repositories, and closes the keeper.
func restore(keeper *sandbox.Keeper, opened []string, w *watch) []string {
	defer keeper.Close()
	changes, err := keeper.Restore()
	for _, path := range opened {
		line, failed := settle(keeper, path)
		if err = errors.Join(err, failed); line != "" {
			changes = append(changes, line)
		}
	}
	lines, failed := w.end()
	changes, err = append(changes, lines...), errors.Join(err, failed)
	if err != nil {
		changes = append(slices.Clip(changes), "not everything could be undone: "+err.Error())
	}
	return changes
}
