package worker

import (
	"context"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
	"fika/internal/turn/compaction"
)

// asked sums up as the command does.
func (x *table) asked() (Summarised, error) {
	x.Helper()
	return x.askedOf(x.model)
}

func (x *table) askedOf(m llm.Model) (Summarised, error) {
	x.Helper()
	return summary{
		store: x.worker.Store, agent: x.worker.Agent, settings: x.worker.Settings, source: compactionSource{PromptSource{Folder: x.worker.Folder}},
		model: m, warn: x.warn,
	}.write(x.Context())
}

// A summary holds what was said and what was summed up before, is counted, and
// changes nothing.
func TestASummaryOnRequestChangesNothing(t *testing.T) {
	x := sit(t, "")
	if _, err := x.asked(); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("of nothing: %v", err)
	}
	x.prompt("one fact-1")
	x.byHand(false)
	if got, err := x.asked(); err != nil || got.Summary != "Known: fact-1" || got.Model != "" || got.Entries != 0 {
		t.Errorf("of what was summed up already: %+v, %v", got, err)
	}
	x.prompt("two fact-2")
	entries, window, text := len(x.all()), len(x.visible()), x.summary()
	got, err := x.asked()
	x.must(err)
	if got.Summary != "Known: fact-1 fact-2" || got.Entries != 2 || got.Model != "s" || got.Taint != "" {
		t.Errorf("got %+v", got)
	}
	if len(x.all()) != entries || len(x.visible()) != window || x.summary() != text {
		t.Error("something was changed")
	}
	used, err := x.worker.Store.UsageSince(x.Context(), time.Time{})
	x.must(err)
	if len(used) != 1 || used[0].Usage.Input != 14 || used[0].Usage.Output != 4 { // that of the compaction, too
		t.Errorf("the ledger says %+v", used)
	}
}

// A server that does not say what a call took has been asked all the same.
func TestASummaryOfAServerWithoutUsage(t *testing.T) {
	x := sit(t, "")
	x.prompt("one fact-1")
	if got, err := x.askedOf(withoutUsage{x.model}); err != nil || got.Model != "s" || got.Usage != (fika.Usage{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// withoutUsage is a model whose server reports no usage.
type withoutUsage struct{ llm.Model }

// Generate implements [llm.Model].
func (m withoutUsage) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	out, err := m.Model.Generate(ctx, r, emit)
	out.Usage = fika.Usage{}
	return out, err
}

func TestASummarySaysThatItMayHoldTextFromOutside(t *testing.T) {
	h := compaction.History{Units: []compaction.Unit{{Entries: []fika.Entry{{Meta: fika.EntryMeta{Taint: fika.Taint{From: "fetch example.org"}}}}}}}
	if got := h.TaintOf(); got != "fetch example.org" {
		t.Errorf("got %q", got)
	}
	if got := (compaction.History{Taint: "inbox.jsonl"}).TaintOf(); !strings.Contains(got, "inbox") {
		t.Errorf("of the summary before: %q", got)
	}
}

// A task whose answer is a summary asks the model once for the summary and for nothing
// else, is in the ledger once, changes nothing of what it sums up, and is tainted by
// what that holds.
func TestATaskThatSumsUp(t *testing.T) {
	x := sit(t, "")
	none := x.taskThatSumsUp(x.model)
	if none.State != fika.Done || !strings.Contains(none.Outcome.Answer, "Nothing has been said") || len(x.model.folds) > 0 {
		t.Errorf("of nothing: %+v", none)
	}
	x.prompt("one fact-1")
	entries, asked := len(x.all()), len(x.model.requests)
	got := x.taskThatSumsUp(x.model)
	if got.State != fika.Done || got.Outcome.Answer != "Known: fact-1" || got.Outcome.Usage.Input != 7 || got.Outcome.Taint != "" {
		t.Errorf("got %+v", got)
	}
	if len(x.all()) != entries || len(x.model.requests) != asked || len(x.model.folds) != 1 {
		t.Errorf("%d entries, %d prompts, %d summaries", len(x.all())-entries, len(x.model.requests)-asked, len(x.model.folds))
	}
	used, err := x.worker.Store.UsageSince(x.Context(), time.Time{})
	x.must(err)
	if len(used) != 1 || used[0].Usage.Input != 7 {
		t.Errorf("the ledger says %+v", used)
	}
	_, err = x.worker.Store.Import(x.Context(), x.conv, []fika.Entry{{
		ID: "page", At: time.Unix(1, 0), From: "user", To: "default", Type: fika.Message, Content: "fact-2", Meta: fika.EntryMeta{Taint: fika.Taint{From: "fetch example.org"}},
	}})
	x.must(err)
	if got := x.taskThatSumsUp(x.model); !strings.Contains(got.Outcome.Answer, "fact-2") || got.Outcome.Taint != "fetch example.org" {
		t.Errorf("of text from outside: %+v", got.Outcome)
	}
}

// taskThatSumsUp works such a task as the agent's process does.
func (x *table) taskThatSumsUp(m llm.Model) turn.Result {
	x.Helper()
	_, err := x.worker.Store.Accept(x.Context(), store.NewRequest{
		Kind: fika.TaskRequest, Origin: fika.Queued, Agent: x.worker.Agent.ID,
		Payload: fika.Payload{Prompt: "Sum up.", From: "anna", Writer: fika.ByHuman, Summary: true},
	})
	x.must(err)
	c, err := x.worker.Store.Claim(x.Context(), x.worker.Lease, store.Limits{}, nil)
	x.must(err)
	x.runtime.models = []llm.Model{m}
	res, err := x.runtime.work(x.Context(), *c, nil, turn.ObserverFunc(func(turn.Event) {}))
	x.must(err)
	return res
}
