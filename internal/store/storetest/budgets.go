package storetest

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

// call is the usage of each model call in these tests, and what is reserved for the
// next one.
var call = fika.Usage{Input: 60, Output: 40, Cost: 100}

// budget allows the given number of calls in a window.
func (w *world) budget(scope string, per limit.Per, calls int64) {
	b := &w.limits.Budgets
	b.List = append(b.List, limit.Budget{Scope: scope, Per: per, Amount: limit.Amount{Money: 100 * calls}})
	b.Zone = time.UTC
	b.Call = func(model string, money bool) (limit.Amount, error) {
		if model == "dear" && money {
			return limit.Amount{}, fika.Errorf(fika.Invalid, "reserve", "the model dear has no price")
		}
		return limit.AmountOf(call), nil
	}
}

// pay answers with a call that costs what was reserved.
func (w *world) pay(c store.Claimed) {
	w.Helper()
	must(w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 99, Text: "ok", Usage: call, Model: "m"}, Limits: w.limits}))(w)
}

// stands checks how many calls are spent and reserved in the only budget.
func (w *world) stands(spent, reserved int64) {
	w.Helper()
	all := must(w.Balances(w.ctx, "", w.limits.Budgets))(w)
	var s, r int64
	for _, b := range all {
		s, r = s+b.Spent.Money, r+b.Reserved.Money
	}
	equal(w, "spent", s, 100*spent)
	equal(w, "reserved", r, 100*reserved)
}

var budgets = map[string]func(*world){
	"ten calls of sixteen": func(w *world) {
		w.budget("home", limit.PerMonth, 10)
		var claimed []store.Claimed
		var leases []store.Lease
		for n := range 16 {
			l := w.lease(fika.AgentName(fmt.Sprintf("a%d", n)))
			leases = append(leases, l)
			w.accept(fika.AskRequest, l.Agent, "go")
			if c := must(w.Claim(w.ctx, l, w.limits, nil))(w); c != nil {
				claimed = append(claimed, *c)
			}
		}
		equal(w, "claimed", len(claimed), 10)
		w.stands(0, 10)
		open := must(w.ListRequests(w.ctx, store.RequestFilter{States: []fika.RequestState{fika.Open}}))(w)
		equal(w, "that may yet have room", len(open), 6)
		for _, c := range claimed {
			w.pay(c)
		}
		w.stands(10, 0)
		for _, l := range leases {
			w.nothing(l)
		}
		for _, q := range open {
			r := w.state(q.ID, fika.RequestFailed)
			equal(w, "kind", r.Outcome.ErrorKind, fika.Limit)
			equal(w, "says", strings.Contains(r.Outcome.Error, "the budget of home a month ($0.001) is used up"), true)
		}
		_, err := w.Begin(w.ctx, leases[0], store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Limits: w.limits})
		w.refused(err, fika.Limit)
		equal(w, "requests", len(must(w.ListRequests(w.ctx, store.RequestFilter{}))(w)), 16)
	},
	"what is not used comes back": func(w *world) {
		w.budget("home", limit.PerMonth, 1)
		a, b := w.lease("a"), w.lease("b")
		w.accept(fika.AskRequest, a.Agent, "go")
		w.accept(fika.AskRequest, b.Agent, "go")
		c := w.claim(a)
		w.nothing(b)
		_, err := w.Begin(w.ctx, b, store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Conversation: "x", Limits: w.limits})
		w.refused(err, fika.Limit)
		w.fail(c, fika.RequestFailed) // it was never answered, nor paid for
		w.stands(0, 0)
		c = w.claim(b)
		w.ok(w.HandBack(w.ctx, c.Fence))
		w.stands(0, 0)
		c = w.claim(b)
		w.stands(0, 1)
		w.ok(w.Suspend(w.ctx, c.Fence, fika.WaitPause, time.Time{}))
		w.stands(0, 0)
		w.pay(w.claim(b))
		w.stands(1, 0)
	},
	"an hour waits, and says until when": func(w *world) {
		w.budget("home", limit.PerHour, 1)
		l := w.lease("coder")
		room, hall := w.chat("room"), w.chat("hall")
		w.post(room, "x", "coder")
		w.pay(w.claim(l))
		w.post(room, "y", "coder")
		w.post(hall, "z", "coder")
		ask := w.accept(fika.AskRequest, l.Agent, "q")
		for range 3 {
			w.nothing(l)
		}
		for _, c := range []fika.ConversationID{room.ID, hall.ID, ask.Conversation.ID} {
			equal(w, "notices", w.notices(c, "limit"), 1)
		}
		w.state(ask.Request.ID, fika.Waiting)
		equal(w, "with work", len(must(w.WithWork(w.ctx))(w)), 0)
		_, err := w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Conversation: "c", Limits: w.limits})
		w.refused(err, fika.Limit)
		until := limit.PerHour.Window(w.clock.Now(), time.UTC).Ends
		equal(w, "says", strings.Contains(err.Error(), until.Format("2006-01-02 15:04")), true)
		w.clock.Advance(until.Sub(w.clock.Now()))
		l = w.lease("coder")
		w.pay(w.claim(l))
		w.nothing(l)
		equal(w, "notices of another hour", w.notices(room.ID, "limit")+w.notices(hall.ID, "limit")+w.notices(ask.Conversation.ID, "limit"), 5)
		w.limits.Budgets.List[0].Money = 1000
		w.nothing(l)
		w.ok(w.LookAgain(w.ctx)) // the budget was raised
		w.pay(w.claim(l))
		w.pay(w.claim(l))
		w.nothing(l)
	},
	"what was spent while a budget did not hold counts": func(w *world) {
		for _, scope := range []string{"home", "agent:coder"} {
			w.budget(scope, limit.PerTotal, 10)
		}
		l := w.lease("coder")
		pay := func() {
			w.accept(fika.AskRequest, l.Agent, "x")
			w.pay(w.claim(l))
		}
		pay()
		held := w.limits.Budgets
		w.limits.Budgets = limit.Budgets{}
		pay()
		w.limits.Budgets = held
		w.stands(2, 0) // once in each
		w.ok(w.CatchUp(w.ctx, "", held))
		w.stands(4, 0)
		w.ok(w.CatchUp(w.ctx, "", held))
		w.stands(4, 0)
		pay()
		w.stands(6, 0)
	},
	"a month ends what is posted": func(w *world) {
		w.budget("chat:room", limit.PerMonth, 1)
		l := w.lease("coder")
		room, hall := w.chat("room"), w.chat("hall")
		w.post(room, "x", "coder")
		w.pay(w.claim(l))
		w.post(room, "y", "coder")
		w.post(hall, "z", "coder")
		w.pay(w.claim(l))
		w.nothing(l)
		equal(w, "notices", w.notices(room.ID, "limit"), 1)
		equal(w, "notices elsewhere", w.notices(hall.ID, "limit"), 0)
		equal(w, "pending", w.pending(room.ID), 0)
		w.limits.Budgets.List[0].Money = 1000
		must(w.ContinueChain(w.ctx, room.ID))(w)
		w.pay(w.claim(l))
	},
	"later calls of a turn": func(w *world) {
		w.budget("home", limit.PerDay, 3)
		a, b := w.lease("a"), w.lease("b")
		for _, l := range []store.Lease{a, b} {
			w.accept(fika.AskRequest, l.Agent, "go")
		}
		c, d := w.claim(a), w.claim(b)
		w.stands(0, 2)
		step := func(c store.Claimed, round int) store.Exceeded {
			w.Helper()
			must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: round, Text: "x", Usage: call, Model: "m", Calls: []store.PlannedCall{{CallID: "1", Tool: "t"}}}))(w)
			return must(w.Exceeded(w.ctx, c.Fence, w.limits))(w)
		}
		equal(w, "room for a third", step(c, 1), store.Exceeded{})
		w.stands(1, 2)
		x := step(d, 1)
		equal(w, "waits for what is under way", x.Until.Sub(w.clock.Now()) <= 2*time.Second, true)
		w.stands(2, 1)
		w.ok(w.Suspend(w.ctx, d.Fence, fika.WaitLimit, x.Until))
		w.pay(c)
		w.stands(3, 0)
		w.clock.Advance(3 * time.Second)
		w.nothing(w.lease("b"))
		equal(w, "waits for the day", w.state(d.Request.ID, fika.Waiting).Reason, "limit")
	},
	"a call that was dearer": func(w *world) {
		w.budget("home", limit.PerTotal, 5)
		l := w.lease("a")
		w.accept(fika.AskRequest, l.Agent, "go")
		c := w.claim(l)
		u := fika.Usage{Input: 300, Cost: 300}
		p := must(w.CommitModel(w.ctx, c.Fence, store.ModelCommit{Round: 1, Text: "x", Usage: u, Model: "m"}))(w)
		equal(w, "booked", p.Booked[0], limit.Booked{Scope: "home", Per: limit.PerTotal, Used: limit.AmountOf(u), Spent: limit.AmountOf(u)})
		w.stands(3, 3)
		x := must(w.Exceeded(w.ctx, c.Fence, w.limits))(w)
		equal(w, "fails", x.Kind == fika.Limit && x.Until.IsZero(), true)
		w.stands(3, 0)
	},
	"what a killed process had reserved": func(w *world) {
		w.budget("home", limit.PerMonth, 1)
		a, b := w.lease("a"), w.lease("b")
		ask := w.accept(fika.AskRequest, a.Agent, "go")
		w.accept(fika.AskRequest, b.Agent, "go")
		w.claim(a)
		w.nothing(b)
		w.clock.Advance(2 * time.Minute) // nobody renews the lease
		b = w.lease("b")
		w.stands(0, 0)
		w.pay(w.claim(b))
		a = w.lease("a")
		rec := must(w.Recover(w.ctx, a))(w)
		equal(w, "recovered", rec.Claimed[0].Request.ID, ask.Request.ID)
		w.stands(1, 1)
		w.pay(rec.Claimed[0]) // one call too many, and no more
		w.stands(2, 0)
		w.accept(fika.AskRequest, a.Agent, "again")
		w.nothing(a)
	},
	"each user alone": func(w *world) {
		w.budget("user", limit.PerMonth, 1)
		l := w.lease("coder")
		for n, who := range []string{"ann", "bob", "ann"} {
			must(w.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: l.Agent, Payload: fika.Payload{Prompt: fmt.Sprint(n), From: who, Writer: fika.ByHuman}}))(w)
		}
		w.pay(w.claim(l))
		w.pay(w.claim(l))
		w.nothing(l)
		all := must(w.Balances(w.ctx, "", w.limits.Budgets))(w)
		equal(w, "users", fmt.Sprint(all[0].Holder, all[0].Spent.Money, all[1].Holder, all[1].Spent.Money), "ann100bob100")
	},
	"each chain alone": func(w *world) {
		w.budget("chain", limit.PerTotal, 2)
		a, b := w.lease("a"), w.lease("b")
		room := w.chat("room")
		for range 2 {
			w.post(room, "x", "a")
			for _, l := range []store.Lease{a, b} {
				c := w.claim(l)
				next := map[fika.AgentID]fika.AgentName{a.Agent: "b", b.Agent: "a"}[l.Agent]
				must(w.Finish(w.ctx, c.Fence, store.Finish{
					State: fika.Done, Final: &store.ModelCommit{Round: 9, Text: "@" + string(next), Usage: call, Model: "m"}, Notify: []fika.AgentName{next}, Limits: w.limits,
				}))(w)
			}
			w.nothing(a)
		}
	},
	"a budget begins with what was spent before": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.TaskRequest, l.Agent, "go")
		w.pay(w.claim(l))
		for _, scope := range []string{"home", "agent:coder", "user"} {
			w.limits = store.Limits{}
			w.budget(scope, limit.PerDay, 1)
			if scope != "user" {
				w.stands(1, 0)
			}
			w.accept(fika.TaskRequest, l.Agent, scope)
			w.nothing(l)
			w.stands(1, 0)
		}
	},
	"a summary outside of a turn": func(w *world) {
		summary := func(c store.Claimed) {
			a := must(w.Agent(w.ctx, c.Agent.Name))(w)
			must(w.AppendSummary(w.ctx, a, c.Conversation.ID, "made short", fika.EntryMeta{UpTo: 1, Summary: "s"}, "m", call))(w)
		}
		w.budget("home", limit.PerDay, 4)
		w.budget("agent:coder", limit.PerDay, 4)
		l := w.lease("coder")
		w.accept(fika.TaskRequest, l.Agent, "go")
		c := w.claim(l)
		w.pay(c)
		w.stands(2, 0) // one in each
		summary(c)
		w.stands(4, 0)
		rows := must(w.UsageSince(w.ctx, time.Time{}))(w)
		equal(w, "in the ledger", rows[0].Usage.Cost, 200)
		w.budget("home", limit.PerMonth, 4)
		w.accept(fika.TaskRequest, l.Agent, "again")
		w.pay(w.claim(l)) // the new budget's account opens with the ledger's sum
		w.stands(9, 0)
	},
	"no price": func(w *world) {
		w.budget("home", limit.PerDay, 1)
		l := w.lease("coder")
		r := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: l.Agent, Payload: fika.Payload{Prompt: "x", Model: "dear"}}))(w)
		w.nothing(l)
		equal(w, "says", w.state(r.Request.ID, fika.RequestFailed).Outcome.Error, "reserve: the model dear has no price")
		equal(w, "kind", w.state(r.Request.ID, fika.RequestFailed).Outcome.ErrorKind, fika.Invalid)
	},
}
