package worktree

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plain runs git as a person does.
func plain(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// world is a repository with one commit, and a home.
type world struct {
	t          *testing.T
	repo, home string
}

func newWorld(t *testing.T) world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	t.Setenv("HOME", dir)
	write(t, filepath.Join(dir, ".gitconfig"), "[user]\n\tname = maria\n\temail = maria@example.org\n")
	w := world{t, filepath.Join(dir, "shop"), filepath.Join(dir, ".fika")}
	write(t, filepath.Join(w.repo, "cart.go"), "one\ntwo\nthree\n")
	write(t, filepath.Join(w.repo, ".gitignore"), "built\n")
	plain(t, w.repo, "init", "-q", "-b", "main")
	plain(t, w.repo, "add", "-A")
	plain(t, w.repo, "commit", "-qm", "first")
	return w
}

func (w world) open(agent fika.AgentName) Tree {
	w.t.Helper()
	tree := TreeOf(w.home, agent, w.repo)
	if _, err := tree.Open(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return tree
}

// TestSameLine: two agents change the same line; the first is merged, the second
// names the conflict and changes nothing of the person's, and can still be merged
// by hand.
func TestSameLine(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	a, b := w.open("coder"), w.open("reviewer")
	write(t, filepath.Join(a.Root, "cart.go"), "one\nTWO\nthree\n")
	write(t, filepath.Join(b.Root, "cart.go"), "one\n2\nthree\n")
	write(t, filepath.Join(b.Root, "new.go"), "new\n")
	m, err := a.Merge(ctx, w.repo)
	if err != nil || !m.Committed || m.Nothing || len(m.Conflicts) > 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := plain(t, w.repo, "log", "-1", "--format=%an %s"); got != "coder Work of @coder" {
		t.Errorf("the commit: %q", got)
	}
	write(t, filepath.Join(w.repo, "mine.txt"), "not committed\n")
	before := plain(t, w.repo, "status", "--porcelain") + plain(t, w.repo, "rev-parse", "HEAD")
	m, err = b.Merge(ctx, w.repo)
	if err != nil || len(m.Conflicts) != 1 || m.Conflicts[0] != "cart.go" || !strings.Contains(m.Text, "TWO") || !strings.Contains(m.Text, "  2\n") {
		t.Fatalf("%+v, %v", m, err)
	}
	if after := plain(t, w.repo, "status", "--porcelain") + plain(t, w.repo, "rev-parse", "HEAD"); after != before {
		t.Errorf("the person's tree was %q and is %q", before, after)
	}
	if c, err := b.Diff(ctx, w.repo); err != nil || len(c.Files) != 2 || c.Commits != 1 || c.Dirty || !strings.Contains(c.Text, "+2\n") {
		t.Errorf("nothing is lost: %+v, %v", c, err)
	}
	cmd := exec.Command("git", "merge", b.Branch())
	cmd.Dir = w.repo
	if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "CONFLICT") {
		t.Errorf("by hand: %s", out)
	}
	plain(t, w.repo, "merge", "--abort")
	if got := read(t, filepath.Join(w.repo, "cart.go")) + read(t, filepath.Join(w.repo, "mine.txt")); got != "one\nTWO\nthree\nnot committed\n" {
		t.Errorf("after git merge --abort: %q", got)
	}
}

// TestMergeBesideMine: what the person has not committed stays, and a merge that
// would touch it is refused.
func TestMergeBesideMine(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	tree := w.open("coder")
	write(t, filepath.Join(tree.Root, "cart.go"), "changed\n")
	write(t, filepath.Join(w.repo, "cart.go"), "mine\n")
	if _, err := tree.Merge(ctx, w.repo); !fika.IsKind(err, fika.Conflict) || read(t, filepath.Join(w.repo, "cart.go")) != "mine\n" {
		t.Fatalf("it would have been lost: %v", err)
	}
	plain(t, w.repo, "checkout", "-q", "cart.go")
	write(t, filepath.Join(w.repo, "other"), "mine\n")
	if m, err := tree.Merge(ctx, w.repo); err != nil || m.Nothing {
		t.Fatalf("%+v, %v", m, err)
	}
	if read(t, filepath.Join(w.repo, "cart.go")) != "changed\n" || read(t, filepath.Join(w.repo, "other")) != "mine\n" {
		t.Error("the merge")
	}
	if m, err := tree.Merge(ctx, w.repo); err != nil || !m.Nothing {
		t.Errorf("again: %+v, %v", m, err)
	}
	plain(t, w.repo, "commit", "-q", "--allow-empty", "-m", "mine")
	write(t, filepath.Join(tree.Root, "more"), "more\n")
	if _, err := tree.Merge(ctx, w.repo); err != nil {
		t.Fatal(err)
	}
	if plain(t, tree.Root, "rev-parse", "HEAD") != plain(t, w.repo, "rev-parse", "HEAD") {
		t.Error("the agent's tree is not where the person's is")
	}
}

// TestUnfinished: an agent that is in the middle of a merge of its own is left
// alone.
func TestUnfinished(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	tree := w.open("coder")
	write(t, filepath.Join(tree.Root, "cart.go"), "theirs\n")
	plain(t, tree.Root, "commit", "-qam", "theirs")
	write(t, filepath.Join(w.repo, "cart.go"), "mine\n")
	plain(t, w.repo, "commit", "-qam", "mine")
	_ = exec.Command("git", "-C", tree.Root, "merge", "main").Run()
	if _, err := tree.Merge(ctx, w.repo); !fika.IsKind(err, fika.Conflict) {
		t.Error(err)
	}
}

// TestDiscard: what is nowhere else is not removed without being told to, and is
// kept even then; what is merged goes.
func TestDiscard(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	tree := w.open("coder")
	write(t, filepath.Join(tree.Root, "built"), "ignored\n")
	write(t, filepath.Join(tree.Root, "new.go"), "new\n")
	if _, err := tree.Discard(ctx, false); !fika.IsKind(err, fika.Conflict) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("dirty: %v", err)
	}
	plain(t, tree.Root, "add", "-A")
	plain(t, tree.Root, "commit", "-qm", "new")
	if _, err := tree.Discard(ctx, false); !fika.IsKind(err, fika.Conflict) || !strings.Contains(err.Error(), "1 commit that") {
		t.Errorf("unmerged: %v", err)
	}
	write(t, filepath.Join(tree.Root, "newer.go"), "newer\n")
	d, err := tree.Discard(ctx, true)
	if err != nil || tree.IsMade() {
		t.Fatal(err)
	}
	if got := plain(t, w.repo, "ls-tree", "--name-only", d.Ref); got != ".gitignore\ncart.go\nnew.go\nnewer.go" {
		t.Errorf("kept: %q", got)
	}
	if got := plain(t, w.repo, "branch", "--list", "fika/*"); got != "" {
		t.Errorf("left: %s", got)
	}
	if _, err := tree.Discard(ctx, false); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("again: %v", err)
	}
	w.open("coder")
	write(t, filepath.Join(tree.Root, "cart.go"), "merged\n")
	if _, err := tree.Merge(ctx, w.repo); err != nil {
		t.Fatal(err)
	}
	if d, err := tree.Discard(ctx, false); err != nil || d.Kept != "" {
		t.Errorf("merged: %+v, %v", d, err)
	}
	if list, _ := List(w.home, w.repo); len(list) != 0 {
		t.Error("it is still listed")
	}
}

// TestOpenAgain: a tree that was half made is completed without touching a file,
// one whose folder was removed comes back with its commits, and git leaves all of
// them alone.
func TestOpenAgain(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	tree := w.open("coder")
	index := filepath.Join(w.repo, ".git/worktrees/coder/index")
	must(t, os.Remove(index))
	must(t, os.Remove(filepath.Join(tree.Root, ".gitignore")))
	write(t, filepath.Join(tree.Root, "cart.go"), "mine\n")
	if _, err := tree.Open(ctx); err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(tree.Root, "cart.go")) != "mine\n" || read(t, filepath.Join(tree.Root, ".gitignore")) != "built\n" {
		t.Error("it was not completed")
	}
	plain(t, tree.Root, "commit", "-qam", "mine")
	must(t, os.RemoveAll(tree.Root))
	plain(t, w.repo, "worktree", "prune")
	if made, err := tree.Open(ctx); err != nil || !made || read(t, filepath.Join(tree.Root, "cart.go")) != "mine\n" {
		t.Errorf("%v, %v", made, err)
	}
	plain(t, w.repo, "clean", "-fdX")
	if made, err := tree.Open(ctx); err != nil || made {
		t.Errorf("after git clean: %v, %v", made, err)
	}
}

// TestOther: no repository, no commit, a .git that leads elsewhere, a project
// below the root of its repository.
func TestOther(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	empty := filepath.Join(filepath.Dir(w.repo), "empty")
	must(t, os.Mkdir(empty, 0o755))
	if _, err := TreeOf(w.home, "a", empty).Open(ctx); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "git init") {
		t.Errorf("no repository: %v", err)
	}
	plain(t, empty, "init", "-q")
	if err := TreeOf(w.home, "a", empty).Check(ctx); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "git commit") {
		t.Errorf("no commit: %v", err)
	}
	tree := w.open("coder")
	write(t, filepath.Join(tree.Root, ".git"), "gitdir: "+filepath.Join(empty, ".git")+"\n")
	if _, err := tree.Merge(ctx, w.repo); !fika.IsKind(err, fika.Denied) {
		t.Errorf("elsewhere: %v", err)
	}
	if _, err := tree.Discard(ctx, true); !fika.IsKind(err, fika.Denied) {
		t.Errorf("elsewhere: %v", err)
	}
	sub := filepath.Join(w.repo, "sub")
	if got := TreeOf(w.home, "b", sub).Dir(); got != filepath.Join(w.home, "worktrees/b/sub") {
		t.Error(got)
	}
}

// TestSameSize: a change that leaves a file as long as it was, in the second in
// which it was checked out, is seen.
func TestSameSize(t *testing.T) {
	w := newWorld(t)
	tree := w.open("coder")
	file := filepath.Join(tree.Root, "cart.go")
	at, err := os.Stat(filepath.Join(w.repo, ".git/worktrees/coder/index"))
	must(t, err)
	write(t, file, "one\n222\nthree\n")
	must(t, os.Chtimes(file, at.ModTime(), at.ModTime()))
	if c, err := tree.Diff(t.Context(), w.repo); err != nil || len(c.Files) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
}
