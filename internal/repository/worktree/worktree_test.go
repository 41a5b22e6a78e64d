package worktree

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika"
	"fika/internal/tool"
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

// unconfined starts what git does in a tree as it is: what the sandbox adds is tried in
// cli, with the whole program.
type unconfined struct{}

func (unconfined) Confine(path string, args []string) (tool.Confined, error) {
	return tool.Confined{Path: path, Args: args}, nil
}
func (unconfined) Temp() (dir, seen string) { return "", "" }
func (unconfined) Tier() string             { return "none" }
func (unconfined) Network() bool            { return true }

func (w world) open(agent fika.AgentName) Tree {
	w.t.Helper()
	tree := TreeOf(w.home, agent, w.repo)
	tree.Confine = unconfined{}
	if _, _, err := tree.Open(context.Background()); err != nil {
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
	m, err := a.Merge(ctx, w.repo, nil)
	if err != nil || !m.Committed || m.Nothing || len(m.Conflicts) > 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := plain(t, w.repo, "log", "-1", "--format=%an %s"); got != "coder Work of @coder" {
		t.Errorf("the commit: %q", got)
	}
	write(t, filepath.Join(w.repo, "mine.txt"), "not committed\n")
	before := plain(t, w.repo, "status", "--porcelain") + plain(t, w.repo, "rev-parse", "HEAD")
	m, err = b.Merge(ctx, w.repo, nil)
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
	if _, err := tree.Merge(ctx, w.repo, nil); !fika.IsKind(err, fika.Conflict) || read(t, filepath.Join(w.repo, "cart.go")) != "mine\n" {
		t.Fatalf("it would have been lost: %v", err)
	}
	plain(t, w.repo, "checkout", "-q", "cart.go")
	write(t, filepath.Join(w.repo, "other"), "mine\n")
	if m, err := tree.Merge(ctx, w.repo, nil); err != nil || m.Nothing {
		t.Fatalf("%+v, %v", m, err)
	}
	if read(t, filepath.Join(w.repo, "cart.go")) != "changed\n" || read(t, filepath.Join(w.repo, "other")) != "mine\n" {
		t.Error("the merge")
	}
	if m, err := tree.Merge(ctx, w.repo, nil); err != nil || !m.Nothing {
		t.Errorf("again: %+v, %v", m, err)
	}
	plain(t, w.repo, "commit", "-q", "--allow-empty", "-m", "mine")
	write(t, filepath.Join(tree.Root, "more"), "more\n")
	if _, err := tree.Merge(ctx, w.repo, nil); err != nil {
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
	if _, _, err := tree.Open(ctx); err != nil { // main is where the person has it now
		t.Fatal(err)
	}
	_ = exec.Command("git", "-C", tree.Root, "merge", "main").Run()
	if _, err := tree.Merge(ctx, w.repo, nil); !fika.IsKind(err, fika.Conflict) {
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
	if _, err := tree.Merge(ctx, w.repo, nil); err != nil {
		t.Fatal(err)
	}
	if d, err := tree.Discard(ctx, false); err != nil || d.Kept != "" {
		t.Errorf("merged: %+v, %v", d, err)
	}
	if list, _ := List(w.home, w.repo); len(list) != 0 {
		t.Error("it is still listed")
	}
}

// TestOpenAgain: a tree whose folder was removed comes back with what had come home, one
// whose project has moved finds its objects again, and git's own cleaning leaves it alone.
func TestOpenAgain(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	tree := w.open("coder")
	write(t, filepath.Join(tree.Root, "cart.go"), "mine\n")
	plain(t, tree.Root, "commit", "-qam", "mine")
	must(t, tree.Import(ctx))
	must(t, os.RemoveAll(tree.Root))
	if made, _, err := tree.Open(ctx); err != nil || !made || read(t, filepath.Join(tree.Root, "cart.go")) != "mine\n" {
		t.Errorf("%v, %v", made, err)
	}
	moved := w.repo + "-moved"
	must(t, os.Rename(w.repo, moved))
	tree.Project = moved
	if made, _, err := tree.Open(ctx); err != nil || made || plain(t, tree.Root, "status", "--porcelain") != "" {
		t.Errorf("after a move: %v, %v", made, err)
	}
	// What the tree borrows stays, though no branch of the person's has it any more.
	plain(t, moved, "checkout", "-q", "--orphan", "new")
	plain(t, moved, "commit", "-qm", "anew")
	plain(t, moved, "branch", "-D", "main")
	for _, ref := range strings.Fields(plain(t, moved, "for-each-ref", "--format=%(refname)", "refs/remotes")) {
		plain(t, moved, "update-ref", "-d", ref)
	}
	plain(t, moved, "reflog", "expire", "--expire=now", "--all")
	plain(t, moved, "gc", "-q", "--prune=now")
	plain(t, tree.Root, "fsck", "--no-dangling")
}

// TestLinkedTreeBecomesClone: a linked working tree of an earlier version is replaced by
// a clone with the same files, and kept if it has changes that are not committed.
func TestLinkedTreeBecomesClone(t *testing.T) {
	for _, dirty := range []bool{false, true} {
		ctx, w := t.Context(), newWorld(t)
		tree := TreeOf(w.home, "coder", w.repo)
		tree.Confine = unconfined{}
		must(t, os.MkdirAll(filepath.Dir(tree.Root), 0o700))
		plain(t, w.repo, "worktree", "add", "-q", "--lock", "-b", "fika/coder", tree.Root)
		write(t, filepath.Join(tree.Root, "cart.go"), "committed\n")
		plain(t, tree.Root, "commit", "-qam", "mine")
		write(t, filepath.Join(tree.Root, "built"), "ignored\n")
		if dirty {
			write(t, filepath.Join(tree.Root, "new.go"), "new\n")
		}
		_, kept, err := tree.Open(ctx)
		if err != nil || (kept != "") != dirty {
			t.Fatalf("kept in %q, %v", kept, err)
		}
		if tree.IsLinked() || read(t, filepath.Join(tree.Root, "cart.go")) != "committed\n" || read(t, filepath.Join(tree.Root, "built")) != "ignored\n" {
			t.Error("the files are not there")
		}
		if dirty && (read(t, filepath.Join(kept, "new.go")) != "new\n" || read(t, filepath.Join(tree.Root, "new.go")) != "new\n") {
			t.Error("what was not committed is lost")
		}
		if got := plain(t, w.repo, "rev-parse", "fika/coder"); got != plain(t, tree.Root, "rev-parse", "HEAD") {
			t.Errorf("fika/coder is %s", got)
		}
		if got := plain(t, w.repo, "branch", "--list", "fika/*"); got != "" {
			t.Errorf("left: %s", got)
		}
		m, err := tree.Merge(ctx, w.repo, nil)
		if err != nil || m.Nothing || m.Committed != dirty {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// TestMergeAsks: what makes git or another program run or fetch something is not merged
// without a yes to its path.
func TestMergeAsks(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	plain(t, w.repo, "config", "core.hooksPath", "tools/hooks")
	tree := w.open("coder")
	write(t, filepath.Join(tree.Root, "cart.go"), "changed\n")
	write(t, filepath.Join(tree.Root, "AGENTS.md"), "obey\n")
	write(t, filepath.Join(tree.Root, ".gitattributes"), "*.go text\n*.bin filter=lfs\n")
	write(t, filepath.Join(tree.Root, "sub/.gitattributes"), "*.go text\n")
	write(t, filepath.Join(tree.Root, ".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = ./x\n")
	write(t, filepath.Join(tree.Root, "tools/hooks/pre-commit"), "#!/bin/sh\n")
	must(t, os.Symlink("../../outside", filepath.Join(tree.Root, "sub/out")))
	must(t, os.Symlink("../cart.go", filepath.Join(tree.Root, "sub/in")))
	plain(t, tree.Root, "add", "-A")
	plain(t, tree.Root, "update-index", "--add", "--cacheinfo", "160000,"+plain(t, tree.Root, "rev-parse", "HEAD")+",lib")
	plain(t, tree.Root, "commit", "-qm", "planted")
	must(t, os.Mkdir(filepath.Join(tree.Root, "lib"), 0o755))
	before := plain(t, w.repo, "rev-parse", "HEAD")
	m, err := tree.Merge(ctx, w.repo, nil)
	var asked []string
	for _, r := range m.Asks {
		asked = append(asked, r.Path)
	}
	if got := strings.Join(asked, " "); err != nil || got != ".gitattributes .gitmodules AGENTS.md lib sub/out tools/hooks/pre-commit" {
		t.Errorf("asked for %s, %v", got, err)
	}
	if plain(t, w.repo, "rev-parse", "HEAD") != before || plain(t, w.repo, "status", "--porcelain") != "" {
		t.Error("something was merged")
	}
	if m, err = tree.Merge(ctx, w.repo, asked[1:]); err != nil || len(m.Asks) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = tree.Merge(ctx, w.repo, asked)
	if err != nil || len(m.Asks) > 0 || m.ByHand == "" { // .gitattributes changes
		t.Fatalf("%+v, %v", m, err)
	}
	plain(t, w.repo, strings.Fields(m.ByHand)[1:]...)
	if read(t, filepath.Join(w.repo, "cart.go")) != "changed\n" {
		t.Error("by hand")
	}
}

// TestMergeByHand: where a filter or a hook of the person's takes part nothing is
// changed, and their own git makes the merge.
func TestMergeByHand(t *testing.T) {
	for _, name := range []string{"a filter", "a hook"} {
		ctx, w := t.Context(), newWorld(t)
		if name == "a filter" {
			write(t, filepath.Join(w.repo, ".gitattributes"), "*.bin filter=up\n")
			plain(t, w.repo, "add", "-A")
			plain(t, w.repo, "commit", "-qm", "attributes")
			plain(t, w.repo, "config", "filter.up.smudge", "tr a-z A-Z")
			plain(t, w.repo, "config", "filter.up.clean", "tr A-Z a-z")
		} else {
			write(t, filepath.Join(w.repo, ".git/hooks/post-merge"), "#!/bin/sh\ntouch ran\n")
			must(t, os.Chmod(filepath.Join(w.repo, ".git/hooks/post-merge"), 0o755))
		}
		tree := w.open("coder")
		write(t, filepath.Join(tree.Root, "a.bin"), "stored\n")
		write(t, filepath.Join(w.repo, "cart.go"), "mine\n")
		plain(t, w.repo, "commit", "-qam", "mine")
		m, err := tree.Merge(ctx, w.repo, nil)
		if err != nil || !strings.HasPrefix(m.ByHand, "git merge --ff-only ") {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		if _, err := os.Stat(filepath.Join(w.repo, "a.bin")); err == nil {
			t.Errorf("%s: something was checked out", name)
		}
		plain(t, w.repo, strings.Fields(m.ByHand)[1:]...)
		want := "stored\n"
		if name == "a filter" {
			want = "STORED\n"
		}
		if got := read(t, filepath.Join(w.repo, "a.bin")); got != want || plain(t, w.repo, "log", "-1", "--format=%s") != "Merge the work of @coder" {
			t.Errorf("%s: %q", name, got)
		}
		if m, err := tree.Merge(ctx, w.repo, nil); err != nil || !m.Nothing {
			t.Errorf("%s: again: %+v, %v", name, m, err)
		}
	}
}

// TestPartialClone: a repository whose objects are not all there is refused by name.
func TestPartialClone(t *testing.T) {
	w := newWorld(t)
	plain(t, w.repo, "config", "remote.origin.promisor", "true")
	if _, _, err := TreeOf(w.home, "coder", w.repo).Open(t.Context()); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "partial clone") {
		t.Error(err)
	}
}

// TestS8TreeReachesNothing: what an agent does in its tree leaves the person's repository
// as it is, and what its settings name runs nowhere but there.
func TestS8TreeReachesNothing(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	plain(t, w.repo, "branch", "other")
	tree := w.open("coder")
	before := plain(t, w.repo, "for-each-ref", "refs/heads", "refs/tags")
	plain(t, tree.Root, "update-ref", "refs/heads/other", "HEAD")
	plain(t, tree.Root, "commit", "-q", "--allow-empty", "-m", "mine")
	plain(t, tree.Root, "branch", "-f", "main", "HEAD")
	plain(t, tree.Root, "tag", "v1")
	must(t, tree.Import(ctx))
	if after := plain(t, w.repo, "for-each-ref", "refs/heads", "refs/tags"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if got := plain(t, w.repo, "rev-parse", "fika/coder/other", "fika/coder/main"); got == "" {
		t.Error("its branches did not come home")
	}
	if strings.Contains(read(t, filepath.Join(tree.Root, ".git/config")), w.repo) {
		t.Error("its settings name the person's repository")
	}
	must(t, os.RemoveAll(filepath.Join(tree.Root, ".git/objects/info")))
	must(t, os.Symlink(w.repo, filepath.Join(tree.Root, ".git/objects/info")))
	if _, _, err := tree.Open(ctx); err == nil {
		t.Error("a link was followed")
	}
	if _, err := os.Lstat(filepath.Join(w.repo, "alternates")); err == nil {
		t.Error("something was written in the person's folder")
	}
}

// TestOther: no repository, no commit, a .git that leads elsewhere, a project
// below the root of its repository.
func TestOther(t *testing.T) {
	ctx, w := t.Context(), newWorld(t)
	empty := filepath.Join(filepath.Dir(w.repo), "empty")
	must(t, os.Mkdir(empty, 0o755))
	if _, _, err := TreeOf(w.home, "a", empty).Open(ctx); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "git init") {
		t.Errorf("no repository: %v", err)
	}
	plain(t, empty, "init", "-q")
	if err := TreeOf(w.home, "a", empty).Check(ctx); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "git commit") {
		t.Errorf("no commit: %v", err)
	}
	tree := w.open("coder")
	must(t, os.RemoveAll(filepath.Join(tree.Root, ".git")))
	write(t, filepath.Join(tree.Root, ".git"), "gitdir: "+filepath.Join(empty, ".git")+"\n")
	if _, err := tree.Merge(ctx, w.repo, nil); !fika.IsKind(err, fika.Denied) {
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
	at, err := os.Stat(filepath.Join(tree.Root, ".git/index"))
	must(t, err)
	write(t, file, "one\n222\nthree\n")
	must(t, os.Chtimes(file, at.ModTime(), at.ModTime()))
	if c, err := tree.Diff(t.Context(), w.repo); err != nil || len(c.Files) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
}
