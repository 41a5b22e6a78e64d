package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/settings/folder"
)

// A context of 5,000 entries in a window of 3,000 tokens, worked until
// hundreds of automatic compactions have passed: every prompt is answered,
// every entry is still there, nothing that was archived comes back, and every
// fact is in the window or in the summary.
func TestHundredsOfCompactionsLoseNothing(t *testing.T) {
	x := sit(t, small)
	x.fill(5000)
	x.model.tool = true
	x.model.choose = func(prompt string) (string, error) {
		switch n := len(x.model.folds) % 4; n {
		case 0: // the model keeps what it was told first and lets go what came after
			ids := regexp.MustCompile(`(?m)^\[(\d+)\]`).FindAllStringSubmatch(prompt, -1)
			var pick []string
			for _, m := range ids[len(ids)/3:] {
				pick = append(pick, m[1])
			}
			return "Certainly!\n```json\n[" + strings.Join(pick, ", ") + "]\n```", nil
		case 1:
			return "[1, \"two\", {}, 99999999]", nil
		case 2:
			return "", fika.Errorf(fika.Provider, "", "down")
		}
		return "no", nil
	}
	archived := map[int64]bool{}
	known := 5000
	want := 200
	if raced || testing.Short() {
		want = 40
	}
	for i := 0; len(x.compactions()) < want; i++ {
		if i == 500 {
			t.Fatalf("only %d compactions", len(x.compactions()))
		}
		word := fmt.Sprintf("prompt-%d", i)
		if got := x.prompt(word + strings.Repeat(" and much more of this", 70)); got != "answer to "+word {
			t.Fatalf("prompt %d was answered %q", i, got)
		}
		last := x.model.requests[len(x.model.requests)-1]
		if text := last.Messages[len(last.Messages)-3].Text; !strings.HasPrefix(text, word) {
			t.Fatalf("prompt %d is not where it belongs: %q", i, text)
		}
		if i%20 == 0 {
			known = x.checkNothingLost(archived, known)
		}
		if i%50 == 49 {
			x.reopen()
		}
	}
	t.Logf("%d entries, %d compactions, %d prompts", len(x.all()), len(x.compactions()), len(x.model.requests)/2)
	diffs, err := folder.Compare(t.Context(), x.worker.Folder, EntrySource{Store: x.worker.Store, Agent: "default"})
	if err != nil || len(diffs) > 0 {
		t.Errorf("the mirror differs: %v, %v", diffs[:min(3, len(diffs))], err)
	}
}

func (x *table) checkNothingLost(archived map[int64]bool, before int) int {
	x.Helper()
	all, visible := x.all(), x.visible()
	if len(all) < before {
		x.Fatalf("%d entries of %d are left", len(all), before)
	}
	text := x.summary()
	for seq, e := range visible {
		if archived[seq] {
			x.Fatalf("entry %d was archived and came back", seq)
		}
		text += " " + e.Content
	}
	have := facts(text)
	for i, e := range all {
		if int64(i+1) != e.Seq {
			x.Fatalf("seq %d is missing", i+1)
		}
		if _, ok := visible[e.Seq]; !ok {
			archived[e.Seq] = true
		}
		for _, f := range facts(e.Content) {
			if _, found := slices.BinarySearch(have, f); !found && e.Type == fika.Message {
				x.Fatalf("%s is neither in the window nor in the summary", f)
			}
		}
	}
	return len(all)
}

func TestThePromptThatCompactsIsAnswered(t *testing.T) {
	x := sit(t, small)
	x.big()
	n := len(x.compactions())
	for i := 0; len(x.compactions()) == n; i++ {
		if got := x.prompt("now " + strings.Repeat("x ", 400)); got != "answer to now" {
			t.Fatalf("got %q", got)
		}
		if i > 20 {
			t.Fatal("never compacted")
		}
	}
}

func TestWhatACompactionKeepsIsInTheNextWindowAfterReloading(t *testing.T) {
	x := sit(t, "")
	x.model.choose = func(prompt string) (string, error) {
		var out []string // all but the very first
		for i, m := range regexp.MustCompile(`(?m)^\[(\d+)\]`).FindAllStringSubmatch(prompt, -1) {
			if i > 1 {
				out = append(out, m[1])
			}
		}
		return "[" + strings.Join(out, ",") + "]", nil
	}
	x.big()
	x.byHand(true)
	last := x.compactions()
	if len(last) == 0 || len(last[len(last)-1].Meta.Kept) == 0 {
		t.Fatalf("nothing was kept: %+v", last)
	}
	x.reopen()
	x.prompt("and now?")
	r := x.model.requests[len(x.model.requests)-1]
	if !strings.Contains(r.Messages[0].Text, "CONVERSATION SUMMARY") || !strings.HasPrefix(r.Messages[1].Text, "word-0") {
		t.Errorf("the window begins with %+v", r.Messages[:2])
	}
}

func TestAToolExchangeIsArchivedWholeOrKeptWhole(t *testing.T) {
	x := sit(t, small)
	x.model.tool = true
	x.model.choose = func(prompt string) (string, error) { // only results
		var out []string
		for _, m := range regexp.MustCompile(`(?m)^\[(\d+)\] list: `).FindAllStringSubmatch(prompt, -1) {
			out = append(out, m[1])
		}
		return "[" + strings.Join(out, ",") + "]", nil
	}
	x.big()
	if len(x.compactions()) == 0 {
		t.Fatal("nothing was compacted")
	}
	in := map[fika.RequestID]int{}
	for _, e := range x.visible() {
		in[e.Request]++
	}
	for r, n := range in {
		if n != 5 {
			t.Errorf("%d of the 5 entries of %s are in the window", n, r)
		}
	}
}

func TestAnEmptySummaryChangesNothing(t *testing.T) {
	x := sit(t, small)
	x.model.summary = func(string) (string, error) { return " \n", nil }
	x.big()
	if got := x.prompt("still there?"); got != "answer to still" {
		t.Errorf("got %q", got)
	}
	if len(x.compactions()) != 0 || x.summary() != "" {
		t.Errorf("compacted: %v, %q", x.compactions(), x.summary())
	}
	if !slices.ContainsFunc(x.warns, func(s string) bool { return strings.Contains(s, "empty summary") }) {
		t.Errorf("nobody was told: %q", x.warns)
	}
}

func TestAFailedCompactionAnswersThePromptAllTheSame(t *testing.T) {
	x := sit(t, small)
	x.model.summary = func(string) (string, error) { return "", fika.Errorf(fika.Provider, "", "overloaded") }
	x.big()
	if len(x.compactions()) != 0 {
		t.Error("compacted without a summary")
	}
}

// When the prompt alone is beyond the threshold, compacting again and again
// would help nothing.
func TestCompactionDoesNotGoRoundInCircles(t *testing.T) {
	x := sit(t, small+"max_recursion_depth = 5\n")
	x.must(x.worker.Folder.Write(folder.SystemPrompt, strings.Repeat("You are very careful. ", 400)))
	for i := range 5 {
		x.prompt(fmt.Sprintf("p%d", i))
	}
	n := len(x.compactions())
	x.prompt("once more")
	if got := len(x.compactions()); got > n+1 || got > 6 {
		t.Errorf("%d compactions, then %d", n, got)
	}
}

func TestThresholdCountsSystemPromptAndTools(t *testing.T) {
	x := sit(t, small)
	x.must(x.worker.Folder.Write(folder.SystemPrompt, strings.Repeat("You are very careful. ", 300))) // 1,650 tokens of 3,000
	x.prompt("one " + strings.Repeat("and so on ", 60))
	x.prompt("two")
	if len(x.compactions()) == 0 {
		t.Error("the system prompt was not counted")
	}
}

func TestTheProvidersCountIsBelieved(t *testing.T) {
	x := sit(t, small)
	x.prompt("one")
	x.model.usage = fika.Usage{Input: 2500, Output: 10}
	x.prompt("two")
	if len(x.compactions()) != 0 {
		t.Fatal("compacted too soon")
	}
	x.model.usage = fika.Usage{}
	x.prompt("three")
	if len(x.compactions()) != 1 {
		t.Fatalf("%d compactions; %q", len(x.compactions()), x.warns)
	}
	x.prompt("four") // the old count says nothing any more
	if len(x.compactions()) != 1 {
		t.Error("compacted again by a count from before")
	}
}

func TestGoalsTodosAndReflectionAreStillSentAfterACompaction(t *testing.T) {
	x := sit(t, small)
	x.must(x.worker.Folder.Write(folder.Goals, "win the cup"))
	x.must(x.worker.Folder.Write(folder.Todos, "train hard"))
	_, err := x.worker.Folder.WriteIf(folder.Reflection, "", "I like tea")
	x.must(err)
	x.big()
	x.prompt("next")
	r := x.model.requests[len(x.model.requests)-1]
	for _, want := range []string{"win the cup", "train hard", "I like tea", "capable assistant"} {
		told := r.System
		for _, m := range r.Messages {
			told += m.Text
		}
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in the prompt", want)
		}
	}
	fold := ""
	for _, m := range x.model.folds[0].Messages {
		fold += m.Text
	}
	if !strings.Contains(fold, "win the cup") || !strings.Contains(fold, "train hard") {
		t.Errorf("the summary was written without goals and todos: %.200s", fold)
	}
}

func TestTheSummaryIsSentOnce(t *testing.T) {
	x := sit(t, small)
	x.big()
	x.prompt("next")
	r := x.model.requests[len(x.model.requests)-1]
	whole := r.System
	for _, m := range r.Messages {
		whole += m.Text
	}
	if n := strings.Count(whole, "Known:"); n != 1 {
		t.Errorf("the summary is there %d times", n)
	}
	if !strings.Contains(r.Messages[0].Text, "was replaced by the summary") {
		t.Error("nothing introduces the summary (continuation.md)")
	}
}

func TestInstructionsComeFromTheHome(t *testing.T) {
	x := sit(t, small)
	h := x.worker.Folder.Home
	x.must(h.EnsureDir(h.PromptsDir()))
	x.must(os.WriteFile(filepath.Join(h.PromptsDir(), "compaction.md"), []byte("Be brief, in Swedish."), 0o600))
	x.must(os.WriteFile(filepath.Join(h.PromptsDir(), "continuation.md"), []byte("Fortsätt."), 0o600))
	x.big()
	x.prompt("next")
	order := x.model.folds[0].Messages
	if got := order[len(order)-1].Text; !strings.Contains(got, "\n\nBe brief, in Swedish.\n\n") {
		t.Errorf("compaction.md: %q", got)
	}
	if !strings.HasPrefix(x.model.requests[len(x.model.requests)-1].Messages[0].Text, "Fortsätt.\n\n--- CONVERSATION SUMMARY ---\n") {
		t.Error("continuation.md is not used")
	}
}

// Trial row U4.
func TestConversationsCompactUnlessToldNotTo(t *testing.T) {
	x := sit(t, "context_window_limit = 3000\n")
	x.big()
	if len(x.compactions()) == 0 {
		t.Error("not compacted by itself")
	}
	x = sit(t, "context_window_limit = 3000\nauto_compact = false\n")
	x.big()
	if len(x.compactions()) != 0 {
		t.Error("compacted")
	}
	if !slices.ContainsFunc(x.warns, func(s string) bool { return strings.Contains(s, "left out") || strings.Contains(s, "full") }) {
		t.Errorf("nobody was told: %q", x.warns)
	}
}
