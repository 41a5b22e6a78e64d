package doctor

import (
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

// contains reports whether dir is below or the same as outer.
func contains(outer, dir string) bool {
	rel, err := filepath.Rel(outer, dir)
	return err == nil && filepath.IsLocal(rel)
}
