package doctor

import (
	"context"
	"path/filepath"
	"slices"

	"fika"
	"fika/internal/worker"
)

// checkWorkspaces warns of workspaces that hold more than work: a person's whole home
// folder, or a home of fika.
func (d *examination) checkWorkspaces() {
	c, err := d.app.Config()
	if err != nil {
		return
	}
	names := []fika.AgentName{}
	for _, a := range c.Entries() {
		names = append(names, fika.AgentName(a.ID))
	}
	if state, err := d.home.State(); err == nil && !slices.Contains(names, state.Current) {
		names = append(names, state.Current)
	}
	p := worker.KnownPlaces(d.home.Root, d.app.Getenv)
	for _, name := range names {
		s, err := d.app.Settings(name, nil, false)
		if err != nil || s.Workspace == "" {
			continue
		}
		for _, dir := range worker.BothNames(s.Workspace) {
			what := ""
			switch {
			case slices.ContainsFunc(p.Persons, func(home string) bool { return contains(dir, home) }):
				what = "your whole home folder"
			case slices.ContainsFunc(p.Homes, func(home string) bool { return contains(dir, home) }):
				what = "a home of fika"
			default:
				continue
			}
			d.add("workspace", Note, "set workspace to the folder that it works in",
				"the workspace of %s, %s, holds %s: file tools see neither fika's files nor your keys there, but bash and plugins do", name, s.Workspace, what)
			break
		}
	}
}

// checkUnpushed warns of work of agents that is on one host alone, although their settings say
// that it is pushed.
func (d *examination) checkUnpushed(ctx context.Context) {
	s, err := d.app.Store(ctx)
	if err != nil || !s.Distant() {
		return
	}
	list, err := s.Unpushed(ctx)
	if err != nil {
		d.add("workspace", Problem, "", "%v", err)
		return
	}
	for _, w := range list {
		host, err := s.HostName(ctx, w.Home)
		if err != nil {
			host = w.Home
		}
		d.add("workspace", Note, "once the remote takes it again, the next turn of the agent pushes it", "the last work of @%s is on %s alone, and no other host continues it: %s", w.AgentName, host, w.Unpushed)
	}
}

// contains reports whether dir is below or the same as outer.
func contains(outer, dir string) bool {
	rel, err := filepath.Rel(outer, dir)
	return err == nil && filepath.IsLocal(rel)
}
