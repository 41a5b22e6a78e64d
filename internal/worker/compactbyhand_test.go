package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/llm"
	"fika/internal/settings/folder"
	"fika/internal/turn"
)

// A message that nobody has read may not vanish into a summary.
func TestUnreadMessagesSurviveACompactionByHand(t *testing.T) {
	x := sit(t, "")
	x.prompt("one")
	x.prompt("two")
	x.must(os.WriteFile(filepath.Join(x.worker.Folder.Path(), "inbox.jsonl"), []byte(`{"from":"cron","content":"the backup failed"}`+"\n"), 0o600))
	x.must(x.runtime.inbox.drain(x.Context()))
	x.byHand(false)
	x.prompt("three")
	r := x.model.requests[len(x.model.requests)-1]
	if len(r.Messages) != 3 || !strings.Contains(r.Messages[1].Text, "the backup failed") {
		t.Errorf("got %+v", r.Messages)
	}
}

// byHand compacts as the command does.
func (x *table) byHand(rolling bool) Compacted {
	x.Helper()
	done, err := x.runtime.compactWith(x.Context(), x.model, Compaction{Rolling: rolling}, x.warn)
	x.must(err)
	return done
}

func TestSummaryIsMergedWithTheOldOneAndWithWhatAPersonWrote(t *testing.T) {
	x := sit(t, "")
	x.prompt("one fact-1")
	x.byHand(false)
	x.must(x.worker.Folder.Write(folder.Summary, x.summary()+"\nThe user said fact-7 elsewhere.\n"))
	x.prompt("two fact-2")
	x.byHand(false)
	if got := x.summary(); got != "Known: fact-1 fact-2 fact-7" {
		t.Errorf("got %q", got)
	}
}

func TestUndoBringsBackWindowAndSummary(t *testing.T) {
	x := sit(t, "")
	x.prompt("one fact-1")
	x.byHand(false)
	x.prompt("two fact-2")
	window, summary := x.visible(), x.summary()
	x.byHand(false)
	if len(x.visible()) != 0 || x.summary() == summary {
		t.Fatalf("not compacted: %v %q", x.visible(), x.summary())
	}
	x.leave()
	if _, err := UndoCompaction(t.Context(), x.app, "default", 0, x.warn); err != nil {
		t.Fatal(err)
	}
	x.open()
	if len(x.visible()) != len(window) || x.summary() != summary {
		t.Errorf("got %d entries and %q, want %d and %q", len(x.visible()), x.summary(), len(window), summary)
	}
	x.prompt("three")
	if r := x.model.requests[len(x.model.requests)-1]; len(r.Messages) != 4 { // the summary first
		t.Errorf("the model sees %d messages", len(r.Messages))
	}
	x.leave()
	for range 2 { // the other one, and then there is none
		_, err := UndoCompaction(t.Context(), x.app, "default", 0, x.warn)
		if err != nil && !fika.IsKind(err, fika.NotFound) {
			t.Fatal(err)
		}
	}
	x.open()
	if n := len(x.visible()); n != 6 || x.summary() != "" {
		t.Errorf("%d entries and %q", n, x.summary())
	}
}

func TestUndoLeavesAnEditedSummaryAlone(t *testing.T) {
	x := sit(t, "")
	x.prompt("one fact-1")
	x.byHand(false)
	x.must(x.worker.Folder.Write(folder.Summary, "mine"))
	x.leave()
	_, err := UndoCompaction(t.Context(), x.app, "default", 0, x.warn)
	x.must(err)
	x.open()
	if x.summary() != "mine" || len(x.warns) == 0 {
		t.Errorf("got %q, %q", x.summary(), x.warns)
	}
}

func TestACrashBeforeTheSummaryIsWrittenIsMendedAtTheNextOpening(t *testing.T) {
	x := sit(t, "")
	x.prompt("one fact-1")
	done := x.byHand(false)
	path := x.worker.Folder.TextPath(folder.Summary)
	x.must(os.Remove(path)) // as if it had never been written
	x.reopen()
	if x.summary() != done.Summary {
		t.Errorf("got %q, want %q", x.summary(), done.Summary)
	}
	x.must(os.WriteFile(path, nil, 0o600)) // a person empties it
	later := time.Now().Add(time.Minute)
	x.must(os.Chtimes(path, later, later))
	x.reopen()
	if x.summary() != "" {
		t.Errorf("a person's edit was undone: %q", x.summary())
	}
}

func TestAnEditDuringACompactionIsKept(t *testing.T) {
	x := sit(t, "")
	x.prompt("one fact-1")
	x.model.summary = func(string) (string, error) {
		return "the new one", x.worker.Folder.Write(folder.Summary, "typed meanwhile")
	}
	x.byHand(false)
	if got := x.summary(); got != "typed meanwhile\n\nthe new one" {
		t.Errorf("got %q", got)
	}
}

func TestALongHistoryIsFoldedInParts(t *testing.T) {
	x := sit(t, "context_window_limit = 2000\n")
	x.fill(2000)
	x.byHand(false)
	if n := len(x.model.folds); n < 5 || n > 40 {
		t.Errorf("%d parts", n)
	}
	if n := len(facts(x.summary())); n != 20 {
		t.Errorf("%d of 20 facts are in the summary", n)
	}
	for _, r := range x.model.folds {
		if n := turn.EstimateTokens(r.System + r.Messages[0].Text); n > 2000 {
			t.Errorf("a part of %d tokens does not fit the window", n)
		}
	}
}

func TestAProviderThatFindsAPartTooLongGetsSmallerOnes(t *testing.T) {
	x := sit(t, "context_window_limit = 4000\n")
	x.fill(300)
	x.model.summary = func(text string) (string, error) {
		if len(text) > 6000 {
			return "", fika.Wrap(fika.Provider, "", &llm.ProviderError{Status: 400, Message: "prompt is too long: 9000 tokens > 4000 maximum"})
		}
		return "Known: " + strings.Join(facts(text), " "), nil
	}
	x.byHand(false)
	if n := len(facts(x.summary())); n != 3 {
		t.Errorf("%d of 3 facts", n)
	}
}

func TestNothingToCompactIsSaid(t *testing.T) {
	x := sit(t, "")
	_, err := x.runtime.compactWith(t.Context(), x.model, Compaction{}, x.warn)
	if !fika.IsKind(err, fika.Conflict) {
		t.Errorf("got %v", err)
	}
	_, err = Compact(t.Context(), x.app, CompactOptions{Context: "default", DryRun: true, Person: app.Person{Warn: x.warn}})
	if !fika.IsKind(err, fika.Conflict) {
		t.Errorf("dry run: %v", err)
	}
}

func TestADryRunTellsAndChangesNothing(t *testing.T) {
	x := sit(t, "")
	x.prompt("one")
	x.prompt("two")
	got, err := Compact(t.Context(), x.app, CompactOptions{Context: "default", DryRun: true, Compaction: Compaction{Rolling: true}, Person: app.Person{Warn: x.warn}}) // the lock is held: reading needs none
	x.must(err)
	if len(got.Archived) != 2 || got.Kept != 2 || got.Before <= got.After || got.Counted {
		t.Errorf("got %+v", got)
	}
	if len(x.compactions()) != 0 || len(x.model.folds) != 0 {
		t.Error("something was changed")
	}
}
