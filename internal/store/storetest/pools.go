package storetest

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

// pool creates a pool of n members and takes their leases.
func (w *world) pool(name fika.AgentName, n int) (fika.Agent, []store.Lease) {
	w.Helper()
	pool := w.agent(name)
	var ids []fika.AgentID
	var leases []store.Lease
	for i := range n {
		l := w.lease(fika.AgentName(fmt.Sprintf("%s-%d", name, i+1)))
		ids, leases = append(ids, l.Agent), append(leases, l)
	}
	w.ok(w.KeepPool(w.ctx, pool.ID, "", ids))
	return must(w.Store.Agent(w.ctx, name))(w), leases
}

// asks makes a person ask an agent and returns the name of the agent that got the
// request.
func (w *world) asks(person string, to fika.AgentID) fika.AgentName {
	w.Helper()
	acc := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: to, Payload: fika.Payload{Prompt: "x", From: person, Writer: fika.ByHuman}}))(w)
	return must(w.Request(w.ctx, acc.Request.ID))(w).AgentName
}

var poolTests = map[string]func(*world){
	"a task is taken by whoever is free": func(w *world) {
		pool, members := w.pool("coder", 3)
		equal(w, "instances", pool.Instances, 3)
		n := store.NewRequest{ID: "first", Kind: fika.TaskRequest, Agent: pool.ID, Payload: fika.Payload{Prompt: "1"}}
		must(w.Accept(w.ctx, n))(w)
		second := w.accept(fika.TaskRequest, pool.ID, "2")
		equal(w, "there is work", must(w.Look(w.ctx, members[2]))(w).Work, true)
		equal(w, "of the pool", fmt.Sprint(must(w.WithWork(w.ctx))(w)[0].Agent), "coder")
		c := w.claim(members[2])
		equal(w, "taken", fmt.Sprintf("%s %v %v", c.Request.ID, c.Request.Asked() == pool.ID, c.Conversation.Agent == members[2].Agent), "first true true")
		equal(w, "names", fmt.Sprintf("%s %s", must(w.Request(w.ctx, "first"))(w).AgentName, must(w.Request(w.ctx, "first"))(w).AskedName()), "coder-3 coder")
		equal(w, "delivered again", must(w.Accept(w.ctx, n))(w).Repeat, true)
		other := w.claim(members[0])
		equal(w, "the next", other.Request.ID, second.Request.ID)
		w.nothing(members[1])
		w.answer(c, "done")
		w.answer(other, "done")
		equal(w, "idle", must(w.Look(w.ctx, members[1]))(w).Work, false)
		w.whole(c.Conversation.ID)
	},
	"what nobody may begin stays the pool's": func(w *world) {
		pool, members := w.pool("coder", 2)
		task := w.accept(fika.TaskRequest, pool.ID, "1")
		w.ok(w.SetDesired(w.ctx, members[0].Agent, fika.DesiredStopped))
		w.nothing(members[0])
		equal(w, "agent", w.state(task.Request.ID, fika.Open).Agent, pool.ID)
		must(w.Cancel(w.ctx, task.Request.ID, "enough"))(w)
		w.nothing(members[1])
		w.budget("home", "total", 0)
		w.limits.Budgets.List[0].Tokens, w.limits.Backed = 1, true
		w.accept(fika.TaskRequest, pool.ID, "2")
		w.nothing(members[1])
	},
	"a killed member's task continues with it, and the others take the rest": func(w *world) {
		pool, members := w.pool("coder", 2)
		w.accept(fika.TaskRequest, pool.ID, "1")
		w.accept(fika.TaskRequest, pool.ID, "2")
		lost := w.claim(members[0])
		again := w.lease("coder-1")
		w.answer(w.claim(members[1]), "done")
		w.nothing(members[1])
		rec := must(w.Recover(w.ctx, again))(w)
		equal(w, "recovered", rec.Claimed[0].Request.ID, lost.Request.ID)
		w.answer(rec.Claimed[0], "done")
	},
	"a person speaks to one member until a reset": func(w *world) {
		pool, members := w.pool("coder", 2)
		equal(w, "ann", w.asks("ann", pool.ID), "coder-1")
		equal(w, "bob", w.asks("bob", pool.ID), "coder-2")
		equal(w, "ann again", w.asks("ann", pool.ID), "coder-1")
		equal(w, "an agent of that name", func() fika.AgentName {
			acc := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: pool.ID, Payload: fika.Payload{Prompt: "x", From: "ann", Writer: fika.ByAgent}}))(w)
			return must(w.Request(w.ctx, acc.Request.ID))(w).AgentName
		}(), "coder-2")
		before := must(w.ActiveAsk(w.ctx, members[0].Agent))(w)
		w.answer(w.claim(members[0]), "1")
		w.answer(w.claim(members[0]), "2")
		equal(w, "one conversation", len(w.entries(before.ID)), 4)
		was, found, err := w.Unbind(w.ctx, pool.ID, "ann")
		w.ok(err)
		equal(w, "was", fmt.Sprintf("%s %v", was.Name, found), "coder-1 true")
		equal(w, "afresh", must(w.ActiveAsk(w.ctx, members[0].Agent))(w).ID == before.ID, false)
		_, found, err = w.Unbind(w.ctx, pool.ID, "ann")
		w.ok(err)
		equal(w, "twice", found, false)
		equal(w, "then the least busy", w.asks("ann", pool.ID), "coder-1")
		named := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: pool.ID, Conversation: "ask_coder_job", Payload: fika.Payload{Prompt: "x", From: "eve"}}))(w)
		again := must(w.Accept(w.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: pool.ID, Conversation: "ask_coder_job", Payload: fika.Payload{Prompt: "x", From: "ann"}}))(w)
		equal(w, "a named conversation is one member's", again.Request.Agent, named.Request.Agent)
	},
	"a mention is a member's": func(w *world) {
		_, members := w.pool("coder", 2)
		room := w.chat("room")
		told := func(names ...fika.AgentName) string { return fmt.Sprint(w.post(room, "x", names...).Notified) }
		equal(w, "first", told("coder"), "[coder-1]")
		equal(w, "the less busy one", told("coder"), "[coder-2]")
		w.answer(w.claim(members[0]), "1")
		w.answer(w.claim(members[1]), "2")
		equal(w, "both", told("coder-1", "coder"), "[coder-1 coder-2]")
		w.answer(w.claim(members[0]), "I need @coder", "coder")
		equal(w, "not itself", w.pending(room.ID), 2)
		c := w.claim(members[1])
		equal(w, "the other", c.Covers, 2)
		w.answer(c, "yes")
		_, alone := w.pool("writer", 1)
		equal(w, "a pool of one", told("writer"), "[writer-1]")
		equal(w, "says its own name", len(w.answer(w.claim(alone[0]), "@writer", "writer").Notified), 0)
		equal(w, "a message", fmt.Sprint(must(w.Deliver(w.ctx, store.Send{To: must(w.Store.Agent(w.ctx, "writer"))(w).ID, ID: "m", From: "ann", Writer: fika.ByHuman, Content: "x"}))(w).Notified), "[writer-1]")
		equal(w, "once", must(w.Deliver(w.ctx, store.Send{To: must(w.Store.Agent(w.ctx, "writer"))(w).ID, ID: "m", From: "ann", Writer: fika.ByHuman, Content: "x"}))(w).Repeat, true)
	},
	"a pool that changes": func(w *world) {
		before := w.agent("coder")
		ask := w.accept(fika.AskRequest, before.ID, "from before")
		pool, members := w.pool("coder", 3)
		_, err := w.Acquire(w.ctx, pool.ID, "p", time.Minute, true)
		w.refused(err, fika.Invalid)
		equal(w, "asked before", w.state(ask.Request.ID, fika.Open).Agent, members[0].Agent)
		equal(w, "ann", w.asks("ann", pool.ID), "coder-2")
		equal(w, "bob", w.asks("bob", pool.ID), "coder-3")
		task := w.accept(fika.TaskRequest, pool.ID, "task")
		w.ok(w.KeepPool(w.ctx, pool.ID, "", []fika.AgentID{members[0].Agent, members[1].Agent}))
		w.ok(w.KeepPool(w.ctx, pool.ID, "", []fika.AgentID{members[1].Agent, members[0].Agent}))
		w.nothing(members[2])
		equal(w, "bob again", w.asks("bob", pool.ID) == "coder-3", false)
		list := must(w.ListRequests(w.ctx, store.RequestFilter{Agent: members[2].Agent}))(w)
		equal(w, "with who left", len(list), 0)
		w.ok(w.KeepPool(w.ctx, pool.ID, "", nil))
		w.nothing(w.lease("coder-4"))
		l := w.lease("coder")
		equal(w, "no pool any more", w.claim(l).Request.Asked(), pool.ID)
		equal(w, "and its task", strings.Contains(fmt.Sprint(w.state(task.Request.ID, fika.Open).Agent, w.state(task.Request.ID, fika.Open).State), string(pool.ID)), true)
	},
	"a budget of the pool is one for all its members": func(w *world) {
		pool, members := w.pool("coder", 2)
		w.budget("agent:coder", limit.PerDay, 2)
		for range 3 {
			w.accept(fika.TaskRequest, pool.ID, "go")
		}
		w.pay(w.claim(members[0]))
		w.pay(w.claim(members[1]))
		w.nothing(members[0])
		w.nothing(members[1])
		w.stands(2, 0)
		w.clock.Advance(24 * time.Hour)
		w.pay(w.claim(members[0]))
	},
	"nobody in a pool waits for the pool": func(w *world) {
		pool, members := w.pool("coder", 2)
		other := w.lease("other")
		w.accept(fika.TaskRequest, pool.ID, "go")
		c := w.claim(members[0])
		round := 0
		give := func(c store.Claimed, to fika.AgentID) store.Delegated {
			round++
			return must(w.Delegate(w.ctx, c.Fence, []store.Delegation{{N: w.plan(c, round, fika.Unsafe)[0].N, Agent: to, Prompt: "do", Deadline: time.Hour}}))(w)
		}
		equal(w, "refused", len(give(c, pool.ID).Refused), 1)
		equal(w, "given", len(give(c, other.Agent).Children), 1)
		equal(w, "refused below", len(give(w.claim(other), pool.ID).Refused), 1)
	},
}

// pools makes eight members, each in a store of its own, take the tasks of one pool
// while people ask and mention it: each task is worked once, and none is left.
func (r *race) pools() {
	const many = 40
	pool := r.agent(r.name("pool", 0))
	var leases []store.Lease
	var ids []fika.AgentID
	for n := range r.stores {
		a := r.agent(r.name("pool-member", n))
		leases, ids = append(leases, r.lease(a)), append(ids, a.ID)
	}
	r.all(func(_ int, s *store.Store) error { return s.KeepPool(r.ctx, pool.ID, "", ids) })
	room, err := r.stores[0].CreateChat(r.ctx, fika.ConversationName(r.name("pool", 1)))
	r.check(err)
	for n := range many {
		_, err := r.stores[0].Accept(r.ctx, store.NewRequest{ID: fika.RequestID(r.name("pooled", n)), Kind: fika.TaskRequest, Agent: pool.ID, Payload: fika.Payload{Prompt: "x"}})
		r.check(err)
	}
	taken, bound := &tally{}, &tally{}
	var later tally
	done := make(chan struct{})
	close(done)
	r.all(func(i int, s *store.Store) error {
		acc, err := s.Accept(r.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: pool.ID, Payload: fika.Payload{Prompt: "x", From: "ann", Writer: fika.ByHuman}})
		if err != nil {
			return err
		}
		bound.add(string(acc.Request.Agent))
		later.add(string(acc.Request.ID))
		if _, err := s.Post(r.ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: fmt.Sprint(i), Notify: []fika.AgentName{pool.Name}}); err != nil {
			return err
		}
		return work(r.ctx, s, leases[i], store.Limits{}, done, func(c store.Claimed) { taken.add(string(c.Request.ID)) })
	})
	// Work the requests that reached a member after its last look.
	for i, l := range leases {
		r.check(work(r.ctx, r.stores[i], l, store.Limits{}, done, func(c store.Claimed) { taken.add(string(c.Request.ID)) }))
	}
	taken.once(r)
	r.count("members that ann speaks to", bound.len(), 1)
	for n := range many {
		r.count("taken", taken.n[r.name("pooled", n)], 1)
	}
	for id := range later.n {
		r.count("asked", taken.n[id], 1)
	}
	notes, err := r.stores[0].Notifications(r.ctx, store.NotificationFilter{Conversation: room.ID})
	r.check(err)
	r.count("mentions", len(notes), len(r.stores))
	for _, n := range notes {
		if n.State != fika.NotificationDone {
			r.Errorf("mention %d is %s", n.Seq, n.State)
		}
	}
}
