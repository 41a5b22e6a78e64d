package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/store/storetest"
	"fika/internal/tool/note"
	"fika/internal/turn"
)

// memory is a model that remembers facts: words of the form fact-N. Its
// summaries hold all facts it was shown, so that a test can tell whether
// compaction loses what it should not.
type memory struct {
	t        *testing.T
	requests []llm.Request                       // to answer a prompt
	folds    []llm.Request                       // to write a summary
	choose   func(prompt string) (string, error) // nil: nonsense, so that the oldest goes
	summary  func(text string) (string, error)
	usage    fika.Usage // of an answer; zero: unknown
	tool     bool       // each answer takes a tool first
}

var factPattern = regexp.MustCompile(`fact-\d+\b`)

func facts(text string) []string {
	all := factPattern.FindAllString(text, -1)
	sort.Strings(all)
	return slices.Compact(all)
}

func (m *memory) Generate(_ context.Context, r llm.Request, _ func(llm.Event) error) (llm.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	switch {
	case strings.HasPrefix(r.System, "You look after the memory"):
		if m.choose == nil {
			return llm.Response{Text: "I cannot say [really]"}, nil
		}
		text, err := m.choose(last.Text)
		return llm.Response{Text: text, Usage: fika.Usage{Input: 5, Output: 1}}, err
	case strings.Contains(last.Text, "CONVERSATION TO SUMMARISE"):
		m.folds = append(m.folds, r)
		if m.summary != nil {
			text, err := m.summary(last.Text)
			return llm.Response{Text: text}, err
		}
		return llm.Response{Text: "Known: " + strings.Join(facts(last.Text), " "), Usage: fika.Usage{Input: 7, Output: 2}}, nil
	}
	m.requests = append(m.requests, r)
	checkPairs(m.t, r)
	if m.tool && last.Role == llm.User {
		return llm.Response{Text: "let me look", Calls: []llm.Call{{ID: "c", Name: "list", Args: `{}`}}, Usage: m.usage}, nil
	}
	return llm.Response{Text: "answer to " + lastOfUser(r), Usage: m.usage}, nil
}

// checkPairs fails when a provider would refuse the window: every call is
// followed by its result, and nothing else is a result.
func checkPairs(t *testing.T, r llm.Request) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range r.Messages {
		if m.Role == llm.ToolRole {
			if !open[m.CallID] {
				t.Errorf("a result without its call: %q", m.CallID)
			}
			delete(open, m.CallID)
			if strings.Contains(m.Text, "interrupted") {
				t.Errorf("a call without its result")
			}
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls without results: %v", open)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
}

func lastOfUser(r llm.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == llm.User {
			return strings.Fields(m.Text + " -")[0]
		}
	}
	return ""
}

// table is a home with one locked context.
type table struct {
	*testing.T
	app     *app.App
	worker  *Worker
	runtime *Runtime
	model   *memory
	conv    fika.ConversationID
	warns   []string

	configured int // how often; see configure
}

// sit takes the context "default" of a new home. settings are further lines of
// config.toml.
func sit(t *testing.T, settings string) *table {
	t.Helper()
	x := &table{T: t, model: &memory{t: t}}
	root := filepath.Join(t.TempDir(), "home")
	x.must(os.Mkdir(root, 0o700))
	storetest.FreshAt(t, filepath.Join(root, "fika.db"))
	x.must(os.WriteFile(filepath.Join(root, "config.toml"), []byte(settings+"\nmodel = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n"), 0o600))
	x.must(os.WriteFile(filepath.Join(root, "rules.toml"), []byte("fallback = \"ok\"\n"), 0o600))
	x.app = app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: t.TempDir()})
	t.Cleanup(func() { x.leave(); x.must(x.app.Close()) })
	x.open()
	return x
}

func (x *table) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *table) warn(s string) { x.warns = append(x.warns, s) }

// open takes the context as a one-shot prompt does.
func (x *table) open() {
	x.Helper()
	var err error
	x.worker, err = Open(x.Context(), x.app, Options{Name: "default", Kind: folder.LockRun})
	x.must(err)
	x.runtime, err = x.worker.newRuntime(x.Context(), x.worker.Settings, RuntimeOptions{
		Dir: x.app.Dir(), Stderr: io.Discard, Warn: x.warn, Notify: app.Waker{Bus: bus.Nobody{}},
	}, x.worker.newInbox(x.warn), &note.Versions{})
	x.must(err)
	conv, err := x.worker.Store.ActiveAsk(x.Context(), x.worker.Agent.ID)
	x.must(err)
	x.conv, x.worker.Agent.ActiveAsk = conv.ID, conv.ID
}

func (x *table) leave() {
	if x.worker != nil {
		x.must(x.worker.Close())
		x.worker = nil
	}
}

// reopen is the next process.
func (x *table) reopen() { x.Helper(); x.leave(); x.open() }

// prompt runs one prompt and gives the answer.
func (x *table) prompt(text string) string {
	x.Helper()
	res := x.run(text)
	if res.State != fika.Done {
		x.Fatalf("%q: %s %s", text, res.State, res.Reason)
	}
	return res.Outcome.Answer
}

func (x *table) run(text string) turn.Result {
	x.Helper()
	c, err := x.runtime.begin(x.Context(), RunOptions{Prompt: text})
	x.must(err)
	cfg := x.runtime.turnConfig(c, x.worker.Settings, x.model, nil, turn.ObserverFunc(func(ev turn.Event) {
		if ev.Kind == turn.Warning {
			x.warn(ev.Text)
		}
	}))
	res, err := turn.New(cfg).Run(x.Context(), c)
	x.must(err)
	return res
}

func (x *table) all() []fika.Entry {
	x.Helper()
	all, err := x.worker.Store.Entries(x.Context(), store.EntryQuery{Conversation: x.conv})
	x.must(err)
	return all
}

func (x *table) compactions() []fika.Entry {
	x.Helper()
	all, err := x.worker.Store.Entries(x.Context(), store.EntryQuery{Conversation: x.conv, Types: []fika.EntryType{fika.Compaction}})
	x.must(err)
	return all
}

// visible is what the window holds now.
func (x *table) visible() map[int64]fika.Entry {
	x.Helper()
	list, err := ReadWindow(x.Context(), x.worker.Store, x.conv)
	x.must(err)
	out := map[int64]fika.Entry{}
	for _, e := range list {
		if e.Type != fika.Compaction && e.Type != fika.Notice {
			out[e.Seq] = e
		}
	}
	return out
}

func (x *table) summary() string {
	x.Helper()
	s, err := x.worker.Summary().Text()
	x.must(err)
	return s
}

// fill imports n messages; each tenth tells a fact.
func (x *table) fill(n int) {
	x.Helper()
	var list []fika.Entry
	for i := range n {
		e := fika.Entry{ID: fika.EntryID(fmt.Sprintf("old-%d", i)), At: time.Unix(int64(1e9+i), 0), From: "user", To: "default", Type: fika.Message,
			Content: fmt.Sprintf("m%d and some words about nothing much", i)}
		if i%100 == 0 {
			e.Content += fmt.Sprintf(" fact-%d", i)
		}
		if i%2 == 1 {
			e.From, e.To = "default", "user"
		}
		list = append(list, e)
	}
	_, err := x.worker.Store.Import(x.Context(), x.conv, list)
	x.must(err)
}

const small = "auto_compact = true\nauto_compact_threshold = 60\ncontext_window_limit = 3000\n"

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

// big fills the window so that the next prompt compacts.
func (x *table) big() {
	x.Helper()
	for i := range 14 {
		x.prompt(fmt.Sprintf("word-%d fact-%d ", i, i) + strings.Repeat("and so on ", 50))
	}
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
	x := sit(t, small)
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
	last := x.compactions()
	if len(last) == 0 || len(last[len(last)-1].Meta.Kept) == 0 {
		t.Fatalf("nothing was kept: %+v", last)
	}
	x.reopen()
	x.prompt("and now?")
	r := x.model.requests[len(x.model.requests)-1]
	if !strings.HasPrefix(r.Messages[0].Text, "word-0") {
		t.Errorf("the window begins with %q", r.Messages[0].Text)
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
	fold := x.model.folds[0].Messages[0].Text
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
	if !strings.Contains(r.System, "was replaced by the summary") {
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
	if got := x.model.folds[0].System; got != "Be brief, in Swedish." {
		t.Errorf("compaction.md: %q", got)
	}
	if !strings.Contains(x.model.requests[len(x.model.requests)-1].System, "Fortsätt.") {
		t.Error("continuation.md is not used")
	}
}

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
	if !strings.Contains(r.Messages[0].Text, "the backup failed") || len(r.Messages) != 2 {
		t.Errorf("got %+v", r.Messages)
	}
}

// byHand compacts as the command does.
func (x *table) byHand(rolling bool) Compacted {
	x.Helper()
	done, err := x.runtime.compactWith(x.Context(), x.model, rolling, x.warn)
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
	if r := x.model.requests[len(x.model.requests)-1]; len(r.Messages) != 3 {
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
		if n := turn.Estimate(r.System + r.Messages[0].Text); n > 2000 {
			t.Errorf("a part of %d tokens does not fit the window", n)
		}
	}
}

func TestAProviderThatFindsAPartTooLongGetsSmallerOnes(t *testing.T) {
	x := sit(t, "context_window_limit = 4000\n")
	x.fill(300)
	x.model.summary = func(text string) (string, error) {
		if len(text) > 6000 {
			return "", fika.Wrap(fika.Provider, "", &llm.ProviderError{Status: 400, Message: "too long"})
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
	_, err := x.runtime.compactWith(t.Context(), x.model, false, x.warn)
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
	got, err := Compact(t.Context(), x.app, CompactOptions{Context: "default", DryRun: true, Rolling: true, Person: app.Person{Warn: x.warn}}) // the lock is held: reading needs none
	x.must(err)
	if len(got.Archived) != 2 || got.Kept != 2 || got.Before <= got.After || got.Counted {
		t.Errorf("got %+v", got)
	}
	if len(x.compactions()) != 0 || len(x.model.folds) != 0 {
		t.Error("something was changed")
	}
}

// recorder keeps what hooks are told.
type recorder struct {
	fired []string
	block hook.Point
}

func (r *recorder) Fire(_ context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	var keys []string
	for k := range p {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	r.fired = append(r.fired, fmt.Sprintf("%s %v %v", at, keys, p["message_count"]))
	if at == r.block {
		return p, fika.Errorf(fika.Denied, "", "a hook forbids it")
	}
	return p, nil
}

func TestHooksOfCompactionsAreToldExactlyWhatTheyAreDocumentedToBeTold(t *testing.T) {
	x := sit(t, "")
	r := &recorder{}
	x.runtime.hooks = r
	x.prompt("one")
	x.prompt("two")
	r.fired = nil
	x.byHand(true)
	x.byHand(false)
	want := []string{
		"pre_rolling_compact [context_name message_count non_system_count summary] 4",
		"post_rolling_compact [context_name message_count messages_archived summary] 2",
		"pre_compact [context_name message_count summary] 2",
		"post_compact [context_name message_count summary] 0",
	}
	if !slices.Equal(r.fired, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(r.fired, "\n"), strings.Join(want, "\n"))
	}
	for _, d := range hook.Points() { // and that is what the table says
		for _, line := range want {
			if fields := strings.Fields(line); fields[0] == string(d.Point) {
				keys := slices.Clone(d.Payload)
				sort.Strings(keys)
				if !strings.Contains(line, fmt.Sprint(keys)) {
					t.Errorf("%s is documented with %v", d.Point, keys)
				}
			}
		}
	}
}

func TestAHookMayForbidACompactionButNotTheAnswer(t *testing.T) {
	x := sit(t, small)
	x.runtime.hooks = &recorder{block: hook.PreRollingCompact}
	x.big()
	if got := x.prompt("still?"); got != "answer to still?" || len(x.compactions()) != 0 {
		t.Errorf("got %q and %d compactions", got, len(x.compactions()))
	}
}

func TestAutomaticCompactionIsOffByDefault(t *testing.T) {
	x := sit(t, "context_window_limit = 3000\n")
	x.big()
	if len(x.compactions()) != 0 {
		t.Error("compacted")
	}
	if !slices.ContainsFunc(x.warns, func(s string) bool { return strings.Contains(s, "left out") || strings.Contains(s, "full") }) {
		t.Errorf("nobody was told: %q", x.warns)
	}
}

// A failed model call takes nothing away: the messages of an inbox are read
// with the next prompt, in their order.
func TestAFailedPromptLosesNoInboxMessage(t *testing.T) {
	x := sit(t, "")
	lines := `{"from":"a","content":"first"}` + "\nnot a message\n" + `{"from":"b","content":"second"}` + "\n"
	x.must(os.WriteFile(filepath.Join(x.worker.Folder.Path(), "inbox.jsonl"), []byte(lines), 0o600))
	x.runtime.inbox.poll(t.Context())
	good := x.model
	c, err := x.runtime.begin(t.Context(), RunOptions{Prompt: "one"})
	x.must(err)
	if c.Covers != 2 {
		t.Errorf("the prompt covers %d messages", c.Covers)
	}
	cfg := x.runtime.turnConfig(c, x.worker.Settings, failing{}, nil, turn.ObserverFunc(func(turn.Event) {}))
	res, err := turn.New(cfg).Run(t.Context(), c)
	x.must(err)
	if res.State != fika.RequestFailed {
		t.Fatalf("got %s", res.State)
	}
	x.reopen()
	x.runtime.inbox.poll(t.Context())
	x.model = good
	x.prompt("two")
	r := good.requests[0]
	if !strings.Contains(r.Messages[0].Text, "message from a") || !strings.HasSuffix(r.Messages[0].Text, "\n  first") ||
		!strings.HasSuffix(r.Messages[1].Text, "\n  second") || !strings.Contains(r.Messages[1].Text, "not an instruction") {
		t.Errorf("got %+v", r.Messages)
	}
	infos, err := x.worker.Store.ListConversations(t.Context(), store.ConversationFilter{Agent: x.worker.Agent.ID})
	x.must(err)
	if infos[0].Pending != 0 {
		t.Errorf("%d messages are still waiting", infos[0].Pending)
	}
	if n := len(x.all()); n != 2+1+2 {
		t.Errorf("%d entries", n)
	}
	rejected, err := os.ReadFile(filepath.Join(x.worker.Folder.Path(), "inbox.rejected.jsonl"))
	if err != nil || string(rejected) != "not a message\n" {
		t.Errorf("rejected: %q, %v", rejected, err)
	}
}

type failing struct{}

func (failing) Generate(context.Context, llm.Request, func(llm.Event) error) (llm.Response, error) {
	return llm.Response{}, fika.Wrap(fika.Provider, "", errors.New("no answer"))
}
