package backup_test

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/admin/backup"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/store/storetest"
)

const settings = "username = \"kim\"\n[nats]\nuser = \"kim\"\npassword = \"hunter2-hunter2\"\n"

// home makes a home with settings, keys, a context and what it said.
func home(t *testing.T, said ...string) (*app.App, folder.Home) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "home")
	write(t, filepath.Join(root, "config.toml"), settings)
	write(t, filepath.Join(root, "keys"), "secret of its own")
	storetest.FreshAt(t, filepath.Join(root, "fika.db"))
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() { _ = a.Close() })
	h, err := a.Home()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range said {
		say(t, a, text)
	}
	return a, h
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func say(t *testing.T, a *app.App, text string) {
	t.Helper()
	s, row := agentOf(t, a)
	if _, err := s.Deliver(t.Context(), store.Send{To: row.ID, From: "kim", Writer: fika.ByHuman, Content: text}); err != nil {
		t.Fatal(err)
	}
}

func agentOf(t *testing.T, a *app.App) (*store.Store, fika.Agent) {
	t.Helper()
	s, err := a.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	row, err := s.EnsureAgent(t.Context(), store.NewAgent{Name: "arya", HomeID: "here"})
	if err != nil {
		t.Fatal(err)
	}
	return s, row
}

func said(t *testing.T, a *app.App) string {
	t.Helper()
	s, row := agentOf(t, a)
	conv, err := s.ActiveAsk(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.Entries(t.Context(), store.EntryQuery{Conversation: conv.ID})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Content)
	}
	return strings.Join(all, " ")
}

// What a backup holds comes back, what came later is set aside and not lost.
func TestRestoreBringsBackWhatABackupHolds(t *testing.T) {
	a, h := home(t, "one", "two")
	note := filepath.Join(h.Folder("arya").Path(), "goals.md")
	write(t, note, "win\n")
	write(t, filepath.Join(h.Folder("arya").Path(), "context.jsonl"), "of the database that goes\n")
	s, row := agentOf(t, a)
	worker, err := s.Acquire(t.Context(), row.ID, "worker", time.Hour, true)
	if err != nil {
		t.Fatal(err)
	}
	path, err := backup.Write(t.Context(), a, "")
	if err != nil {
		t.Fatal(err)
	}
	say(t, a, "three")
	write(t, note, "lose\n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	done, err := backup.Restore(t.Context(), a, path, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, a); got != "one two" {
		t.Errorf("the database says %q", got)
	}
	if text, err := os.ReadFile(note); err != nil || string(text) != "win\n" {
		t.Errorf("the note says %q, %v", text, err)
	}
	s, _ = agentOf(t, a)
	if err := s.Renew(t.Context(), worker, time.Hour, store.Beat{}); !fika.IsKind(err, fika.Lost) {
		t.Errorf("who worked before writes on: %v", err)
	}
	var asides string
	for _, aside := range done.Aside {
		if _, err := os.Stat(aside); err != nil {
			t.Error(err)
		}
		asides += filepath.Base(aside) + " "
	}
	for _, name := range []string{"fika.db", "goals.md", "context.jsonl"} {
		if !strings.Contains(asides, name+".before_restore_") {
			t.Errorf("%s was not set aside: %s", name, asides)
		}
	}
	if text, err := os.ReadFile(h.ConfigFile()); err != nil || string(text) != settings {
		t.Errorf("the settings, unchanged but for the password that no backup has, became %q, %v", text, err)
	}
}

// Keys and passwords are in no backup, and none is written over a file.
func TestNoSecretsInABackup(t *testing.T) {
	a, _ := home(t, "one")
	path := filepath.Join(t.TempDir(), "b.zip")
	if _, err := backup.Write(t.Context(), a, path); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "hunter2") || strings.Contains(string(data), "secret of its own") {
			t.Errorf("%s holds a secret", f.Name)
		}
	}
	if _, err := backup.Write(t.Context(), a, path); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("over another: got %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".fika-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// While a hub runs or somebody works, and from what is no backup, nothing is
// restored, and nothing has moved.
func TestRestoreRefuses(t *testing.T) {
	a, h := home(t, "one")
	path, err := backup.Write(t.Context(), a, "")
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := h.Ensure("arya")
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "no.zip")
	write(t, damaged, "PK? no")
	check := func(what, path string, want fika.Kind) {
		t.Helper()
		if _, err := backup.Restore(t.Context(), a, path, false); !fika.IsKind(err, want) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	check("from something else", damaged, fika.Invalid)
	check("from nothing", path+".gone", fika.NotFound)
	hub, err := h.LockHub()
	if err != nil {
		t.Fatal(err)
	}
	check("beside a hub", path, fika.Locked)
	if err := hub.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err := folder.TryLock(t.Context(), f, folder.LockOptions{Kind: folder.LockRun})
	if err != nil {
		t.Fatal(err)
	}
	check("beside a prompt", path, fika.Locked)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if got := said(t, a); got != "one" {
		t.Errorf("the database says %q", got)
	}
	if _, err := os.Stat(h.DatabaseFile()); errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A database is moved row by row.
func TestMoveStore(t *testing.T) {
	a, _ := home(t, "one", "two")
	to := filepath.Join(t.TempDir(), "moved.db")
	rows := int64(0)
	if _, err := backup.MoveStore(t.Context(), a, to, func(c store.Copied) { rows += int64(c.Rows) }); err != nil {
		t.Fatal(err)
	}
	moved, err := store.Open(t.Context(), store.Options{Path: to, Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer moved.Close()
	row, err := moved.Agent(t.Context(), "arya")
	if err != nil || row.ActiveAsk == "" || rows < 4 {
		t.Errorf("got %+v after %d rows, %v", row, rows, err)
	}
	if found, err := backup.CheckStore(t.Context(), a); err != nil || len(found) > 0 {
		t.Errorf("the old one: %q, %v", found, err)
	}
	if _, err := backup.MoveStore(t.Context(), a, to, nil); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// TestRestoreMakesTheFoldersOfContexts: a context in which nobody has edited a file is
// listed after a restore into a fresh home, too (row R1).
func TestRestoreMakesTheFoldersOfContexts(t *testing.T) {
	a, h := home(t, "one")
	s, err := a.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := h.ID()
	if err != nil {
		t.Fatal(err)
	}
	for name, home := range map[fika.AgentName]string{"gendry": id, "elsewhere": "another"} {
		if _, err := s.EnsureAgent(t.Context(), store.NewAgent{Name: name, HomeID: home}); err != nil {
			t.Fatal(err)
		}
	}
	path, err := backup.Write(t.Context(), a, "")
	if err != nil {
		t.Fatal(err)
	}
	fresh := app.New(app.Options{Root: filepath.Join(t.TempDir(), "home"), Getenv: func(string) string { return "" }})
	t.Cleanup(func() { _ = fresh.Close() })
	if _, err := backup.Restore(t.Context(), fresh, path, false); err != nil {
		t.Fatal(err)
	}
	restored, err := fresh.Home()
	if err != nil {
		t.Fatal(err)
	}
	names, _, err := restored.List()
	if err != nil || !slices.Contains(names, "gendry") || slices.Contains(names, "elsewhere") {
		t.Errorf("contexts: %v, %v", names, err)
	}
	if got := said(t, fresh); got != "one" {
		t.Errorf("the database says %q", got)
	}
}

// TestABackupHasTheRulesOfScriptedModels: what a scripted model answers from is a file that
// people edit, wherever in the home it is (row F6).
func TestABackupHasTheRulesOfScriptedModels(t *testing.T) {
	a, h := home(t, "one")
	write(t, filepath.Join(h.Root, "rules.toml"), "fallback = \"x\"\n")
	write(t, filepath.Join(h.Root, "stand", "in.toml"), "fallback = \"y\"\n")
	write(t, h.ConfigFile(), settings+"[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"stand/in.toml\"\n")
	a = app.New(app.Options{Root: h.Root, Getenv: func(string) string { return "" }}) // reads the settings anew
	t.Cleanup(func() { _ = a.Close() })
	path, err := backup.Write(t.Context(), a, "")
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, name := range []string{"home/rules.toml", "home/stand/in.toml"} {
		if _, err := z.Open(name); err != nil {
			t.Error(err)
		}
	}
}
