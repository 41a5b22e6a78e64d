package worktree

import (
	"strings"
	"testing"

	"fika"
)

func TestWhatHasLandedIsTakenBack(t *testing.T) {
	for _, how := range []string{LandRebase, LandMerge, LandSquash, "as it was"} {
		w := newWorld(t)
		ctx, target := t.Context(), w.target()
		base := plain(t, w.repo, "rev-parse", "main")
		work := Work{Offer: 1, Agent: "coder", Source: "@coder", Tip: w.branch("work", "main", "a", "a\n", "a\nb\n"), How: how}
		if how == "as it was" {
			work.Agent, work.How = "", LandRebase
		}
		landed := w.land(work).Commit
		o := fika.Offer{Number: 1, Title: "writes a", Tip: work.Tip, Base: base, New: landed, State: fika.OfferLanded}
		w.land(Work{Offer: 2, Source: "other", Tip: w.branch("other", "main", "c", "c\n"), How: LandRebase})
		before := plain(t, w.repo, "for-each-ref") + plain(t, w.repo, "status", "--porcelain")
		tip, err := target.Undo(ctx, o)
		must(t, err)
		if now := plain(t, w.repo, "for-each-ref") + plain(t, w.repo, "status", "--porcelain"); now != before {
			t.Errorf("%s: something was touched:\n%s", how, now)
		}
		if files := plain(t, w.repo, "diff", "--name-only", base, tip); files != "c" {
			t.Errorf("%s: %q is left", how, files)
		}
		if said := plain(t, w.repo, "show", "-s", "--format=%an%n%B", tip); !strings.HasPrefix(said, "maria\nUndo offer 1: writes a\n\nThis takes back ") {
			t.Errorf("%s: %q", how, said)
		}
		p := w.land(Work{Offer: 3, Source: UndoOf(1), Tip: tip, How: how})
		if p.Nothing || len(p.Conflicts) > 0 {
			t.Errorf("%s: %+v", how, p)
		}
		if _, err := target.Undo(ctx, o); !fika.IsKind(err, fika.Conflict) {
			t.Errorf("%s: twice: %v", how, err)
		}
	}
}

func TestWhatWasChangedSinceIsNotTakenBack(t *testing.T) {
	w := newWorld(t)
	base := plain(t, w.repo, "rev-parse", "main")
	one := w.branch("one", "main", "cart.go", "ONE\ntwo\nthree\n")
	landed := w.land(Work{Offer: 1, Agent: "coder", Source: "@coder", Tip: one, How: LandRebase}).Commit
	w.land(Work{Offer: 2, Source: "two", Tip: w.branch("two", landed, "cart.go", "EINS\ntwo\nthree\n"), How: LandRebase})
	_, err := w.target().Undo(t.Context(), fika.Offer{Number: 1, Tip: one, Base: base, New: landed})
	if !fika.IsKind(err, fika.Conflict) || !strings.Contains(err.Error(), "changed since, in cart.go") {
		t.Errorf("%v", err)
	}
	_, err = w.target().Undo(t.Context(), fika.Offer{Number: 9, Tip: w.branch("never", "main", "n", "n"), Base: base})
	if !fika.IsKind(err, fika.Conflict) || !strings.Contains(err.Error(), "nothing of offer 9") {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]fika.OfferNumber{"undo-3": 3, "undo-0": 0, "undo-x": 0, "3": 0, "undo--1": 0} {
		if got := ParseUndo(name); got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
