package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
)

// TestCarry pushes what a tree holds, and makes the tree again in another clone: with what was
// committed, what was not, and what git did not know yet; what it ignores stays behind. The
// person's branch, index and files stay as they are in both.
func TestCarry(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	remote := filepath.Join(t.TempDir(), "remote.git")
	plain(t, w.repo, "init", "-q", "--bare", "-b", "main", remote)
	plain(t, w.repo, "remote", "add", "origin", remote)
	plain(t, w.repo, "push", "-q", "origin", "main")
	other := filepath.Join(filepath.Dir(w.repo), "elsewhere")
	plain(t, filepath.Dir(w.repo), "clone", "-q", remote, other)
	write(t, filepath.Join(other, "mine"), "the person's, not committed\n")
	plain(t, other, "add", "mine")

	there := TreeOf(w.home, "coder", w.repo)
	there.Confine = unconfined{}
	_, _, err := there.Open(ctx)
	must(t, err)
	write(t, filepath.Join(there.Root, "kept.go"), "committed\n")
	plain(t, there.Root, "add", "-A")
	plain(t, there.Root, "-c", "user.name=c", "-c", "user.email=c@x", "commit", "-qm", "work")
	write(t, filepath.Join(there.Root, "cart.go"), "one\nchanged\nthree\n")
	write(t, filepath.Join(there.Root, "new", "file"), "untracked\n")
	write(t, filepath.Join(there.Root, "built"), "ignored\n")
	must(t, os.Remove(filepath.Join(there.Root, ".gitignore")))
	write(t, filepath.Join(there.Root, ".gitignore"), "built\n")
	must(t, os.Symlink("/etc/passwd", filepath.Join(there.Root, "link")))

	first, err := there.Carry(ctx, "")
	must(t, err)
	if again, err := there.Carry(ctx, first); err != nil || again != first {
		t.Errorf("nothing has changed, and it is %s, %v", again, err)
	}
	write(t, filepath.Join(there.Root, "cart.go"), "one\nchanged again\nthree\n")
	second, err := there.Carry(ctx, first)
	must(t, err)
	if second == first {
		t.Fatal("a change was not seen")
	}
	ref := there.PushRef(7)
	plain(t, w.repo, "push", "-q", remote, first+":"+ref)
	plain(t, w.repo, "push", "-q", remote, second+":"+ref) // not forced
	write(t, filepath.Join(there.Root, "cart.go"), "what a fenced owner still does\n")
	stray, err := there.Carry(ctx, second)
	must(t, err)
	plain(t, w.repo, "push", "-q", remote, stray+":"+ref)
	if out := plain(t, remote, "for-each-ref", "--format=%(refname)"); out != ref+"\nrefs/heads/main" {
		t.Errorf("the remote has\n%s", out)
	}
	if out := plain(t, w.repo, "status", "--porcelain"); out != "" {
		t.Errorf("the person's own files have changed:\n%s", out)
	}

	here := TreeOf(filepath.Join(filepath.Dir(w.repo), ".fika2"), "coder", other)
	here.Confine = unconfined{}
	if err := here.Restore(ctx, second); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("restored from nothing: %v", err)
	}
	for _, bad := range []string{"", "HEAD", "--upload-pack=touch x", strings.Repeat("z", 40), second[:12]} {
		if err := here.Restore(ctx, bad); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("restored from %q: %v", bad, err)
		}
	}
	plain(t, other, "fetch", "-q", remote, "+"+ref+":"+here.CarriedRef())
	must(t, here.Restore(ctx, second))
	if got := plain(t, other, "rev-parse", here.CarriedRef()); got != second {
		t.Errorf("the stray commit is kept: %s", got)
	}
	for path, want := range map[string]string{"cart.go": "one\nchanged again\nthree\n", "kept.go": "committed\n", "new/file": "untracked\n"} {
		if got := read(t, filepath.Join(here.Root, path)); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if to, err := os.Readlink(filepath.Join(here.Root, "link")); to != "/etc/passwd" {
		t.Errorf("the link goes to %q, %v", to, err)
	}
	if _, err := os.Lstat(filepath.Join(here.Root, "built")); err == nil {
		t.Error("what is ignored was pushed")
	}
	if got := plain(t, here.Root, "status", "--porcelain", "-uall"); got != "M cart.go\n?? link\n?? new/file" {
		t.Errorf("uncommitted there:\n%s", got)
	}
	if got := plain(t, here.Root, "log", "-1", "--format=%s"); got != "work" {
		t.Errorf("checked out is %q", got)
	}
	if got := plain(t, other, "status", "--porcelain"); got != "A  mine" {
		t.Errorf("the person's own files have changed:\n%s", got)
	}
	c, err := here.Diff(ctx, other)
	if err != nil || c.Commits != 1 || !strings.Contains(c.Text, "changed again") || !strings.Contains(c.Text, "untracked") {
		t.Errorf("diff: %+v, %v", c, err)
	}
	third, err := here.Carry(ctx, second)
	if err != nil || third != second {
		t.Errorf("right after it was restored it is %s, %v", third, err)
	}
	if err := here.Restore(ctx, second); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("restored over a tree: %v", err)
	}
}

// TestCarryRunsNothing: what an agent plants in its tree is not run by what carries it.
func TestCarryRunsNothing(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	there := TreeOf(w.home, "coder", w.repo)
	there.Confine = unconfined{}
	_, _, err := there.Open(ctx)
	must(t, err)
	ran := filepath.Join(t.TempDir(), "ran")
	trap := "touch " + ran + "; cat"
	write(t, filepath.Join(there.Root, ".gitattributes"), "* filter=x diff=x\n")
	for _, hook := range []string{"post-checkout", "reference-transaction", "pre-push", "post-index-change"} {
		write(t, filepath.Join(there.Root, hook), "#!/bin/sh\n"+trap+"\n")
		must(t, os.Chmod(filepath.Join(there.Root, hook), 0o755))
	}
	commit, err := there.Carry(ctx, "")
	must(t, err)
	must(t, removeTree(there.Root))
	for _, name := range []string{"filter.x.smudge", "filter.x.process", "core.fsmonitor"} {
		plain(t, w.repo, "config", name, trap)
	}
	plain(t, w.repo, "config", "core.hooksPath", ".")
	must(t, there.Restore(ctx, commit))
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository was run")
	}
}

func TestPushRemote(t *testing.T) {
	w := newWorld(t)
	tree := TreeOf(w.home, "coder", w.repo)
	for _, c := range []struct{ add, want string }{{"", ""}, {"up", "up"}, {"down", ""}, {"origin", "origin"}} {
		if c.add != "" {
			plain(t, w.repo, "remote", "add", c.add, "/nowhere")
		}
		got, err := tree.PushRemote(t.Context())
		if got != c.want || c.want == "" && !fika.IsKind(err, fika.Invalid) {
			t.Errorf("with %q: %q, %v", c.add, got, err)
		}
	}
}
