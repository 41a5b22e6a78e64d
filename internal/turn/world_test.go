package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/store/storetest"
	"fika/internal/tool"
	"fika/internal/turn"
	"fika/internal/turn/prompt"
)

// world is a store with one agent, the tools and model of a test, and a record of what
// the turns did. A failure in a helper ends the test.
type world struct {
	*testing.T
	store *store.Store
	lease store.Lease
	model *model
	tools []tool.Tool
	perms tool.Permissions
	now   func() time.Time
	clock time.Duration // added to the store's clock

	mu     sync.Mutex
	events []turn.Event
	ran    []string // tool calls in the order of their end, as "name args"
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, model: &model{}}
	var err error
	w.store, err = store.Open(t.Context(), store.Options{
		Path: storetest.Fresh(t), Now: func() time.Time { return time.Now().Add(w.clock) },
	})
	w.ok(err)
	t.Cleanup(func() { _ = w.store.Close() })
	w.takeOver()
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// agent gives another agent's row.
func (w *world) agent(name fika.AgentName) fika.Agent {
	w.Helper()
	a, err := w.store.EnsureAgent(w.Context(), store.NewAgent{Name: name})
	w.ok(err)
	return a
}

// takeOver makes a new owner of the agent arya; whatever an older one still holds is
// void.
func (w *world) takeOver() {
	w.Helper()
	var err error
	w.lease, err = w.store.Acquire(w.Context(), w.agent("arya").ID, "test", time.Hour, true)
	w.ok(err)
}

func (w *world) accept(kind fika.RequestKind, prompt string) fika.RequestID {
	w.Helper()
	a, err := w.store.Accept(w.Context(), store.NewRequest{Kind: kind, Agent: w.lease.Agent, Payload: fika.Payload{Prompt: prompt, From: "ann"}})
	w.ok(err)
	return a.Request.ID
}

func (w *world) claim() store.Claimed {
	w.Helper()
	c, err := w.store.Claim(w.Context(), w.lease, store.Limits{}, nil)
	w.ok(err)
	if c == nil {
		w.Fatal("nothing to claim")
	}
	return *c
}

// ask accepts and claims a prompt.
func (w *world) ask(prompt string) store.Claimed {
	w.Helper()
	w.accept(fika.AskRequest, prompt)
	return w.claim()
}

// foreground begins a one-shot prompt.
func (w *world) foreground(prompt string) store.Claimed {
	w.Helper()
	c, err := w.store.Begin(w.Context(), w.lease, store.NewRequest{
		Kind: fika.RunRequest, Origin: fika.Foreground, Payload: fika.Payload{Prompt: prompt, From: "ann"},
	})
	w.ok(err)
	return c
}

// config returns what the engines of the test are made with; each test changes what it
// is about.
func (w *world) config() turn.Config {
	set, err := tool.NewSet(w.tools, w.perms)
	w.ok(err)
	return turn.Config{
		Store: turn.StoreOf(w.store), Model: w.model, ModelID: "m", Tools: set, Prompt: system("you are a test"),
		Call:     tool.Call{Agent: "arya", Context: "arya", Username: "ann"},
		Observer: turn.ObserverFunc(func(e turn.Event) { w.mu.Lock(); defer w.mu.Unlock(); w.events = append(w.events, e) }),
		Now:      w.now,
	}
}

// run works a claimed request with the plain configuration.
func (w *world) run(c store.Claimed) turn.Result {
	w.Helper()
	res, err := turn.New(w.config()).Run(w.Context(), c)
	w.ok(err)
	return res
}

func (w *world) state(id fika.RequestID, want fika.RequestState) fika.Request {
	w.Helper()
	r, err := w.store.Request(w.Context(), id)
	w.ok(err)
	if r.State != want {
		w.Fatalf("request is %s (%s), want %s", r.State, r.Reason, want)
	}
	return r.Request
}

func (w *world) entries(c fika.ConversationID) []fika.Entry {
	w.Helper()
	all, err := w.store.Entries(w.Context(), store.EntryQuery{Conversation: c})
	w.ok(err)
	return all
}

// results are the tool results of a conversation, in order.
func (w *world) results(c fika.ConversationID) []fika.Entry {
	w.Helper()
	return slices.DeleteFunc(w.entries(c), func(e fika.Entry) bool { return e.Type != fika.ToolResult })
}

// whole checks what must hold of every conversation at rest: each tool call
// has exactly one result, each finished request exactly one final answer.
func (w *world) whole(c fika.ConversationID) {
	w.Helper()
	calls, results, finals := map[fika.EntryID]int{}, map[fika.EntryID]int{}, map[fika.RequestID]int{}
	for _, e := range w.entries(c) {
		switch {
		case e.Type == fika.ToolCall:
			calls[e.ID]++
		case e.Type == fika.ToolResult:
			results[e.ReplyTo]++
		case e.Meta.Final:
			finals[e.Request]++
		}
	}
	for id := range calls {
		if results[id] != 1 {
			w.Errorf("tool call %s has %d results", id, results[id])
		}
	}
	for id, n := range finals {
		if n != 1 {
			w.Errorf("request %s has %d final answers", id, n)
		}
	}
}

// told are the events of one kind.
func (w *world) told(k turn.EventKind) []turn.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.events), func(e turn.Event) bool { return e.Kind != k })
}

func (w *world) calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ran)
}

type system string

func (s system) Prompt(context.Context, store.Claimed) (prompt.Prompt, error) {
	return prompt.Prompt{System: []prompt.Section{{Title: "PROMPT", Text: string(s)}}}, nil
}

// model answers by a function of the request and keeps what it was asked.
type model struct {
	mu     sync.Mutex
	answer func(ctx context.Context, n int, r llm.Request) (llm.Response, error)
	asked  []llm.Request
}

func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	m.mu.Lock()
	m.asked = append(m.asked, r)
	n := len(m.asked)
	m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return llm.Response{}, fika.Wrap(fika.Interrupted, "model", err)
	}
	res, err := m.answer(ctx, n, r)
	if err == nil {
		err = emit(llm.Event{Kind: llm.TextDelta, Text: res.Text})
	}
	return res, err
}

// says answers with these responses, one after the other.
func (m *model) says(list ...llm.Response) {
	m.answer = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		if n > len(list) {
			return llm.Response{}, fika.Errorf(fika.Provider, "model", "the script has only %d answers", len(list))
		}
		return list[n-1], nil
	}
}

func text(s string) llm.Response {
	return llm.Response{Text: s, Usage: fika.Usage{Input: 10, Output: 2}}
}

func calls(list ...llm.Call) llm.Response {
	return llm.Response{Calls: list, Usage: fika.Usage{Input: 10, Output: 5}}
}

func call(id, name, args string) llm.Call { return llm.Call{ID: id, Name: name, Args: args} }

// fake is a tool that does what its function says.
type fake struct {
	w      *world
	name   string
	effect fika.Effect
	byName bool
	params json.RawMessage // nil: an object with x
	do     func(context.Context, tool.Call) (tool.Result, error)
}

func (f *fake) Spec() tool.Spec {
	params := f.params
	if params == nil {
		params = json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)
	}
	return tool.Spec{Name: f.name, Description: f.name, Effect: f.effect, ByName: f.byName, Parameters: params}
}

func (f *fake) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	r, err := tool.Result{Text: f.name + " says " + string(c.Args)}, error(nil)
	if f.do != nil {
		r, err = f.do(ctx, c)
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.ran = append(f.w.ran, f.name+" "+string(c.Args))
	return r, err
}

// file is a verifiable tool: it appends to a text that its hash tells.
type file struct {
	fake
	mu   *sync.Mutex
	text *string
}

func (f *file) Hash(context.Context, tool.Call) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d:%s", len(*f.text), *f.text), nil
}

// add gives the world a tool.
func (w *world) add(name string, effect fika.Effect, do func(context.Context, tool.Call) (tool.Result, error)) {
	w.tools = append(w.tools, &fake{w: w, name: name, effect: effect, do: do})
}

// hooks answers firings by a function.
type hooks func(hook.Point, hook.Payload) (hook.Payload, error)

func (h hooks) Fire(_ context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	return h(at, p)
}
