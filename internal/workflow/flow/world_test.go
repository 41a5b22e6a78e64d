package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/store/pgtest"
	"fika/internal/store/storetest"
	"fika/internal/workflow"
	"fika/internal/workflow/flow"
)

// servers is the PostgreSQL server of this test binary.
var servers pgtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Stop()
	os.Exit(code)
}

// onEngines runs a test on each available engine.
func onEngines(t *testing.T, test func(*world)) {
	t.Helper()
	for name, options := range map[string]func(testing.TB) store.Options{
		"sqlite":   func(t testing.TB) store.Options { return store.Options{Path: storetest.Fresh(t)} },
		"postgres": func(t testing.TB) store.Options { return store.Options{URL: servers.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) { test(newWorld(t, options(t))) })
	}
}

// world is a real store with an advancer, and with agents whose turns give the
// answers that the test chooses.
type world struct {
	*testing.T
	store  *store.Store
	clock  *storetest.Clock
	flow   *flow.Advancer
	leases map[fika.AgentName]store.Lease
	asked  []string // agent and prompt of each turn, in order
	woken  []fika.AgentName
	kept   map[string]string         // texts, by path
	shy    map[fika.AgentName]string // why an agent may not be asked by others
	// answer says how a turn ends.
	answer func(agent fika.AgentName, prompt string) (string, error)
}

func newWorld(t *testing.T, opt store.Options) *world {
	t.Helper()
	w := &world{T: t, clock: storetest.NewClock(), leases: map[fika.AgentName]store.Lease{}, kept: map[string]string{}}
	opt.Now = w.clock.Now
	var err error
	w.store, err = store.Open(t.Context(), opt)
	w.ok(err)
	t.Cleanup(func() { _ = w.store.Close() })
	for _, name := range []fika.AgentName{"a", "b", "c"} {
		row, err := w.store.EnsureAgent(t.Context(), store.NewAgent{Name: name})
		w.ok(err)
		w.leases[name], err = w.store.Acquire(t.Context(), row.ID, "test", time.Hour, true)
		w.ok(err)
	}
	w.answer = func(agent fika.AgentName, prompt string) (string, error) {
		return string(agent) + " did: " + prompt, nil
	}
	w.flow = w.advancer()
	return w
}

// advancer returns an advancer that shares no memory with another.
func (w *world) advancer() *flow.Advancer { return w.advancerOf(w.store) }

// wholeStore is everything that an advancer needs of a store.
type wholeStore interface {
	flow.Runs
	flow.Outputs
	flow.Discussions
}

// advancerOf returns an advancer that works on the given store.
func (w *world) advancerOf(s wholeStore) *flow.Advancer {
	return flow.New(flow.Options{
		Runs: s, Outputs: s, Chats: s, Capable: func(context.Context, string, string) string { return "c" },
		Keep: func(agent fika.AgentName, name, text string) (string, error) {
			path := "/home/" + string(agent) + "/" + name
			w.kept[path] = text
			return path, nil
		},
		MayAsk: func(_ context.Context, _, to fika.AgentName) string { return w.shy[to] },
		Wake:   func(names ...fika.AgentName) { w.woken = append(w.woken, names...) }, Said: func(store.Posted, fika.Conversation) {},
	})
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// start begins a run of a workflow given as text.
func (w *world) start(text string, given map[string]string) fika.RequestID {
	w.Helper()
	d, err := workflow.Load("test", "test.toml", []byte(text), workflow.Known{})
	w.ok(err)
	return w.startDefinition(d, given)
}

func (w *world) startDefinition(d *workflow.Definition, given map[string]string) fika.RequestID {
	w.Helper()
	bound, err := d.Bind(given, nil)
	w.ok(err)
	frozen, err := d.Freeze()
	w.ok(err)
	inputs, err := json.Marshal(bound)
	w.ok(err)
	n := store.NewRun{Name: d.Name, Definition: frozen, Inputs: inputs, From: "ann", Title: "test"}
	if d.Limits.Time > 0 {
		n.Deadline = w.clock.Now().Add(d.Limits.Time)
	}
	r, err := w.store.Start(w.Context(), n)
	w.ok(err)
	return r.ID
}

// advance does everything that can be done now.
func (w *world) advance(run fika.RequestID) store.Run {
	w.Helper()
	w.ok(w.flow.Advance(w.Context(), run))
	return w.run(run)
}

func (w *world) run(id fika.RequestID) store.Run {
	w.Helper()
	r, err := w.store.Run(w.Context(), id)
	w.ok(err)
	return r
}

// claim takes the agent's next piece of work; nil if there is none.
func (w *world) claim(name fika.AgentName) *store.Claimed {
	w.Helper()
	c, err := w.store.Claim(w.Context(), w.leases[name], store.Limits{MaxTurns: 200, MaxDepth: 100}, nil)
	w.ok(err)
	if c != nil && c.Prompt != nil {
		w.asked = append(w.asked, string(name)+": "+c.Prompt.Content)
	}
	return c
}

// end ends a turn as the test chooses.
func (w *world) end(c *store.Claimed) {
	w.Helper()
	prompt := ""
	if c.Prompt != nil {
		prompt = c.Prompt.Content
	}
	text, err := w.answer(c.Agent.Name, prompt)
	f := store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: text, Usage: fika.Usage{Input: 10, Output: 1, Cost: 1000}, Model: "m"}}
	if err != nil {
		f = store.Finish{State: fika.RequestFailed, Reason: err.Error(), Outcome: fika.Outcome{ErrorKind: fika.KindOf(err)}}
	}
	_, err = w.store.Finish(w.Context(), c.Fence, f)
	w.ok(err)
}

// work lets all agents work until a run is over or nothing is left to do.
func (w *world) work(run fika.RequestID) store.Run {
	w.Helper()
	r := w.advance(run)
	for idle := false; !idle && !r.Over(); {
		idle = true
		for _, name := range []fika.AgentName{"a", "b", "c"} {
			if c := w.claim(name); c != nil {
				idle = false
				w.end(c)
				r = w.advance(run)
			}
		}
	}
	return r
}

func (w *world) steps(run fika.RequestID) map[string]store.RunStep {
	w.Helper()
	list, err := w.store.RunSteps(w.Context(), run, time.Time{})
	w.ok(err)
	out := map[string]store.RunStep{}
	for _, s := range list {
		out[s.Path] = s
	}
	return out
}

func (w *world) want(what string, got, want any) {
	w.Helper()
	if g, x := fmt.Sprint(got), fmt.Sprint(want); g != x {
		w.Fatalf("%s: %s, want %s", what, g, x)
	}
}

// askedOf returns the prompts that an agent got.
func (w *world) askedOf(name string) []string {
	var out []string
	for _, a := range w.asked {
		if text, ok := strings.CutPrefix(a, name+": "); ok {
			out = append(out, text)
		}
	}
	return out
}

// due returns the runs that somebody has to advance.
func (w *world) due(ctx context.Context) []fika.RequestID {
	w.Helper()
	ids, err := w.store.Due(ctx, "", 10)
	w.ok(err)
	return ids
}
