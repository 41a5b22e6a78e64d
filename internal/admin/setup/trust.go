package setup

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/settings/project"
	"fika/internal/text/hint"
)

// Pending is the content of a project's files compared with what a person agreed to.
type Pending struct {
	Project *project.Project
	Tree    project.Tree
	Changes []project.Change // none: the person agreed to all of it
	Config  *config.Config   // what would be in force
	State   project.State

	instructions bool
	app          *app.App
}

// ReviewProject reads the current project once: [Pending.Accept] puts in force exactly
// what ReviewProject returns, whatever happens to the files meanwhile. Error kinds:
// NotFound outside of a project, Invalid for settings with mistakes or that a project
// may not have.
func ReviewProject(a *app.App) (*Pending, error) {
	p := a.Project()
	if p == nil {
		return nil, fika.WithHint(fika.Errorf(fika.NotFound, "trust", "this is not a project"), hint.Init)
	}
	c, err := a.CheckProject()
	if err != nil {
		return nil, err
	}
	out := &Pending{Project: p, Config: c, instructions: c.AgentsMD, app: a}
	if out.Tree, err = project.Read(p.Root, c.AgentsMD); err != nil {
		return nil, err
	}
	before, err := p.AgreedFiles()
	if err != nil {
		return nil, err
	}
	out.Changes = project.DiffTrees(before, out.Tree)
	switch _, trusted := p.Trust(); {
	case !trusted:
		out.State = project.Untrusted
	case len(out.Changes) > 0:
		out.State = project.Changed
	default:
		out.State = project.Trusted
	}
	return out, nil
}

// Accept puts the reviewed files in force.
func (p *Pending) Accept() error {
	if _, err := p.app.Home(); err != nil {
		return err
	}
	if err := p.Project.NoteIdentity(p.app.Now()); err != nil {
		return err
	}
	return p.Project.Accept(p.Tree, p.instructions, p.app.Now())
}

// Announced reports whether the person has already been shown these changes, and
// records that they have been shown now.
func (p *Pending) Announced() bool {
	file := filepath.Join(p.Project.Home, "announced")
	digest := p.Tree.Digest()
	if before, err := os.ReadFile(file); err == nil && string(before) == digest {
		return true
	}
	_ = renameio.WriteFile(file, []byte(digest), 0o600) // on failure it is shown again
	return false
}

// FindInstructions finds the AGENTS.md, or else CLAUDE.md, that would apply in a folder
// outside any project, at the root of its repository or in the folder itself, and that
// the key trust does not cover yet. Error kinds: NotFound, Conflict when the key covers
// it.
func FindInstructions(a *app.App) (path, text string, err error) {
	const op = "trust"
	dir := repository(a.Dir(), a.Getenv("HOME"))
	if path = project.InstructionsIn(dir); path == "" {
		return "", "", fika.WithHint(fika.Errorf(fika.NotFound, op, "nothing to trust: no .fika, AGENTS.md or CLAUDE.md here"), hint.Init)
	}
	c, err := a.Config()
	if err != nil {
		return "", "", err
	}
	root, err := a.Root()
	if err != nil {
		return "", "", err
	}
	for _, t := range c.Trust {
		if rel, err := filepath.Rel(config.ExpandPath(root, t), dir); err == nil && filepath.IsLocal(rel) {
			return "", "", fika.Errorf(fika.Conflict, op, "%s is trusted: the key trust says so", dir)
		}
	}
	text, err = folder.ReadText(path, 256<<10)
	return path, text, err
}

// TrustFolder adds a folder to the key trust, and returns the path of the config file.
func TrustFolder(a *app.App, dir string) (string, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return "", err
	}
	return h.ConfigFile(), config.SetKey(h.ConfigFile(), "trust", append(slices.Clone(c.Trust), dir))
}
