package app

import (
	"path/filepath"
	"slices"

	"fika"
	"fika/internal/folder"
	"fika/internal/guard"
)

// paths is what is out of reach of this agent's file tools: all homes of fika
// that are known but its own output and workspace, and the secrets of the
// person, each under the name it is known by and the one it really has.
func (own *Owned) paths() guard.Paths {
	p := own.App.places(own.Folder.Home.Root)
	p.Own = bothNames(own.Folder.OutputDir(), own.Folder.Workspace())
	return p
}

// places are the homes and the persons of this machine, as far as they are
// known.
func (a *App) places(root string) guard.Paths {
	return guard.Paths{
		Homes:   bothNames(folder.KnownHomes(root, a.Getenv)...),
		Persons: bothNames(folder.PersonHomes(a.Getenv)...),
	}
}

// bothNames adds the real names of folders that are reached through links.
func bothNames(dirs ...string) []string {
	out := slices.Clone(dirs)
	for _, d := range dirs {
		if real, err := filepath.EvalSymlinks(d); err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// checkWorkspaces warns of workspaces that hold more than work: a person's
// whole home folder, or a home of fika.
func (d *doctor) checkWorkspaces() {
	c, err := d.Config()
	if err != nil {
		return
	}
	names := []fika.AgentName{}
	for _, a := range c.Agents {
		names = append(names, fika.AgentName(a.ID))
	}
	if state, err := d.home.State(); err == nil && !slices.Contains(names, state.Current) {
		names = append(names, state.Current)
	}
	p := d.places(d.home.Root)
	for _, name := range names {
		s, err := d.Settings(name, nil, false)
		if err != nil || s.Workspace == "" {
			continue
		}
		for _, dir := range bothNames(s.Workspace) {
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
