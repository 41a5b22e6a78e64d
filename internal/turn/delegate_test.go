package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// giver is a delegating tool as the engine sees one.
type giver struct{ w *world }

func (g giver) Spec() tool.Spec {
	return tool.Spec{Name: "delegate", Description: "delegate", Effect: fika.Idempotent,
		Parameters: json.RawMessage(`{"type":"object","properties":{"agent":{"type":"string"},"prompt":{"type":"string"}},"required":["agent","prompt"]}`)}
}

func (g giver) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Errorf("nobody can wait here"), nil
}

func (g giver) Delegate(ctx context.Context, c tool.Call) (tool.Delegation, error) {
	var args struct{ Agent, Prompt string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Delegation{}, err
	}
	a, err := g.w.store.Agent(ctx, fika.AgentName(args.Agent))
	return tool.Delegation{Agent: a.ID, Prompt: args.Prompt, Deadline: time.Minute}, err
}

func (g giver) Report(_ tool.Call, agent fika.AgentName, r fika.Request) tool.Result {
	if r.State != fika.Done {
		return tool.Errorf(fmt.Sprintf("%s: %s", agent, orDeleted(r)))
	}
	return tool.Result{Text: string(agent) + " says " + r.Outcome.Answer}
}

func orDeleted(r fika.Request) string {
	if r.ID == "" {
		return "deleted"
	}
	return string(r.State) + " " + r.Reason
}

// give is a call of the tool.
func give(id, agent, prompt string) llm.Call {
	return call(id, "delegate", fmt.Sprintf(`{"agent":%q,"prompt":%q}`, agent, prompt))
}

func newGiving(t *testing.T, others ...fika.AgentName) *world {
	w := newWorld(t)
	w.tools = append(w.tools, giver{w})
	for _, o := range others {
		w.agent(o)
	}
	return w
}

// works lets another agent take its next task and answer it with its prompt,
// or end it otherwise. It gives the prompt, or "" when there was nothing to do.
func (w *world) works(name fika.AgentName, end fika.RequestState) string {
	w.Helper()
	l, err := w.store.Acquire(w.Context(), w.agent(name).ID, "other", time.Hour, true)
	w.ok(err)
	c, err := w.store.Claim(w.Context(), l, store.Limits{}, nil)
	w.ok(err)
	if c == nil {
		return ""
	}
	f := store.Finish{State: end, Reason: "test"}
	if end == fika.Done {
		f.Final = &store.ModelCommit{Round: 1, Text: c.Prompt.Content + ", done"}
	}
	_, err = w.store.Finish(w.Context(), c.Fence, f)
	w.ok(err)
	return c.Prompt.Content
}

func (w *world) texts(c fika.ConversationID) string {
	w.Helper()
	var list []string
	for _, e := range w.results(c) {
		list = append(list, e.Meta.ToolCallID+" "+e.Content)
	}
	return strings.Join(list, "; ")
}

func TestDelegate(t *testing.T) {
	w := newGiving(t, "b", "c")
	w.add("look", fika.Pure, nil)
	w.model.says(calls(give("1", "b", "left"), give("2", "c", "right"), call("3", "look", "{}"), give("4", "b", "more")), text("all of it"))
	c := w.ask("go")
	res := w.run(c)
	if res.State != fika.Waiting || len(res.Children) != 2 || res.Reason != "waiting for @b, @c" {
		t.Fatalf("got %+v", res)
	}
	if w.works("c", fika.Done) != "right" || w.works("b", fika.RequestFailed) != "left" {
		t.Fatal("not what was delegated")
	}
	if len(w.results(c.Conversation.ID)) != 0 {
		t.Error("a result before all have ended")
	}
	res = w.run(w.claim())
	if res.State != fika.Waiting || len(res.Children) != 1 {
		t.Fatalf("the second: %+v", res)
	}
	w.works("b", fika.Done)
	if res = w.run(w.claim()); res.State != fika.Done {
		t.Fatalf("ended as %+v", res)
	}
	if got, want := w.texts(c.Conversation.ID), "1 b: failed test; 2 c says right, done; 3 look says {}; 4 b says more, done"; got != want {
		t.Errorf("results\n%s, want\n%s", got, want)
	}
	if n := len(w.model.asked); n != 2 {
		t.Errorf("%d model calls", n)
	}
	w.whole(c.Conversation.ID)
}

// TestDelegateRefused: a refused call gets its result in its place, even next to
// accepted ones, and no hook is asked about a call twice.
func TestDelegateRefused(t *testing.T) {
	w := newGiving(t, "b")
	w.model.says(calls(give("1", "nobody", "x"), give("2", "b", "x"), give("3", "arya", "x"), give("4", "b", "secret")), calls(give("5", "arya", "x")), text("end"))
	asked := map[string]int{}
	cfg := w.config()
	cfg.Hooks = hooks(func(at hook.Point, p hook.Payload) (hook.Payload, error) {
		if at == hook.PreTool {
			asked[string(p["arguments"].(json.RawMessage))]++
			if strings.Contains(fmt.Sprintf("%s", p["arguments"]), "secret") {
				return hook.Payload{"block": true, "message": "no"}, nil
			}
		}
		return p, nil
	})
	c := w.ask("go")
	for _, want := range []fika.RequestState{fika.Waiting, fika.Done} {
		res, err := turn.New(cfg).Run(t.Context(), c)
		w.ok(err)
		if res.State != want {
			t.Fatalf("got %+v", res)
		}
		if want == fika.Waiting {
			w.works("b", fika.Done)
			c = w.claim()
		}
	}
	got := w.texts(c.Conversation.ID)
	for _, want := range []string{`1 agent "nobody" not found`, "2 b says x, done", "3 not delegated: that is you", "4 refused by a hook: no", "5 not delegated"} {
		if !strings.Contains(got, want) {
			t.Errorf("results lack %q:\n%s", want, got)
		}
	}
	for args, n := range asked {
		if n > 1 && strings.Contains(args, "nobody") {
			t.Errorf("a hook was asked %d times about %s", n, args)
		}
	}
	w.whole(c.Conversation.ID)
}

func TestDelegateInTheForeground(t *testing.T) {
	w := newGiving(t, "b")
	w.model.says(calls(give("1", "b", "x")), text("alone then"))
	c := w.foreground("go")
	if res := w.run(c); res.State != fika.Done {
		t.Fatalf("got %+v", res)
	}
	if got := w.texts(c.Conversation.ID); got != "1 nobody can wait here" {
		t.Errorf("results: %s", got)
	}
}

func TestDelegateWithoutPermissionAnyMore(t *testing.T) {
	w := newGiving(t, "b")
	w.model.says(calls(give("1", "b", "x")), calls(give("2", "b", "y")), text("end"))
	c := w.ask("go")
	w.run(c)
	w.works("b", fika.Done)
	w.perms.Off = []string{"delegate"}
	w.run(w.claim())
	got := w.texts(c.Conversation.ID)
	if !strings.HasPrefix(got, "1 b says x, done; 2 ") || !strings.Contains(got, "not permitted") {
		t.Errorf("results: %s", got)
	}
}

// TestDelegateDeadline: nobody answers and nobody enforces the deadline.
func TestDelegateDeadline(t *testing.T) {
	w := newGiving(t, "b", "c")
	w.model.says(calls(give("1", "b", "x"), give("2", "c", "y")), text("without you"))
	c := w.ask("go")
	w.run(c)
	w.works("c", fika.Done)
	w.clock = 2 * time.Minute
	if res := w.run(w.claim()); res.State != fika.Done {
		t.Fatalf("got %+v", res)
	}
	if got := w.texts(c.Conversation.ID); got != "1 b: cancelled deadline; 2 c says y, done" {
		t.Errorf("results: %s", got)
	}
	if w.works("b", fika.Done) != "" {
		t.Error("the task is still there")
	}
}

// TestDelegateCancelled: when the parent ends, its children end, and the transcript is
// one that a model would accept.
func TestDelegateCancelled(t *testing.T) {
	w := newGiving(t, "b")
	w.model.says(calls(give("1", "b", "x")))
	c := w.ask("go")
	w.run(c)
	_, err := w.store.Cancel(t.Context(), c.Request.ID, "enough")
	w.ok(err)
	if w.works("b", fika.Done) != "" {
		t.Error("the task is still there")
	}
	w.state(c.Request.ID, fika.Cancelled)
	w.whole(c.Conversation.ID)
}

// giving is a request that delegates, worked by processes that die.
type giving struct {
	*world
	claimed store.Claimed
	worked  map[string]int // tasks that were worked, by prompt
}

func newDying(t *testing.T) *giving {
	w := &giving{world: newGiving(t, "b", "c"), worked: map[string]int{}}
	script := []llm.Response{
		calls(give("1", "b", "one"), give("2", "c", "two"), give("3", "arya", "myself")),
		calls(give("4", "c", "three")), text("the end"),
	}
	w.model.answer = func(_ context.Context, _ int, r llm.Request) (llm.Response, error) {
		if err := valid(r.Messages); err != nil {
			t.Errorf("the model is asked with an invalid window: %v", err)
		}
		round := 0
		for _, m := range r.Messages {
			if len(m.Calls) > 0 {
				round++
			}
		}
		return script[round], nil
	}
	w.claimed = w.ask("go")
	return w
}

// live works until the process dies or the request is over. The others work
// whenever the request waits for them.
func (w *giving) live(d *death) (over bool) {
	w.Helper()
	for {
		cfg := w.config()
		cfg.Store = turn.StoreOf(d.store(w.store))
		res, err := turn.New(cfg).Run(w.Context(), w.claimed)
		switch {
		case err != nil && d.died():
			return false
		case err != nil:
			w.Fatalf("error without a death: %v", err)
		case res.State == fika.Done:
			return true
		case res.State != fika.Waiting:
			w.Fatalf("ended as %+v", res)
		}
		w.others()
		w.claimed = w.claim()
	}
}

func (w *giving) others() {
	w.Helper()
	for _, name := range []fika.AgentName{"b", "c"} {
		for {
			p := w.works(name, fika.Done)
			if p == "" {
				break
			}
			w.worked[p]++
		}
	}
}

// revive gives the request to the next owner: it recovers what ran, or finds
// what waits. It reports false when the dead one had finished after all.
func (w *giving) revive() bool {
	w.Helper()
	w.takeOver()
	rec, err := w.store.Recover(w.Context(), w.lease)
	w.ok(err)
	if len(rec.Dead) > 0 {
		w.Fatal("given up")
	}
	if len(rec.Claimed) > 0 {
		w.claimed = rec.Claimed[0]
		return true
	}
	r, err := w.store.Request(w.Context(), w.claimed.Request.ID)
	w.ok(err)
	if r.State != fika.Waiting {
		w.state(r.ID, fika.Done)
		return false
	}
	w.others()
	w.claimed = w.claim()
	return true
}

func (w *giving) check() {
	w.Helper()
	w.state(w.claimed.Request.ID, fika.Done)
	w.whole(w.claimed.Conversation.ID)
	if got := fmt.Sprint(w.worked); got != "map[one:1 three:1 two:1]" {
		w.Errorf("worked: %s", got)
	}
	want := "1 b says one, done; 2 c says two, done; 3 not delegated: that is you; do it yourself; 4 c says three, done"
	if got := w.texts(w.claimed.Conversation.ID); got != want {
		w.Errorf("results\n%s, want\n%s", got, want)
	}
	kids, err := w.store.Children(w.Context(), w.claimed.Request.ID)
	w.ok(err)
	all, err := w.store.ListRequests(w.Context(), store.RequestFilter{})
	w.ok(err)
	if len(kids) != 3 || len(all) != 4 {
		w.Errorf("%d children, %d requests", len(kids), len(all))
	}
}

// TestDieWhileDelegating ends the owner at each operation of a turn that
// delegates, just before and just after it.
func TestDieWhileDelegating(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 3
	}
	for _, after := range []bool{false, true} {
		deaths := 0
		for k := 1; ; k += step {
			w := newDying(t)
			if w.live(&death{left: k, after: after}) {
				w.check()
				break
			}
			deaths++
			if w.revive() && !w.live(&death{left: -1}) {
				t.Fatalf("operation %d: the next owner died too", k)
			}
			w.check()
			_ = w.store.Close()
			if t.Failed() {
				t.Fatalf("died at operation %d, after it: %v", k, after)
			}
		}
		t.Logf("%d deaths survived (after the operation: %v)", deaths, after)
		if deaths < 15/step {
			t.Errorf("only %d operations: the turn is not what this test is about", deaths)
		}
	}
}
