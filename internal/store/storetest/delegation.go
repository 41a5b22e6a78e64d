package storetest

import (
	"fmt"
	"time"

	"fika"
	"fika/internal/store"
)

// family is a parent with as many delegate steps as there are other agents.
type family struct {
	parent store.Claimed
	lease  store.Lease
	steps  []fika.Step
	leases []store.Lease
}

// delegate makes the agent boss delegate to each of the others in one transaction.
func (w *world) delegate(deadline time.Duration, others ...fika.AgentName) family {
	w.Helper()
	f := family{lease: w.lease("boss")}
	w.accept(fika.AskRequest, f.lease.Agent, "have it done")
	f.parent = w.claim(f.lease)
	effects := make([]fika.Effect, len(others))
	for i, name := range others {
		effects[i] = fika.Idempotent
		f.leases = append(f.leases, w.lease(name))
	}
	f.steps = w.plan(f.parent, 1, effects...)
	d := must(w.Delegate(w.ctx, f.parent.Fence, w.delegations(f, deadline)))(w)
	equal(w, "children", len(d.Children), len(others))
	equal(w, "refused", len(d.Refused), 0)
	return f
}

func (w *world) delegations(f family, deadline time.Duration) []store.Delegation {
	var list []store.Delegation
	for i, l := range f.leases {
		list = append(list, store.Delegation{N: f.steps[i].N, Agent: l.Agent, Prompt: fmt.Sprintf("part %d", i+1), Deadline: deadline})
	}
	return list
}

func (w *world) child(f family, i int) fika.Request {
	w.Helper()
	return must(w.Request(w.ctx, store.ChildID(f.parent.Request.ID, f.steps[i].N)))(w).Request
}

var delegateTests = map[string]func(*world){
	"children are made and the parent suspended in one": func(w *world) {
		f := w.delegate(time.Minute, "a", "b")
		p := w.state(f.parent.Request.ID, fika.Waiting)
		equal(w, "reason", p.Reason, string(fika.WaitChild))
		equal(w, "attempts", p.Attempts, 0)
		for i := range 2 {
			k := w.child(f, i)
			equal(w, "parent", k.Parent, p.ID)
			equal(w, "chain", k.Chain, p.Chain)
			equal(w, "depth", k.Depth, p.Depth+1)
			equal(w, "kind", k.Kind, fika.TaskRequest)
			equal(w, "deadline", k.Deadline, w.clock.Now().Add(time.Minute))
			equal(w, "asker", k.Payload.From, "boss")
			equal(w, "isolated", k.Conversation == p.Conversation, false)
		}
		for i, s := range must(w.Steps(w.ctx, p.ID))(w)[1:] {
			equal(w, "step", s.State, fika.StepStarted)
			equal(w, "its child", fika.RequestID(s.PreHash), store.ChildID(p.ID, f.steps[i].N))
		}
		equal(w, "children", len(must(w.Children(w.ctx, p.ID))(w)), 2)
		w.nothing(f.lease)
	},
	"a parent continues when all children have ended": func(w *world) {
		f := w.delegate(time.Minute, "a", "b")
		one := w.claim(f.leases[0])
		equal(w, "prompt", one.Prompt.Content+" "+one.Prompt.From, "part 1 boss")
		equal(w, "rung", fmt.Sprint(w.answer(one, "the one").Notified), "[boss]")
		w.nothing(f.lease)
		w.fail(w.claim(f.leases[1]), fika.RequestFailed)
		c := w.claim(f.lease)
		equal(w, "the same", c.Request.ID, f.parent.Request.ID)
		equal(w, "resumed", c.Resumed, true)
		equal(w, "waited", c.Waited, fika.WaitChild)
		got := must(w.Await(w.ctx, c.Fence))(w)
		equal(w, "waiting", got.Waiting, false)
		equal(w, "outcomes", fmt.Sprint(got.Children[0].Outcome.Answer, got.Children[0].N, got.Children[1].State, got.Children[1].AgentName),
			fmt.Sprint("the one", f.steps[0].N, fika.RequestFailed, "b"))
		for _, s := range f.steps {
			must(w.CommitTool(w.ctx, c.Fence, s.N, store.ToolCommit{Text: "x"}))(w)
		}
		equal(w, "left to await", len(must(w.Await(w.ctx, c.Fence))(w).Children), 0)
		w.answer(c, "done")
		w.whole(c.Conversation.ID)
	},
	"the agent does other work while it waits": func(w *world) {
		f := w.delegate(time.Minute, "a")
		room := w.chat("room")
		w.post(room, "@boss hi", "boss")
		w.answer(w.claim(f.lease), "hi")
		w.accept(fika.TaskRequest, f.lease.Agent, "something else")
		w.answer(w.claim(f.lease), "done")
		w.accept(fika.AskRequest, f.lease.Agent, "in the same conversation")
		w.nothing(f.lease)
	},
	"each waits for the other crosswise": func(w *world) {
		a, b := w.lease("a"), w.lease("b")
		w.accept(fika.AskRequest, a.Agent, "x")
		w.accept(fika.AskRequest, b.Agent, "y")
		ca, cb := w.claim(a), w.claim(b)
		must(w.Delegate(w.ctx, ca.Fence, []store.Delegation{{N: w.plan(ca, 1, fika.Idempotent)[0].N, Agent: b.Agent, Deadline: time.Minute}}))(w)
		must(w.Delegate(w.ctx, cb.Fence, []store.Delegation{{N: w.plan(cb, 1, fika.Idempotent)[0].N, Agent: a.Agent, Deadline: time.Minute}}))(w)
		ka, kb := w.claim(a), w.claim(b)
		w.answer(ka, "for b")
		w.answer(kb, "for a")
		equal(w, "a continues", w.claim(a).Request.ID, ca.Request.ID)
		equal(w, "b continues", w.claim(b).Request.ID, cb.Request.ID)
	},
	"nobody waits for who waits for them": func(w *world) {
		f := w.delegate(time.Minute, "a")
		mid := w.claim(f.leases[0])
		steps := w.plan(mid, 1, fika.Idempotent, fika.Idempotent, fika.Idempotent)
		low := w.lease("low")
		d := must(w.Delegate(w.ctx, mid.Fence, []store.Delegation{
			{N: steps[0].N, Agent: f.lease.Agent, Deadline: time.Minute},
			{N: steps[1].N, Agent: low.Agent, Deadline: time.Minute},
			{N: steps[2].N, Agent: mid.Request.Agent, Deadline: time.Minute},
		}))(w)
		equal(w, "made and refused", fmt.Sprint(len(d.Children), d.Refused[steps[0].N] != "", d.Refused[steps[2].N] != ""), "1 true true")
		c := w.claim(low)
		equal(w, "depth", c.Request.Depth, 2)
		n := w.plan(c, 1, fika.Idempotent)[0].N
		d = must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: n, Agent: f.lease.Agent, Deadline: time.Minute}}))(w)
		equal(w, "children", len(d.Children), 0)
		w.state(c.Request.ID, fika.Running)
		equal(w, "step", must(w.Steps(w.ctx, c.Request.ID))(w)[1].State, fika.StepPlanned)
	},
	"a signal delegates nothing": func(w *world) {
		l, other := w.lease("boss"), w.lease("a")
		w.accept(fika.AskRequest, l.Agent, "x")
		c := w.claim(l)
		d := []store.Delegation{{N: w.plan(c, 1, fika.Idempotent)[0].N, Agent: other.Agent, Deadline: time.Minute}}
		must(w.SetPaused(w.ctx, c.Conversation.ID, true))(w)
		equal(w, "paused", must(w.Delegate(w.ctx, c.Fence, d))(w).Signal.Paused, true)
		must(w.Cancel(w.ctx, c.Request.ID, "no"))(w)
		equal(w, "cancelled", must(w.Delegate(w.ctx, c.Fence, d))(w).Signal.Cancel, true)
		w.nothing(other)
	},
	"a step has one child": func(w *world) {
		f := w.delegate(time.Minute, "a")
		w.answer(w.claim(f.leases[0]), "x")
		c := w.claim(f.lease)
		_, err := w.Delegate(w.ctx, c.Fence, w.delegations(f, time.Minute))
		w.refused(err, fika.Conflict)
		w.nothing(f.leases[0])
	},
	"a run in the foreground cannot wait": func(w *world) {
		c := w.begin(w.lease("boss"), "x")
		_, err := w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: w.plan(c, 1, fika.Idempotent)[0].N, Agent: w.lease("a").Agent, Deadline: time.Minute}})
		w.refused(err, fika.Invalid)
	},
	"a deadline ends a child, not its parent": func(w *world) {
		f := w.delegate(time.Minute, "a", "b")
		w.answer(w.claim(f.leases[1]), "in time")
		w.clock.Advance(time.Minute)
		equal(w, "expired", len(must(w.Expire(w.ctx))(w)), 1)
		k := w.child(f, 0)
		equal(w, "child", fmt.Sprint(k.State, " ", k.Reason), "cancelled deadline")
		c := w.claim(f.lease)
		equal(w, "waiting", must(w.Await(w.ctx, c.Fence))(w).Waiting, false)
	},
	"a deadline needs nobody to enforce it": func(w *world) {
		f := w.delegate(time.Minute, "a", "b")
		w.claim(f.leases[1]) // and then dies
		w.clock.Advance(time.Minute)
		w.nothing(f.lease)
		w.clock.Advance(time.Minute)
		c := w.claim(f.lease)
		got := must(w.Await(w.ctx, c.Fence))(w)
		equal(w, "outcomes", fmt.Sprint(got.Waiting, got.Children[0].State, got.Children[1].State, got.Children[1].CancelAt.IsZero()), "falsecancelledrunningfalse")
		w.answer(c, "without them")
	},
	"a parent woken too early waits on": func(w *world) {
		f := w.delegate(time.Minute, "a")
		must(w.SetPaused(w.ctx, f.parent.Conversation.ID, true))(w)
		w.clock.Advance(2 * time.Minute)
		w.nothing(f.lease)
		must(w.SetPaused(w.ctx, f.parent.Conversation.ID, false))(w)
		c := w.claim(f.lease)
		equal(w, "waiting", must(w.Await(w.ctx, c.Fence))(w).Waiting, false)
	},
	"a child's deadline is within its parent's": func(w *world) {
		l, other := w.lease("boss"), w.lease("a")
		soon := w.clock.Now().Add(time.Second)
		must(w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: l.Agent, Deadline: soon}))(w)
		c := w.claim(l)
		d := must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: w.plan(c, 1, fika.Idempotent)[0].N, Agent: other.Agent, Deadline: time.Hour}}))(w)
		equal(w, "deadline", d.Children[0].Deadline, soon)
		w.clock.Advance(time.Second)
		must(w.Expire(w.ctx))(w)
		w.state(c.Request.ID, fika.Cancelled)
		w.state(d.Children[0].ID, fika.Cancelled)
		w.whole(c.Conversation.ID)
	},
	"cancel goes all the way down": func(w *world) {
		f := w.delegate(time.Minute, "a")
		mid := w.claim(f.leases[0])
		low, lowest := w.lease("low"), w.lease("lowest")
		steps := w.plan(mid, 1, fika.Idempotent, fika.Idempotent)
		d := must(w.Delegate(w.ctx, mid.Fence, []store.Delegation{
			{N: steps[0].N, Agent: low.Agent, Deadline: time.Minute}, {N: steps[1].N, Agent: lowest.Agent, Deadline: time.Minute},
		}))(w)
		run := w.claim(low)
		equal(w, "state", must(w.Cancel(w.ctx, f.parent.Request.ID, "enough"))(w).State, fika.Cancelled)
		w.state(mid.Request.ID, fika.Cancelled)
		equal(w, "reason", w.state(d.Children[1].ID, fika.Cancelled).Reason, "enough")
		equal(w, "who runs is told", must(w.Signal(w.ctx, run.Fence))(w).Reason, "enough")
		w.whole(f.parent.Conversation.ID)
		w.nothing(lowest)
	},
	"stop of a chat cancels what was delegated in it": func(w *world) {
		l, other := w.lease("boss"), w.lease("a")
		room := w.chat("room")
		w.post(room, "x", "boss")
		c := w.claim(l)
		d := must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: w.plan(c, 1, fika.Idempotent)[0].N, Agent: other.Agent, Deadline: time.Minute}}))(w)
		must(w.StopChat(w.ctx, room.ID, ""))(w)
		w.state(d.Children[0].ID, fika.Cancelled)
		w.nothing(l)
		w.nothing(other)
	},
	"pause of a chat holds what was delegated in it": func(w *world) {
		l, mid, low := w.lease("boss"), w.lease("a"), w.lease("b")
		room := w.chat("room")
		w.post(room, "x", "boss")
		c := w.claim(l)
		must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: w.plan(c, 1, fika.Idempotent)[0].N, Agent: mid.Agent, Deadline: time.Hour}}))(w)
		k := w.claim(mid)
		must(w.Delegate(w.ctx, k.Fence, []store.Delegation{{N: w.plan(k, 1, fika.Idempotent)[0].N, Agent: low.Agent, Deadline: time.Hour}}))(w)
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		w.nothing(low)
		equal(w, "rung", fmt.Sprint(must(w.SetPaused(w.ctx, room.ID, false))(w)), "[b]")
		w.answer(w.claim(low), "ok")
		w.answer(w.claim(mid), "ok")
		w.claim(l)
	},
	"a pause does not outlive what it held": func(w *world) {
		l, other := w.lease("boss"), w.lease("a")
		room := w.chat("room")
		w.post(room, "x", "boss")
		c := w.claim(l)
		d := must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: w.plan(c, 1, fika.Idempotent)[0].N, Agent: other.Agent, Deadline: time.Hour}}))(w)
		must(w.SetPaused(w.ctx, room.ID, true))(w)
		must(w.Cancel(w.ctx, c.Request.ID, ""))(w)
		must(w.SetPaused(w.ctx, room.ID, false))(w)
		r := must(w.Retry(w.ctx, d.Children[0].ID))(w)
		equal(w, "again", w.claim(other).Request.ID, r.ID)
	},
	"what is deleted leaves no work behind": func(w *world) {
		f := w.delegate(time.Minute, "a", "b")
		w.ok(w.DeleteConversation(w.ctx, w.child(f, 0).Conversation))
		w.answer(w.claim(f.leases[1]), "ok")
		c := w.claim(f.lease)
		got := must(w.Await(w.ctx, c.Fence))(w)
		equal(w, "children", fmt.Sprint(len(got.Children), got.Children[0].N == f.steps[1].N, got.Waiting), "1 true false")
		w.answer(c, "ok")
		f = w.delegate(time.Minute, "c")
		w.ok(w.DeleteConversation(w.ctx, f.parent.Conversation.ID))
		w.nothing(f.leases[0])
	},
	"a parent that crashes after its children have ended continues": func(w *world) {
		f := w.delegate(time.Minute, "a")
		w.answer(w.claim(f.leases[0]), "x")
		w.claim(f.lease)
		rec := w.recover(w.lease("boss"))
		equal(w, "claimed", len(rec.Claimed), 1)
		got := must(w.Await(w.ctx, rec.Claimed[0].Fence))(w)
		equal(w, "answer", got.Children[0].Outcome.Answer, "x")
	},
	"who starts later finds the parent too": func(w *world) {
		f := w.delegate(time.Minute, "a")
		equal(w, "recovered", len(w.recover(w.lease("boss")).Claimed), 0)
		w.answer(w.claim(f.leases[0]), "x")
		equal(w, "work", fmt.Sprint(must(w.WithWork(w.ctx))(w)[0].Agent), "boss")
		w.claim(w.lease("boss"))
	},
	"delegated turns count in the chain": func(w *world) {
		w.limits.MaxTurns = 2
		f := w.delegate(time.Minute, "a", "b")
		w.answer(w.claim(f.leases[0]), "x")
		w.nothing(f.leases[1])
		k := w.child(f, 1)
		equal(w, "outcome", fmt.Sprint(k.State, " ", k.Outcome.ErrorKind), "failed "+string(fika.Limit))
		w.claim(f.lease)
	},
}
