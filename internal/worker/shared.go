package worker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// markFile begins the name of the file by which the hosts of an agent know that a folder is
// the same one: its owner writes it, and the next owner looks for what that wrote.
const markFile = ".fika-shared."

// maxMark bounds the file, which anybody may have written.
const maxMark = 4 << 10

// mark is what the file says.
type mark struct {
	store string
	agent fika.AgentName
	marks []string // of the last owner, and of the one before it
}

func (m mark) text() string {
	return "fika keeps this file: by it the hosts of an agent know that this folder is the same one.\nstore " + m.store + "\nagent " + string(m.agent) + "\nmark " + strings.Join(m.marks, "\nmark ") + "\n"
}

// parseMark reads a file. What is missing in it is empty.
func parseMark(text string) (m mark) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		switch key {
		case "store":
			m.store = value
		case "agent":
			m.agent = fika.AgentName(value)
		case "mark":
			m.marks = append(m.marks, value)
		}
	}
	return m
}

// CheckShared returns Denied if a folder is not the one that an agent's last owner had, as the
// rows say; nil if nobody has worked yet.
func CheckShared(dir, storeID string, w store.Workspace) error {
	if err := CheckWorkspace(dir, w.AgentName); err != nil || w.Mark == "" {
		return err
	}
	text, err := folder.ReadInside(dir, markFile+string(w.AgentName), maxMark)
	if err != nil {
		return err
	}
	m := parseMark(text)
	switch {
	case text == "":
		return fika.Errorf(fika.Denied, "workspace", "%s is not the shared folder in which @%s has worked: %s is not in it", dir, w.AgentName, markFile+string(w.AgentName))
	case m.store != storeID || m.agent != w.AgentName || !slices.Contains(m.marks, w.Mark):
		return fika.Errorf(fika.Denied, "workspace", "%s is not the shared folder in which @%s has worked, but a copy or another: %s in it says something else", dir, w.AgentName, markFile+string(w.AgentName))
	}
	return nil
}

// keepShared makes sure that the folder of an agent whose files are shared is the one that its
// last owner had, and marks it anew. Nothing is written to another folder.
func (w *Worker) keepShared(ctx context.Context) error {
	c, err := w.App.Config()
	if err != nil {
		return err
	}
	if e := c.Agent(w.Agent.Name); e == nil || e.WorkspaceOn != config.OnShared {
		return nil
	}
	dir := w.Settings.Workspace
	if dir == "" || w.Settings.Worktree {
		return fika.Errorf(fika.Invalid, "workspace", "workspace_on = \"shared\" needs workspace: the folder that every host has")
	}
	meta, err := w.Store.Meta(ctx)
	if err != nil {
		return err
	}
	home, err := w.Folder.Home.ID()
	if err != nil {
		return err
	}
	now, _, err := w.Store.WorkspaceOf(ctx, w.Agent.ID, 0)
	if err != nil {
		return err
	}
	if err := CheckShared(dir, meta.StoreID, now); err != nil && (now.Home != home || fika.IsKind(err, fika.Invalid)) {
		return err
	}
	own := string(w.Lease.ID)
	// Both, because the row does not say the new one yet.
	if err := writeMark(dir, mark{meta.StoreID, w.Agent.Name, slices.DeleteFunc([]string{now.Mark, own}, func(m string) bool { return m == "" })}); err != nil {
		return err
	}
	return w.Store.KeepWorkspace(ctx, w.Lease, store.Workspace{Home: home, Mark: own, Taken: now.Taken})
}

// writeMark replaces the file in a folder, and follows no link there.
func writeMark(dir string, m mark) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fika.Wrap(fika.Storage, "workspace", err)
	}
	defer root.Close()
	name := markFile + string(m.agent)
	fresh := name + ".new"
	if err := root.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fika.Wrap(fika.Storage, "workspace", err)
	}
	f, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fika.Wrap(fika.Storage, "workspace", err)
	}
	_, err = f.WriteString(m.text())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(fresh, name)
	}
	return fika.Wrap(fika.Storage, "workspace", err)
}
