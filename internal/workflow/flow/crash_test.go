package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
	"fika/internal/workflow/flow"
)

// everything is a workflow that uses every feature.
const everything = `
[[steps]]
id = "plan"
agent = "a"
prompt = "plan"
output = "json"
[[steps]]
id = "each"
needs = ["plan"]
agent = "b"
for_each = "steps.plan.output"
max_parallel = 3
retry = 2
prompt = "do {{.item}}"
[[steps]]
id = "part"
needs = ["plan"]
agent = "b"
for_each = "steps.plan.output"
prompt = "part {{.item}}"
[[steps]]
id = "rest"
needs = ["part"]
join = "ended"
agent = "c"
for_each = "steps.part.failed"
prompt = "mend {{.item.item}}: {{.item.error}}"
[[steps]]
id = "talk"
needs = ["plan"]
chat = { agents = ["a", "c"], topic = "talk about it", max = 4 }
[[steps]]
id = "quick"
needs = ["each"]
agent = "a"
prompt = "quick"
[[steps]]
id = "slow"
needs = ["each"]
agent = "c"
when = "len(steps.each.output) > 1000"
prompt = "slow"
[[steps]]
id = "tell"
needs = ["talk", "plan"]
for_each = "steps.plan.output"
post = "room"
prompt = "{{.item}} said"
[[steps]]
id = "ask"
needs = ["tell", "quick", "slow"]
join = "ended"
approve = true
prompt = "go on?"
[[steps]]
id = "pick"
needs = ["ask"]
choice = ["inner", "outer"]
prompt = "which one?"
[[steps]]
id = "loop"
needs = ["pick"]
when = 'steps.pick.output == "inner"'
workflow = "inner"
repeat = { until = "round >= 2", max = 3 }
[[steps]]
id = "end"
needs = ["loop", "each", "rest"]
agent = "c"
prompt = "{{.steps.loop.output}} {{json .steps.each.output}} {{json .steps.part.output}} {{json .steps.rest.output}}"
`

const inner = `
[[steps]]
id = "one"
agent = "a"
prompt = "one"
[[steps]]
id = "two"
needs = ["one"]
agent = "b"
prompt = "two after {{.steps.one.output}}"
`

func wholeDefinition(w *world, room string) *workflow.Definition {
	return must(workflow.Load("all", "all.toml", []byte(strings.ReplaceAll(everything, `"room"`, strconv.Quote(room))), workflow.Known{
		Names: []string{"inner"}, Read: func(string) (string, []byte, error) { return "inner.toml", []byte(inner), nil },
	}))(w)
}

// mortal is a store in front of which a process may die: before a write, or after it,
// without learning that it was stored.
type mortal struct {
	wholeStore
	dies func() bool
}

var errDied = errors.New("killed")

func (m mortal) Apply(ctx context.Context, v store.RunView, p workflow.Plan, answer store.Answer) (store.Applied, error) {
	if m.dies() {
		return store.Applied{}, errDied
	}
	a, err := m.wholeStore.Apply(ctx, v, p, answer)
	if err == nil && m.dies() {
		err = errDied
	}
	return a, err
}

func (m mortal) EndDiscussion(ctx context.Context, d store.Discussion, text string) ([]fika.AgentName, error) {
	if m.dies() {
		return nil, errDied
	}
	names, err := m.wholeStore.EndDiscussion(ctx, d, text)
	if err == nil && m.dies() {
		err = errDied
	}
	return names, err
}

// disturbed brings a run to its end while the process that advances it dies at
// moments that seed picks; the next process finds the run because it is due. asked
// counts the turns by request, of which each attempt has one.
func (w *world) disturbed(seed uint64) (answer string, asked map[fika.RequestID]int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	asked = map[fika.RequestID]int{}
	tried := map[string]int{}
	w.answer = func(a fika.AgentName, prompt string) (string, error) {
		switch {
		case prompt == "plan":
			return `["x", "y", "z", "u", "v"]`, nil
		case prompt == "do y" && tried[prompt] == 0:
			tried[prompt]++
			return "", errors.New("busy")
		case prompt == "part x", prompt == "part u":
			return "", errors.New("no key")
		}
		return string(a) + " did " + prompt, nil
	}
	advance := func() {
		if seed > 0 && rnd.IntN(2) == 0 {
			return // it died before doing anything
		}
		s := mortal{w.store, func() bool { return seed > 0 && rnd.IntN(4) == 0 }}
		f := flow.New(flow.Options{
			Runs: s, Outputs: s, Chats: s, Capable: func(context.Context, string, string) string { return "" },
			Wake: func(...fika.AgentName) {}, Said: func(store.Posted, fika.Conversation) {},
		})
		f.AdvanceDue(w.Context())
	}
	room := w.chat(fika.ConversationName(fmt.Sprint("room", seed)))
	run := w.startDefinition(wholeDefinition(w, string(room.Name)), nil)
	for n := 0; !w.run(run).Over(); n++ {
		if n > 2000 {
			w.Fatalf("seed %d: it never ends: %+v", seed, w.steps(run))
		}
		advance()
		w.clock.Advance(2 * time.Second)
		for _, name := range []fika.AgentName{"a", "b", "c"} {
			if c := w.claim(name); c != nil {
				asked[c.Request.ID]++
				w.end(c)
			}
		}
		for _, q := range must(w.store.OpenApprovals(w.Context()))(w) {
			must(w.store.AnswerApproval(w.Context(), q.N, store.ApprovalAnswer{Allow: true, By: "ann", Why: "inner"}))(w)
		}
	}
	if said := w.saidIn(room); len(said) != 5 || len(slices.Compact(slices.Sorted(slices.Values(said)))) != 5 {
		w.Errorf("seed %d: each of five messages is posted once, but: %q", seed, said)
	}
	return w.run(run).Outcome.Answer, asked
}

// TestCrashes: wherever the process that advances a run dies, the run comes to the
// same end as an undisturbed one, and no attempt is asked twice.
func TestCrashes(t *testing.T) {
	onEngines(t, func(w *world) {
		want, calm := w.disturbed(0)
		if want == "" {
			t.Fatal("no answer")
		}
		seeds := uint64(10)
		if testing.Short() {
			seeds = 3
		}
		for seed := uint64(1); seed <= seeds; seed++ {
			got, asked := w.disturbed(seed)
			if got != want || len(asked) != len(calm) {
				t.Errorf("seed %d: %q after %d turns, want %q after %d", seed, got, len(asked), want, len(calm))
			}
			for id, n := range asked {
				if n > 1 {
					t.Errorf("seed %d: %s was asked %d times", seed, id, n)
				}
			}
		}
	})
}

// TestSeveralAdvance: any number of processes may advance a run at once.
func TestSeveralAdvance(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='each'\nagent='a'\nfor_each='1..40'\nmax_parallel=5\nprompt='{{.item}}'\n", nil)
		for n := 0; !w.run(run).Over(); n++ {
			if n > 200 {
				t.Fatalf("it never ends: %+v", w.steps(run)["each"])
			}
			var all sync.WaitGroup
			for range 4 {
				f := w.quietAdvancer()
				all.Go(func() {
					if err := f.Advance(w.Context(), run); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for c := w.claim("a"); c != nil; c = w.claim("a") {
				w.end(c)
			}
		}
		w.want("asked", fmt.Sprint(len(w.asked)), "40")
	})
}

func (w *world) quietAdvancer() *flow.Advancer {
	return flow.New(flow.Options{Runs: w.store, Outputs: w.store, Chats: w.store, Capable: func(context.Context, string, string) string { return "" }, Wake: func(...fika.AgentName) {}, Said: func(store.Posted, fika.Conversation) {}})
}
