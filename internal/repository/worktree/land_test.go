package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
)

// branch makes a branch of the person's with a commit for each text, written to a file, and
// returns its last commit. The person is on another branch afterwards.
func (w world) branch(name, from, file string, texts ...string) string {
	w.t.Helper()
	plain(w.t, w.repo, "switch", "-qc", name, from)
	for _, text := range texts {
		write(w.t, filepath.Join(w.repo, file), text)
		plain(w.t, w.repo, "add", "-A")
		plain(w.t, w.repo, "commit", "-qm", name+" writes "+file)
	}
	at := plain(w.t, w.repo, "rev-parse", "HEAD")
	plain(w.t, w.repo, "switch", "-q", "--detach", "main")
	return at
}

func (w world) target() Target { return Target{Project: w.repo, Into: "main"} }

// land puts work on what the branch is, and moves it there.
func (w world) land(work Work) Put {
	w.t.Helper()
	t := w.target()
	g, err := t.Ground(w.t.Context())
	must(w.t, err)
	p, err := t.Put(w.t.Context(), g.Commit, work)
	must(w.t, err)
	if len(p.Conflicts) == 0 {
		must(w.t, t.Move(w.t.Context(), g.Old, p.Commit))
	}
	return p
}

func TestWorkIsPutOnABranchWithoutTouchingIt(t *testing.T) {
	w := newWorld(t)
	tip := w.branch("coders", "main", "cart.go", "one\ntwo\nTHREE\n", "one\ntwo\nTHREE\nfour\n")
	w.branch("other", "main", "new.go", "new\n")
	before := plain(t, w.repo, "for-each-ref") + plain(t, w.repo, "status", "--porcelain")
	ctx, target := t.Context(), w.target()
	base, err := target.Tip(ctx, "other")
	must(t, err)
	for how, want := range map[string]string{LandRebase: "2", LandMerge: "3", LandSquash: "1"} {
		p, err := target.Put(ctx, base, Work{Offer: 7, Agent: "coder", Source: "@coder", Tip: tip, How: how})
		must(t, err)
		if n := plain(t, w.repo, "rev-list", "--count", base+".."+p.Commit); n != want {
			t.Errorf("%s: %s commits", how, n)
		}
		if files := plain(t, w.repo, "diff", "--name-only", base, p.Commit); files != "cart.go" {
			t.Errorf("%s changes %s", how, files)
		}
		said := plain(t, w.repo, "show", "-s", "--format=%an %cn%n%B", p.Commit)
		if !strings.HasPrefix(said, "maria maria\n") || !strings.HasSuffix(said, "\n\nFika-Offer: 7\nFika-Agent: coder\nCo-authored-by: coder <coder@fika.invalid>") {
			t.Errorf("%s: %q", how, said)
		}
	}
	if now := plain(t, w.repo, "for-each-ref") + plain(t, w.repo, "status", "--porcelain"); now != before {
		t.Errorf("something was touched:\n%s\n%s", before, now)
	}
	p, err := target.Put(ctx, plain(t, w.repo, "rev-parse", "main"), Work{Offer: 8, Source: "coders", Tip: tip, How: LandRebase})
	must(t, err)
	if p.Commit != tip {
		t.Errorf("a person's branch that is ahead is made anew: %s", p.Commit)
	}
	d := dressing{trailers: []string{"Fika-Offer: 7"}}
	if got := d.message("on\r\n\nFika-Offer: 99\nfika-task: 3\nSigned-off-by: x <x@y>\n\n"); got != "on\n\nSigned-off-by: x <x@y>\nFika-Offer: 7" {
		t.Errorf("%q", got)
	}
	if got := d.message("fika-agent: boss"); got != "Work without a message\n\nFika-Offer: 7" {
		t.Errorf("%q", got)
	}
}

func TestWhatDoesNotFitIsNamed(t *testing.T) {
	w := newWorld(t)
	one := w.branch("one", "main", "cart.go", "ONE\ntwo\nthree\n")
	two := w.branch("two", "main", "cart.go", "eins\ntwo\nthree\n")
	w.branch("link", "main", "x", "x")
	plain(t, w.repo, "switch", "-q", "link")
	must(t, os.Symlink("../../outside", filepath.Join(w.repo, "out")))
	plain(t, w.repo, "add", "-A")
	plain(t, w.repo, "commit", "-qm", "link")
	link := plain(t, w.repo, "rev-parse", "HEAD")
	plain(t, w.repo, "switch", "-q", "--orphan", "orphan")
	plain(t, w.repo, "commit", "-q", "--allow-empty", "-m", "orphan")
	ctx, target := t.Context(), w.target()
	w.land(Work{Offer: 1, Source: "one", Tip: one, How: LandRebase})
	if p := w.land(Work{Offer: 2, Source: "two", Tip: two, How: LandRebase}); strings.Join(p.Conflicts, " ") != "cart.go" || !strings.Contains(p.Text, "<<<<<<<") || !strings.Contains(p.Text, "eins") {
		t.Errorf("%+v", p)
	}
	p, err := target.Put(ctx, one, Work{Offer: 3, Source: "link", Tip: link, How: LandSquash})
	must(t, err)
	if len(p.Asks) != 1 || p.Asks[0].Path != "out" || !strings.Contains(p.Asks[0].Why, "out of the tree") {
		t.Errorf("%+v", p.Asks)
	}
	_, err = target.Put(ctx, one, Work{Source: "orphan", Tip: plain(t, w.repo, "rev-parse", "orphan"), How: LandRebase})
	if !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "no commit in common") {
		t.Errorf("an orphan: %v", err)
	}
	if _, err := target.Tip(ctx, "--upload-pack=x"); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("an option as a branch: %v", err)
	}
	if _, err := (Target{Project: w.repo, Into: "release"}).Ground(ctx); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("no such branch: %v", err)
	}
	must(t, os.Remove(filepath.Join(os.Getenv("HOME"), ".gitconfig")))
	if _, err := target.Put(ctx, one, Work{Agent: "coder", Source: "two", Tip: two, How: LandMerge}); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "who you are") {
		t.Errorf("nobody: %v", err)
	}
	if err := TreeOf(w.home, "landing", w.repo).Check(ctx); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("an agent whose refs are those of what has landed: %v", err)
	}
}

// The branch follows where nobody has it checked out; where it has gone another way, what has
// landed is put on it again.
func TestTheBranchFollowsWhatHasLanded(t *testing.T) {
	w := newWorld(t)
	ctx, target := t.Context(), w.target()
	one := w.branch("one", "main", "a", "a\n")
	two := w.branch("two", "main", "b", "b\n")
	follows := func(want bool) {
		t.Helper()
		moved, err := target.Follow(ctx)
		if err != nil || moved != want {
			t.Errorf("follows: %v, %v", moved, err)
		}
	}
	follows(false)
	landed := w.land(Work{Offer: 1, Source: "one", Tip: one, How: LandRebase}).Commit
	follows(true)
	if now := plain(t, w.repo, "rev-parse", "main"); now != landed {
		t.Errorf("main is %s, not %s", now, landed)
	}
	plain(t, w.repo, "switch", "-q", "main")
	landed = w.land(Work{Offer: 2, Source: "two", Tip: two, How: LandRebase}).Commit
	follows(false)
	if err := target.Move(ctx, "", one); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("moved from what it is not: %v", err)
	}
	write(t, filepath.Join(w.repo, "mine"), "mine\n")
	plain(t, w.repo, "add", "-A")
	plain(t, w.repo, "commit", "-qm", "mine")
	g, err := target.Ground(ctx)
	must(t, err)
	again, err := target.Ground(ctx)
	must(t, err)
	if g.Old != landed || g.Again != landed || g != again || plain(t, w.repo, "diff", "--name-only", "main", g.Commit) != "b" {
		t.Errorf("%+v, then %+v", g, again)
	}
	write(t, filepath.Join(w.repo, "b"), "other\n")
	plain(t, w.repo, "add", "-A")
	plain(t, w.repo, "commit", "-qm", "mine too")
	if _, err = target.Ground(ctx); !fika.IsKind(err, fika.Conflict) || !strings.Contains(err.Error(), "merge fika/landing/main into it") {
		t.Errorf("both change it: %v", err)
	}
	plain(t, w.repo, "merge", "-q", "-X", "ours", "-m", "both", "fika/landing/main")
	if g, err = target.Ground(ctx); err != nil || g.Commit != plain(t, w.repo, "rev-parse", "main") || g.Again != "" {
		t.Errorf("%+v, %v", g, err)
	}
}

// A person's checkout is changed by Apply alone, and there only what landed.
func TestApplyLeavesWhatAPersonHasChanged(t *testing.T) {
	w := newWorld(t)
	ctx, target := t.Context(), w.target()
	tip := w.branch("work", "main", "new/file.go", "landed\n")
	plain(t, w.repo, "switch", "-q", "main")
	if _, err := target.Apply(ctx); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("nothing has landed: %v", err)
	}
	write(t, filepath.Join(w.repo, "cart.go"), "mine\n")
	write(t, filepath.Join(w.repo, "built"), "ignored\n")
	landed := w.land(Work{Offer: 1, Source: "work", Tip: tip, How: LandRebase}).Commit
	if now := read(t, filepath.Join(w.repo, "cart.go")); now != "mine\n" || plain(t, w.repo, "rev-parse", "HEAD") == landed {
		t.Errorf("landing touched the checkout: %q", now)
	}
	refused := func(path string) {
		t.Helper()
		before := plain(t, w.repo, "status", "--porcelain", "-uall")
		if _, err := target.Apply(ctx); !fika.IsKind(err, fika.Conflict) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s is in the way: %v", path, err)
		}
		if now := plain(t, w.repo, "status", "--porcelain", "-uall"); now != before {
			t.Errorf("%s, before %s", now, before)
		}
	}
	write(t, filepath.Join(w.repo, "new"), "a file where a folder would be")
	refused("new/file.go")
	must(t, os.Remove(filepath.Join(w.repo, "new")))
	write(t, filepath.Join(w.repo, "new/file.go"), "untracked\n")
	refused("new/file.go")
	must(t, os.RemoveAll(filepath.Join(w.repo, "new")))
	a, err := target.Apply(ctx)
	must(t, err)
	if a.Into != w.repo || a.Commit != landed || read(t, filepath.Join(w.repo, "cart.go")) != "mine\n" || read(t, filepath.Join(w.repo, "new/file.go")) != "landed\n" || read(t, filepath.Join(w.repo, "built")) != "ignored\n" {
		t.Errorf("%+v", a)
	}
	if a, err = target.Apply(ctx); err != nil || !a.Nothing {
		t.Errorf("%+v, %v", a, err)
	}
	plain(t, w.repo, "stash", "-q")
	more := w.branch("more", "main", "cart.go", "landed\ntwo\n")
	plain(t, w.repo, "switch", "-q", "main")
	plain(t, w.repo, "stash", "pop", "-q")
	w.land(Work{Offer: 2, Source: "more", Tip: more, How: LandRebase})
	refused("cart.go")
	plain(t, w.repo, "checkout", "-q", "cart.go")
	hook := filepath.Join(w.repo, ".git/hooks/post-merge")
	write(t, hook, "#!/bin/sh\n")
	must(t, os.Chmod(hook, 0o755))
	if a, err = target.Apply(ctx); err != nil || a.ByHand != "git merge --ff-only fika/landing/main" || a.Commit == more {
		t.Errorf("%+v, %v", a, err)
	}
}

// A check finds the files of the commit and nothing else, whatever one before has left.
func TestAScratchHoldsTheCommitAndNothingElse(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.home, "landing", "tree")
	commit := plain(t, w.repo, "rev-parse", "main")
	for range 2 {
		must(t, w.target().Scratch(t.Context(), dir, commit))
		if got := plain(t, dir, "status", "--porcelain", "--ignored"); got != "" {
			t.Errorf("there is %s", got)
		}
		write(t, filepath.Join(dir, "built"), "planted")
		write(t, filepath.Join(dir, "locked/x"), "x")
		must(t, os.Chmod(filepath.Join(dir, "locked"), 0o500))
	}
	must(t, RemoveScratch(dir))
	if exists(dir) {
		t.Error("it is still there")
	}
}

// Work on top of what has landed before lands, however that was changed since: what has
// landed is not put on the branch again.
func TestWhatHasLandedIsNotPutOnAgain(t *testing.T) {
	for _, how := range []string{LandRebase, LandSquash} {
		w := newWorld(t)
		first := w.branch("coders", "main", "cart.go", "one\ntwo\nTHREE\n")
		w.land(Work{Offer: 1, Agent: "coder", Source: "@coder", Tip: first, How: how})
		landed, err := w.target().Landed(t.Context())
		must(t, err)
		w.land(Work{Offer: 2, Agent: "other", Source: "@other", Tip: w.branch("others", landed, "cart.go", "one\ntwo\nthree again\n"), How: LandRebase})
		second := w.branch("more", first, "new.go", "new\n")
		work := Work{Offer: 3, Agent: "coder", Source: "@coder", Tip: second, How: how}
		if p := w.land(work); len(p.Conflicts) == 0 {
			t.Errorf("%s: it fits all the same", how)
		}
		work.Landed = []string{"0123456789012345678901234567890123456789", second, first}
		if p := w.land(work); len(p.Conflicts) > 0 || p.Nothing {
			t.Errorf("%s: %+v", how, p)
			continue
		}
		ref := w.target().Ref()
		if text := plain(t, w.repo, "show", ref+":cart.go") + plain(t, w.repo, "show", ref+":new.go"); text != "one\ntwo\nthree againnew" {
			t.Errorf("%s: %q", how, text)
		}
		if n := plain(t, w.repo, "log", "--format=%s", ref, "--", "new.go"); strings.Contains(n, "cart") {
			t.Errorf("%s: %s", how, n)
		}
	}
}
