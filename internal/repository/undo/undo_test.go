package undo_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/repository/undo"
	"fika/internal/rights/guard"
	"fika/internal/tool/file"
)

// bench is a workspace and a log, and one turn that changes files.
type bench struct {
	*testing.T
	dir, logDir string
	log         *undo.Log
	now         time.Time
	turn        undo.Turn
	steps       int
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, dir: filepath.Join(t.TempDir(), "work"), logDir: filepath.Join(t.TempDir(), "undo"), now: time.Now()}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.log = undo.Open(b.logDir, func() time.Time { return b.now })
	b.begin("r1")
	return b
}

func (b *bench) begin(request string) {
	b.turn = undo.Turn{Request: fika.RequestID(request), Agent: "coder", Workspace: b.dir}
}

func (b *bench) files() undo.Files { return file.NewTree(b.dir, guard.Paths{}) }

func (b *bench) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		b.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil { // whatever the umask is
		b.Fatal(err)
	}
}

func (b *bench) text(name string) string {
	raw, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return "none"
	}
	return string(raw)
}

// change does what the tools do: it notes, then writes.
func (b *bench) change(name, text string) {
	b.Helper()
	b.note(name, text)
	b.write(name, text)
}

func (b *bench) note(name, text string) {
	b.Helper()
	b.steps++
	c := undo.Change{Step: fmt.Sprintf("%s/%d", b.turn.Request, b.steps), Path: name, After: []byte(text)}
	if old, err := os.ReadFile(filepath.Join(b.dir, name)); err == nil {
		c.Before, c.Size, c.Mode = bytes.NewReader(old), int64(len(old)), 0o640
	} else if dir := filepath.Dir(name); dir != "." {
		c.Made = []string{dir}
	}
	if err := b.log.KeepBefore(b.turn, c); err != nil {
		b.Fatal(err)
	}
}

// apply undoes, and tells what became of each file: "restore a.txt".
func (b *bench) apply() []string {
	b.Helper()
	p, err := b.log.Apply(b.turn.Request, b.files())
	if err != nil {
		b.Fatal(err)
	}
	var out []string
	for _, i := range p.Items {
		out = append(out, string(i.Do)+" "+i.Path)
	}
	return out
}

func (b *bench) want(got []string, want ...string) {
	b.Helper()
	if !slices.Equal(got, want) {
		b.Errorf("%q, want %q", got, want)
	}
}

func (b *bench) wantText(name, want string) {
	b.Helper()
	if got := b.text(name); got != want {
		b.Errorf("%s holds %q, want %q", name, got, want)
	}
}

func TestUndoAndRedo(t *testing.T) {
	b := newBench(t)
	b.write("edited.txt", "before")
	b.write("touched.txt", "before")
	b.change("edited.txt", "one")
	b.change("edited.txt", "two")
	b.change("touched.txt", "agent's")
	b.change("new/made.txt", "made")
	b.write("touched.txt", "person's")
	for range 2 {
		b.want(b.apply(), "restore edited.txt", "leave touched.txt", "delete new/made.txt")
		b.wantText("edited.txt", "before")
		b.wantText("touched.txt", "person's")
		b.wantText("new/made.txt", "none")
		if _, err := os.Stat(filepath.Join(b.dir, "new")); err == nil {
			t.Error("the folder stays that was made for a file")
		}
		b.want(b.apply(), "restore edited.txt", "create new/made.txt")
		b.wantText("edited.txt", "two")
		b.wantText("new/made.txt", "made")
	}
	if info, err := os.Stat(filepath.Join(b.dir, "edited.txt")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is not what it was: %v, %v", info, err)
	}
}

// TestOthersInBetween has somebody else change a file between two changes of one
// turn, and another turn change it after.
func TestOthersInBetween(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "before")
	b.change("a.txt", "one")
	b.write("a.txt", "person's")
	b.change("a.txt", "two")
	b.want(b.apply(), "restore a.txt")
	b.wantText("a.txt", "person's")
	b.apply()
	b.begin("r2")
	b.change("a.txt", "three")
	b.begin("r1")
	b.want(b.apply(), "leave a.txt")
	b.begin("r2")
	b.want(b.apply(), "restore a.txt")
	b.wantText("a.txt", "two")
	b.begin("r1")
	b.want(b.apply(), "restore a.txt")
	b.wantText("a.txt", "person's")
}

// TestNotMade notes changes that are never made, as a crash or a full disk leaves
// them, and one that is noted twice.
func TestNotMade(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "before")
	b.note("a.txt", "never")
	b.change("a.txt", "one")
	b.note("a.txt", "never")
	b.note("b.txt", "never")
	if err := appendTo(filepath.Join(b.logDir, "turns", "r1.jsonl"), `{"edit":{"step":"r1/9","path":"a.t`); err != nil {
		t.Fatal(err)
	}
	b.want(b.apply(), "restore a.txt", "leave b.txt")
	b.wantText("a.txt", "before")
	b.want(b.apply(), "restore a.txt")
	b.wantText("a.txt", "one")
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return err
}

// TestOutOfReach puts links in the way, and files that tools do not change.
func TestOutOfReach(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	b.write("sub/a.txt", "before")
	b.write("b.txt", "before")
	b.change("sub/a.txt", "after")
	b.change("b.txt", "after")
	b.change("made/post-commit", "evil")
	b.want(b.apply(), "restore sub/a.txt", "restore b.txt", "delete made/post-commit")
	link := func(to, name string) {
		t.Helper()
		path := filepath.Join(b.dir, name)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"a.txt": "before", "b.txt": "before"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.write(".git/hooks/other", "")
	link(outside, "sub")
	link(filepath.Join(outside, "b.txt"), "b.txt")
	link(".git/hooks", "made")
	b.want(b.apply(), "leave sub/a.txt", "leave b.txt", "leave made/post-commit")
	b.wantText(".git/hooks/post-commit", "none")
	for _, name := range []string{"a.txt", "b.txt"} {
		if raw, err := os.ReadFile(filepath.Join(outside, name)); err != nil || string(raw) != "before" {
			t.Errorf("%s outside of the workspace: %q, %v", name, raw, err)
		}
	}
}

func TestPrune(t *testing.T) {
	b := newBench(t)
	b.now = time.Now()
	b.write("a.txt", "before")
	b.change("a.txt", "one")
	old := time.Now().Add(-40 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(b.logDir, "turns", "r1.jsonl"), old, old); err != nil {
		t.Fatal(err)
	}
	b.begin("r2")
	b.change("a.txt", "two")
	b.now = b.now.Add(2 * time.Hour)
	if n, err := b.log.Prune(); n != 1 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	if _, err := b.log.ReadTurn("r1"); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("the old turn: %v", err)
	}
	objects := 0
	_ = filepath.WalkDir(filepath.Join(b.logDir, "objects"), func(_ string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			objects++
		}
		return nil
	})
	if objects != 1 {
		t.Errorf("%d contents are left, want the one of the younger turn", objects)
	}
	b.want(b.apply(), "restore a.txt")
	b.wantText("a.txt", "one")
}

const manyFiles = 3

// TestKilled kills the process that undoes, before and after every step that
// changes something, and then goes on.
func TestKilled(t *testing.T) {
	for at := range 2 * manyFiles {
		b := newBench(t)
		for n := range manyFiles {
			name := fmt.Sprintf("f%d.txt", n)
			if n%2 == 0 {
				b.write(name, "before")
			}
			b.change(name, "after")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
		cmd.Env = append(os.Environ(), "UNDO_CHILD="+b.dir+"\n"+b.logDir+"\n"+fmt.Sprint(at))
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("step %d: %v\n%s", at, err, out)
		}
		for n := range manyFiles {
			want := []string{"before", "none"}[n%2]
			if got := b.text(fmt.Sprintf("f%d.txt", n)); got != want && got != "after" {
				t.Errorf("killed at step %d: f%d.txt holds %q", at, n, got)
			}
		}
		b.apply()
		for n := range manyFiles {
			b.wantText(fmt.Sprintf("f%d.txt", n), []string{"before", "none"}[n%2])
		}
		b.apply()
		for n := range manyFiles {
			b.wantText(fmt.Sprintf("f%d.txt", n), "after")
		}
		left, err := filepath.Glob(filepath.Join(b.dir, ".fika-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("killed at step %d: left behind: %v", at, left)
		}
	}
}

// dying is the files of a workspace whose process is killed around one change.
type dying struct {
	undo.Files
	left *int
}

func (d dying) step(change func() error) error {
	for _, do := range []func() error{func() error { return nil }, change} {
		if *d.left--; *d.left < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func (d dying) Write(attempt, path string, content []byte, mode fs.FileMode) error {
	return d.step(func() error { return d.Files.Write(attempt, path, content, mode) })
}

func (d dying) Remove(path string, folders []string) error {
	return d.step(func() error { return d.Files.Remove(path, folders) })
}

// TestKilledChild is the process that TestKilled kills.
func TestKilledChild(t *testing.T) {
	var dir, logDir string
	var left int
	if n, _ := fmt.Sscan(os.Getenv("UNDO_CHILD"), &dir, &logDir, &left); n != 3 {
		t.Skip("it is run by TestKilled")
	}
	_, err := undo.Open(logDir, time.Now).Apply("r1", dying{file.NewTree(dir, guard.Paths{}), &left})
	t.Fatalf("it was not killed: %v", err)
}
