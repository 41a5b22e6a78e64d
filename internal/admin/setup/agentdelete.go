package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/project"
	"fika/internal/text/hint"
)

// AgentFile returns the file that defines an agent: the person's own, or else the
// project's. Error kinds: Conflict for an agent that is an entry of a config,
// NotFound.
func AgentFile(a *app.App, name fika.AgentName) (string, error) {
	const op = "delete agent"
	dir, _, err := a.SettingLayers()
	if err != nil {
		return "", err
	}
	dirs := []string{dir}
	if p := a.Project(); p != nil {
		dirs = append(dirs, p.Dir())
	}
	for _, d := range dirs {
		file := filepath.Join(d, "agents", string(name)+".md")
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
			return file, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fika.Wrap(fika.Storage, op, err)
		}
	}
	c, err := a.Config()
	if err != nil {
		return "", err
	}
	if at, taken := c.WhereAgent(name); taken {
		return "", fika.Errorf(fika.Conflict, op, "@%s is defined in %s:%d; delete it there", name, at.File, at.Line)
	}
	return "", fika.WithHint(fika.Errorf(fika.NotFound, op, "agent %q not found", name), hint.AgentList)
}

// DeleteAgent removes the file of an agent. If the project's files were trusted as
// they were, they still are afterwards. It has the error kinds of [AgentFile].
func DeleteAgent(a *app.App, name fika.AgentName) (Made, error) {
	file, err := AgentFile(a, name)
	if err != nil {
		return Made{}, err
	}
	p := a.Project()
	if p == nil || filepath.Dir(filepath.Dir(file)) != p.Dir() {
		return Made{File: file, InForce: true}, fika.Wrap(fika.Storage, "delete agent", os.Remove(file))
	}
	before := p.State(a.Dir())
	if err := os.Remove(file); err != nil {
		return Made{}, fika.Wrap(fika.Storage, "delete agent", err)
	}
	if before != project.Trusted {
		return Made{File: file}, nil
	}
	pending, err := ReviewProject(a)
	if err != nil || len(pending.Changes) != 1 {
		return Made{File: file}, err
	}
	return Made{File: file, InForce: true}, pending.Accept()
}
