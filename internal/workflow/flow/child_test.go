package flow_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

const pair = `
[[steps]]
id = "one"
agent = "b"
prompt = "one"
[[steps]]
id = "two"
agent = "c"
needs = ["one"]
prompt = "two {{.steps.one.output}}"
`

// spaced returns values as text, with a space between them.
func spaced(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }

// waiting is the agent a in a turn that waits for a run.
type waiting struct {
	*world
	turn *store.Claimed
	step int
	run  fika.RequestID
}

// begin has the agent a ask for a run in a turn that itself was asked for at a depth.
func (w *world) begin(text string, d store.Delegation) waiting {
	w.Helper()
	row, err := w.store.Agent(w.Context(), "a")
	w.ok(err)
	_, err = w.store.Accept(w.Context(), store.NewRequest{Kind: fika.AskRequest, Agent: row.ID, Payload: fika.Payload{Prompt: "go", From: "ann", Writer: fika.ByHuman}})
	w.ok(err)
	at := waiting{world: w, turn: w.claim("a")}
	at.again(text, d)
	return at
}

// again asks for a run in the turn.
func (w *waiting) again(text string, d store.Delegation) store.Delegated {
	w.Helper()
	def, err := workflow.Load("pair", "pair.toml", []byte(text), workflow.Known{})
	w.ok(err)
	frozen, err := def.Freeze()
	w.ok(err)
	p, err := w.store.CommitModel(w.Context(), w.turn.Fence, store.ModelCommit{Round: 1, Text: "run it", Calls: []store.PlannedCall{{CallID: "1", Tool: "run_workflow", Args: "{}"}}})
	w.ok(err)
	w.step = p.Steps[0].N
	d.N, d.Run, d.Deadline = w.step, &store.NewRun{Name: "pair", Title: "pair", Definition: frozen, Inputs: []byte("{}"), From: "ann"}, time.Hour
	got, err := w.store.Delegate(w.Context(), w.turn.Fence, []store.Delegation{d})
	w.ok(err)
	w.run = store.ChildID(w.turn.Request.ID, w.step)
	return got
}

func TestARunOfAnAgentBelongsToItsChain(t *testing.T) {
	onEngines(t, func(w *world) {
		at := w.begin(pair, store.Delegation{Rights: &fika.Rights{Tools: []string{"read"}}, Taint: "fetch example.org"})
		q, err := w.store.Request(w.Context(), at.turn.Request.ID)
		w.ok(err)
		w.want("the agent", q.State+" "+fika.RequestState(q.Reason), "waiting child")
		w.want("nothing to claim", w.claim("a"), (*store.Claimed)(nil))
		w.advance(at.run)
		one := w.claim("b")
		w.want("step", spaced(one.Request.Chain == at.turn.Request.Chain, one.Request.Depth, one.Request.Parent == at.run, one.Request.Taint, one.Request.Rights.Tools),
			"true 1 true fetch example.org [read]")
		w.want("asked by", one.Prompt.From+" "+string(one.Prompt.Meta.Writer), "workflow agent")
		w.end(one)
		w.woken = nil
		w.work(at.run)
		w.want("woken", strings.Contains(fmt.Sprint(w.woken), "a"), true)
		run := w.run(at.run)
		w.want("run", spaced(run.State, run.From, run.Spent), spaced(fika.Done, "a", workflow.Spent{Turns: 2, Tokens: 22, Cost: 0.002}))
		view, err := w.store.View(w.Context(), at.run)
		w.ok(err)
		w.want("counted once", view.Spent.Tokens, 22)
		c, err := w.store.Chain(w.Context(), at.turn.Request.Chain)
		w.ok(err)
		w.want("chain", spaced(c.Turns, c.Tokens), "3 22")
		back := w.claim("a")
		got, err := w.store.Await(w.Context(), back.Fence)
		w.ok(err)
		w.want("result", spaced(got.Waiting, got.Children[0].State, got.Children[0].Outcome.Answer, got.Children[0].Taint), "false done c did: two b did: one fetch example.org")
	})
}

// TestAPauseHoldsStepsThatBeginLater: a pause of the conversation in which an agent waits for
// a run holds the run, and not only the steps that it has begun.
func TestAPauseHoldsStepsThatBeginLater(t *testing.T) {
	onEngines(t, func(w *world) {
		at := w.begin(pair, store.Delegation{})
		w.advance(at.run)
		one := w.claim("b")
		_, err := w.store.SetPaused(w.Context(), at.turn.Conversation.ID, true)
		w.ok(err)
		w.end(one)
		w.advance(at.run)
		w.want("paused", w.claim("c"), (*store.Claimed)(nil))
		w.want("the run", w.run(at.run).Paused.IsZero(), false)
		w.woken = nil
		_, err = w.store.SetPaused(w.Context(), at.turn.Conversation.ID, false)
		w.ok(err)
		w.work(at.run)
		w.want("goes on", w.run(at.run).State, fika.Done)

		w.end(w.claim("a"))
		at = w.begin(pair, store.Delegation{})
		_, err = w.store.PauseRun(w.Context(), at.run)
		w.ok(err)
		for _, paused := range []bool{true, false} {
			_, err = w.store.SetPaused(w.Context(), at.turn.Conversation.ID, paused)
			w.ok(err)
		}
		w.want("a person's own pause stays", w.run(at.run).Paused.IsZero(), false)
	})
}

func TestTheLimitsOfTheChainEndTheRun(t *testing.T) {
	onEngines(t, func(w *world) {
		at := w.begin(pair, store.Delegation{})
		w.advance(at.run)
		w.end(w.claim("b"))
		w.advance(at.run)
		_, err := w.store.Claim(w.Context(), w.leases["c"], store.Limits{MaxTurns: 2}, nil)
		w.ok(err)
		run := w.advance(at.run)
		w.want("run", spaced(run.State, w.steps(at.run)["two"].Reason), "failed limit")
		got, err := w.store.Await(w.Context(), w.claim("a").Fence)
		w.ok(err)
		w.want("result", spaced(got.Children[0].State, strings.Contains(got.Children[0].Outcome.Error, "turns")), "failed true")
	})
}

func TestWhoWaitsForARunEndsIt(t *testing.T) {
	onEngines(t, func(w *world) {
		at := w.begin(pair, store.Delegation{})
		w.advance(at.run)
		one := w.claim("b")
		_, err := w.store.Cancel(w.Context(), at.turn.Request.ID, "enough")
		w.ok(err)
		run := w.advance(at.run)
		w.want("told to stop", run.Stop, "stopped")
		_, err = w.store.Finish(w.Context(), one.Fence, store.Finish{State: fika.Cancelled, Reason: "enough"})
		w.ok(err)
		w.want("run", w.advance(at.run).State, fika.Cancelled)
	})
}

func TestARunThatIsLateIsNotWaitedFor(t *testing.T) {
	onEngines(t, func(w *world) {
		at := w.begin(pair, store.Delegation{})
		w.advance(at.run)
		for _, l := range w.leases {
			w.ok(w.store.Renew(w.Context(), l, 3*time.Hour, store.Beat{}))
		}
		w.clock.Advance(time.Hour + 6*time.Second)
		c := w.claim("a")
		got, err := w.store.Await(w.Context(), c.Fence)
		w.ok(err)
		w.want("left", spaced(got.Waiting, got.Children[0].State.Terminal()), "false false")
		run := w.advance(at.run)
		w.want("stopped by", run.Stop, workflow.LimitTime)
	})
}

func TestAnAgentAsksOnlyWhomItMayAsk(t *testing.T) {
	onEngines(t, func(w *world) {
		w.shy = map[fika.AgentName]string{"c": "@c takes no work from @a"}
		at := w.begin(pair, store.Delegation{})
		run := w.work(at.run)
		w.want("run", spaced(run.State, strings.Contains(run.Result.Error, w.shy["c"])), "failed true")
		w.want("c was asked", len(w.askedOf("c")), 0)
		w.want("a person's run", w.work(w.start(pair, nil)).State, fika.Done)
	})
}

func TestRunsDoNotWaitForEachOtherForEver(t *testing.T) {
	onEngines(t, func(w *world) {
		again := strings.ReplaceAll(pair, `"b"`, `"a"`)
		at := w.begin(again, store.Delegation{})
		for range 7 {
			w.advance(at.run)
			at.turn = w.claim("a")
			w.want("waits", len(at.again(again, store.Delegation{}).Children), 1)
		}
		w.advance(at.run)
		at.turn = w.claim("a")
		got := at.again(again, store.Delegation{})
		w.want("refused", spaced(len(got.Children), got.Refused[at.step]), "0 not run: run workflow: 8 runs wait for each other already: pair > pair > pair > pair > pair > pair > pair > pair > pair")
		q, err := w.store.Request(w.Context(), at.turn.Request.ID)
		w.ok(err)
		w.want("still running", q.State, fika.Running)
	})
}
