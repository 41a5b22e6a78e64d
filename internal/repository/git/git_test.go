package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/repository/git"
)

// plain runs git as a person does.
func plain(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	plain(t, dir, "init", "-q", "-b", "master")
	write(t, filepath.Join(dir, "a.txt"), "one\n")
	write(t, filepath.Join(dir, "sub", "b.txt"), "two\n")
	plain(t, dir, "add", "-A")
	plain(t, dir, "commit", "-qm", "first")
	return dir
}

// TestNothingElseIsRun names a program wherever a repository can, and runs the
// commands that would start it.
func TestNothingElseIsRun(t *testing.T) {
	dir := repository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	trap := "touch " + ran + "; cat"
	for _, name := range []string{
		"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "diff.external",
		"filter.a=b.clean", "filter.a b.smudge", "filter.x.process", "diff.x.textconv", "diff.x.command", "merge.x.driver",
	} {
		plain(t, dir, "config", name, trap)
	}
	plain(t, dir, "config", "filter.x.required", "true")
	write(t, filepath.Join(dir, ".gitattributes"), "a.txt filter=x diff=x merge=x\nsub/* filter=a=b\n")
	write(t, filepath.Join(dir, ".git", "hooks", "post-index-change"), "#!/bin/sh\n"+trap+"\n")
	write(t, filepath.Join(dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\n"+trap+"\n")
	for _, hook := range []string{"post-index-change", "post-checkout"} {
		if err := os.Chmod(filepath.Join(dir, ".git", "hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "a.txt"), "1\n")
	for _, args := range [][]string{{"status"}, {"diff"}, {"checkout", "a.txt"}} {
		write(t, filepath.Join(dir, "a.txt"), "another\n")
		if out, err := git.Run(t.Context(), dir, args...); err != nil {
			t.Errorf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository was run")
	}
}

// TestMergeOfTheirs merges what a driver of the repository would merge: both
// sides are kept, as a conflict.
func TestMergeOfTheirs(t *testing.T) {
	dir := repository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	plain(t, dir, "config", "merge.x=y.driver", "touch "+ran)
	plain(t, dir, "config", "user.name", "a")
	plain(t, dir, "config", "user.email", "a@example.org")
	write(t, filepath.Join(dir, ".gitattributes"), "a.txt merge=x=y\n")
	for _, branch := range []string{"ours", "theirs"} {
		plain(t, dir, "switch", "-q", "-C", branch, "master")
		write(t, filepath.Join(dir, "a.txt"), branch+"\n")
		plain(t, dir, "add", "-A")
		plain(t, dir, "commit", "-qm", branch)
	}
	_, err := git.Run(t.Context(), dir, "merge", "--no-edit", "ours")
	if git.ExitStatus(err) != 1 {
		t.Errorf("a conflict: %v", err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "a.txt"))
	if !strings.Contains(string(text), "\nours\n") || !strings.Contains(string(text), "\ntheirs\n") {
		t.Errorf("a side is lost:\n%s", text)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the driver was run")
	}
}

// TestFind finds a repository from a folder in it and from a worktree of it.
func TestFind(t *testing.T) {
	repo, err := filepath.EvalSymlinks(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(filepath.Dir(repo), "tree")
	plain(t, repo, "worktree", "add", "-q", tree)
	for folder, top := range map[string]string{filepath.Join(repo, "sub"): repo, tree: tree} {
		r, err := git.Find(t.Context(), folder)
		if err != nil || r.Top != top || r.Common != filepath.Join(repo, ".git") {
			t.Errorf("%s: %+v, %v", folder, r, err)
		}
	}
	if _, err := git.Find(t.Context(), t.TempDir()); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("outside: %v", err)
	}
}

func TestChanged(t *testing.T) {
	dir := repository(t)
	write(t, filepath.Join(dir, "a.txt"), "mine\n")
	write(t, filepath.Join(dir, "sub", "new.txt"), "mine\n")
	before, err := git.Status(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	below, err := git.Status(t.Context(), filepath.Join(dir, "sub"))
	if err != nil || len(below.Files) != 1 || below.Files["new.txt"] == "" {
		t.Errorf("of a folder in it: %v, %v", below, err)
	}
	write(t, filepath.Join(dir, "sub", "b.txt"), "changed\n")
	write(t, filepath.Join(dir, "sub", "new.txt"), "changed too\n")
	write(t, filepath.Join(dir, "with space"), "new\n")
	plain(t, dir, "commit", "-qm", "second", "a.txt")
	after, err := git.Status(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"sub/b.txt", "sub/new.txt", "with space"}
	if got := before.Changed(dir, after); !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
	if before.Head == after.Head {
		t.Error("the commit was not noticed")
	}
	if _, err := git.Status(t.Context(), t.TempDir()); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("outside of a repository: %v", err)
	}
}
