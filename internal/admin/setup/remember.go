package setup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/project"
)

// Memory is the instructions in a folder that agents have in their prompts, as files.
type Memory struct {
	Root  string // of the project, or the folder that is none
	Files []project.File
	State project.State // Trusted: they are in force as they are
	Off   bool          // agents_md is false: no prompt has them
}

// InForce reports whether agents have these instructions in their prompts as they are.
func (m Memory) InForce() bool { return m.State == project.Trusted && !m.Off }

// Remembered returns the instructions of the project at hand, or of the folder that is none.
func Remembered(a *app.App) (Memory, error) {
	p, err := ReviewProject(a)
	if err == nil {
		m := Memory{Root: p.Project.Root, State: p.State, Off: !p.instructions}
		for _, f := range p.Tree.Files {
			if project.IsInstructions(f.Path) {
				m.Files = append(m.Files, f)
			}
		}
		return m, nil
	}
	if !fika.IsKind(err, fika.NotFound) {
		return Memory{}, err
	}
	c, err := a.Config()
	if err != nil {
		return Memory{}, err
	}
	m := Memory{Root: repository(a.Dir(), a.Getenv("HOME")), State: project.Untrusted, Off: !c.AgentsMD}
	if _, _, err := FindInstructions(a); fika.IsKind(err, fika.Conflict) {
		m.State = project.Trusted // the key trust has the folder
	}
	if path := project.InstructionsIn(m.Root); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return m, fika.Wrap(fika.Storage, "read instructions", err)
		}
		m.Files = []project.File{{Path: filepath.Base(path), Data: data}}
	}
	return m, nil
}

// Remember adds a line to the instructions at the root of the project at hand, or of the
// folder that is none, and returns the file. It is in force at once, if all that was there
// before is.
func Remember(a *app.App, line string) (path string, inForce bool, err error) {
	const op = "remember"
	before, err := Remembered(a)
	if err != nil {
		return "", false, err
	}
	if path = project.InstructionsIn(before.Root); path == "" {
		path = filepath.Join(before.Root, project.Instructions)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if errors.Is(err, syscall.ELOOP) {
		return path, false, fika.Errorf(fika.Invalid, op, "%s is a symbolic link, which is not followed", path)
	}
	if err != nil {
		return path, false, fika.Wrap(fika.Storage, op, err)
	}
	text := "- " + strings.Join(strings.Fields(line), " ") + "\n"
	if needsBreak(f) {
		text = "\n" + text
	}
	_, err = f.Seek(0, 2)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return path, false, fika.Wrap(fika.Storage, op, err)
	}
	if !before.InForce() {
		return path, false, nil
	}
	p, err := ReviewProject(a)
	if fika.IsKind(err, fika.NotFound) { // no project: the folder is trusted, whatever is in it
		return path, true, nil
	}
	if err == nil && !p.addsOnly(path, text) {
		return path, false, nil // somebody else has changed something meanwhile
	}
	if err == nil {
		err = p.Accept()
	}
	return path, err == nil, err
}

// needsBreak reports whether a text file does not end with a line end.
func needsBreak(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// addsOnly reports whether what the person has not agreed to yet is this text at the end of
// this file, and nothing else.
func (p *Pending) addsOnly(path, text string) bool {
	rel, err := filepath.Rel(p.Project.Root, path)
	if err != nil || len(p.Changes) != 1 || p.Changes[0].Path != filepath.ToSlash(rel) {
		return false
	}
	now := p.Tree.Get(filepath.ToSlash(rel))
	agreed, err := os.ReadFile(filepath.Join(p.Project.Copy(), rel))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || now == nil {
		return false
	}
	return bytes.Equal(now.Data, append(agreed, text...))
}
