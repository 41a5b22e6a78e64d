package storetest

import (
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

var agentTests = map[string]func(*world){
	"ensure makes once and updates": func(w *world) {
		a := w.agent("coder")
		b := must(w.EnsureAgent(w.ctx, store.NewAgent{Name: "coder", HomeID: "h", Description: "writes"}))(w)
		equal(w, "id", b.ID, a.ID)
		c := w.agent("coder") // nothing given, nothing lost
		equal(w, "description", c.Description, "writes")
		equal(w, "home", c.HomeID, "h")
	},
	"an agent goes to another home only while nobody holds it": func(w *world) {
		from := func(home string) string {
			return must(w.EnsureAgent(w.ctx, store.NewAgent{Name: "coder", HomeID: home}))(w).HomeID
		}
		equal(w, "made", from("one"), "one")
		l := w.lease("coder")
		equal(w, "held", from("two"), "one")
		w.ok(w.Renew(w.ctx, l, time.Minute, store.Beat{}))
		w.ok(w.Release(w.ctx, l))
		equal(w, "free", from("two"), "two")
		w.lease("coder")
		w.clock.Advance(time.Hour)
		equal(w, "held by nobody who lives", from("one"), "one")
	},
	"unknown names are not found": func(w *world) {
		_, err := w.Agent(w.ctx, "nobody")
		w.refused(err, fika.NotFound)
	},
	"list is by name": func(w *world) {
		w.agent("zoe")
		w.agent("adam")
		all := must(w.ListAgents(w.ctx))(w)
		equal(w, "number", len(all), 2)
		equal(w, "first", all[0].Name, "adam")
	},
	"wanting it running clears a failed state": func(w *world) {
		a := w.agent("coder")
		w.ok(w.SetState(w.ctx, a.ID, fika.AgentFailed, "crashed 5 times"))
		w.ok(w.SetDesired(w.ctx, a.ID, fika.DesiredRunning))
		a = must(w.Agent(w.ctx, "coder"))(w)
		equal(w, "state", a.State, fika.AgentStopped)
		equal(w, "reason", a.StateReason, "")
		equal(w, "desired", a.Desired, fika.DesiredRunning)
	},
	"rename keeps the id and refuses taken names": func(w *world) {
		a := w.agent("coder")
		w.agent("taken")
		w.refused(w.RenameAgent(w.ctx, a.ID, "taken"), fika.Conflict)
		w.ok(w.RenameAgent(w.ctx, a.ID, "writer"))
		equal(w, "id", must(w.Agent(w.ctx, "writer"))(w).ID, a.ID)
	},
	"delete takes its conversations along, not while it is owned": func(w *world) {
		l := w.lease("coder")
		run := w.begin(l, "hello")
		w.answer(run, "hi")
		room := w.chat("room")
		w.post(room, "@coder", "coder")
		w.refused(w.DeleteAgent(w.ctx, l.Agent), fika.Locked)
		w.ok(w.Release(w.ctx, l))
		w.ok(w.DeleteAgent(w.ctx, l.Agent))
		_, err := w.ConversationByID(w.ctx, run.Conversation.ID)
		w.refused(err, fika.NotFound)
		_, err = w.Request(w.ctx, run.Request.ID)
		w.refused(err, fika.NotFound)
		equal(w, "pending in the chat", w.pending(room.ID), 0)
		equal(w, "messages of the chat", len(w.entries(room.ID)), 1)
	},
	"who is there, and who is busy or stopped": func(w *world) {
		busy, idle := w.lease("busy"), w.agent("idle")
		w.begin(busy, "hello")
		w.ok(w.SetDesired(w.ctx, idle.ID, fika.DesiredFinish))
		room := w.chat("room")
		w.ok(w.Join(w.ctx, room.ID, "ann"))
		in, got, err := w.Company(w.ctx, room.ID, []fika.AgentName{"idle", "busy", "nobody"})
		w.ok(err)
		equal(w, "in the room", strings.Join(in, " "), "ann")
		equal(w, "number", len(got), 2)
		equal(w, "busy", got[0], store.Standing{Name: "busy", State: got[0].State, Busy: true})
		equal(w, "idle", got[1], store.Standing{Name: "idle", State: got[1].State, Desired: fika.DesiredFinish})
		in, got, err = w.Company(w.ctx, room.ID, nil)
		w.ok(err)
		equal(w, "of nobody", len(got), 0)
		equal(w, "in the room", len(in), 1)
	},
	"the active ask is made once": func(w *world) {
		a := w.agent("coder")
		c := must(w.ActiveAsk(w.ctx, a.ID))(w)
		equal(w, "again", must(w.ActiveAsk(w.ctx, a.ID))(w).ID, c.ID)
		equal(w, "kind", c.Kind, fika.Ask)
	},
	"reset and switch": func(w *world) {
		a := w.agent("coder")
		old := must(w.ActiveAsk(w.ctx, a.ID))(w)
		fresh := must(w.ResetAsk(w.ctx, a.ID))(w)
		if fresh.ID == old.ID {
			w.Fatal("reset kept the conversation")
		}
		equal(w, "active", must(w.ActiveAsk(w.ctx, a.ID))(w).ID, fresh.ID)
		equal(w, "old status", must(w.ConversationByID(w.ctx, old.ID))(w).Status, fika.Completed)
		w.ok(w.SwitchAsk(w.ctx, a.ID, old.ID))
		equal(w, "active", must(w.ActiveAsk(w.ctx, a.ID))(w).ID, old.ID)
		equal(w, "old status", must(w.ConversationByID(w.ctx, old.ID))(w).Status, fika.Active)
		w.refused(w.SwitchAsk(w.ctx, a.ID, w.chat("room").ID), fika.NotFound)
		other := must(w.ActiveAsk(w.ctx, w.agent("other").ID))(w)
		w.refused(w.SwitchAsk(w.ctx, a.ID, other.ID), fika.NotFound)
		equal(w, "ask conversations", len(must(w.AskConversations(w.ctx, a.ID))(w)), 2)
	},
}

var leaseTests = map[string]func(*world){
	"each acquisition is a new epoch": func(w *world) {
		a := w.agent("coder")
		one := must(w.Acquire(w.ctx, a.ID, "1@x", time.Minute, false))(w)
		_, err := w.Acquire(w.ctx, a.ID, "2@x", time.Minute, false)
		w.refused(err, fika.Locked)
		two := must(w.Acquire(w.ctx, a.ID, "2@x", time.Minute, true))(w)
		equal(w, "epoch", two.Epoch, one.Epoch+1)
		w.refused(w.Renew(w.ctx, one, time.Minute, store.Beat{}), fika.Lost)
		w.ok(w.Renew(w.ctx, two, time.Minute, store.Beat{State: fika.AgentBusy, Processed: 3}))
		got := must(w.Agent(w.ctx, "coder"))(w)
		equal(w, "state", got.State, fika.AgentBusy)
		equal(w, "processed", got.Processed, 3)
	},
	"an epoch that was counted twice is not the same lease": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "x")
		twin := l
		twin.ID = "another"
		w.refused(w.Renew(w.ctx, twin, time.Minute, store.Beat{}), fika.Lost)
		_, err := w.Claim(w.ctx, twin, store.Limits{}, nil)
		w.refused(err, fika.Lost)
		_, err = w.Recover(w.ctx, twin)
		w.refused(err, fika.Lost)
		w.ok(w.Release(w.ctx, twin))
		w.answer(w.claim(l), "ok")
	},
	"the hub looks for idle owners": func(w *world) {
		idle := func() (names string) {
			w.Helper()
			for _, one := range must(w.ListIdle(w.ctx))(w) {
				names += string(one.Agent) + " "
			}
			return names
		}
		a, b := w.lease("coder"), w.lease("tester")
		equal(w, "starting", idle(), "")
		for _, l := range []store.Lease{a, b} {
			w.ok(w.Renew(w.ctx, l, time.Minute, store.Beat{State: fika.AgentIdle}))
		}
		equal(w, "both", idle(), "coder tester ")
		w.accept(fika.AskRequest, a.Agent, "x")
		equal(w, "one has work", idle(), "tester ")
		must(w.SetAllPaused(w.ctx, true))(w)
		equal(w, "nobody may begin anything", idle(), "coder tester ")
		must(w.SetAllPaused(w.ctx, false))(w)
		w.answer(w.claim(a), "ok")
		w.ok(w.SetDesired(w.ctx, b.Agent, fika.DesiredFinish))
		equal(w, "one is to stop", idle(), "coder ")

		until := func(name fika.AgentName) time.Time { return must(w.Agent(w.ctx, name))(w).LeaseUntil }
		was := until("coder")
		renew := func(d time.Duration) int {
			w.Helper()
			return len(must(w.RenewIdle(w.ctx, []store.LeaseID{a.ID, "none"}, d))(w))
		}
		equal(w, "renewed", renew(time.Second), 1)
		equal(w, "never shortened", until("coder"), was)
		equal(w, "renewed", renew(time.Hour), 1)
		if now := until("coder"); now.Sub(was) < 50*time.Minute {
			w.Errorf("renewed until %s, after %s", now, was)
		}
		w.ok(w.Release(w.ctx, a))
		equal(w, "given back", renew(time.Hour), 0)
		equal(w, "nobody is left", idle(), "")
	},
	"a lapsed lease may be taken": func(w *world) {
		a := w.agent("coder")
		must(w.Acquire(w.ctx, a.ID, "1@x", time.Minute, false))(w)
		w.clock.Advance(2 * time.Minute)
		must(w.Acquire(w.ctx, a.ID, "2@x", time.Minute, false))(w)
	},
	"release frees, and a late one harms nobody": func(w *world) {
		a := w.agent("coder")
		one := must(w.Acquire(w.ctx, a.ID, "1@x", time.Minute, false))(w)
		w.ok(w.Release(w.ctx, one))
		_, err := w.Claim(w.ctx, one, store.Limits{}, nil)
		w.refused(err, fika.Lost)
		two := must(w.Acquire(w.ctx, a.ID, "2@x", time.Minute, false))(w)
		w.ok(w.Release(w.ctx, one))
		w.ok(w.Renew(w.ctx, two, time.Minute, store.Beat{}))
	},
	"an agent that is wanted stopped claims nothing": func(w *world) {
		l := w.lease("coder")
		w.accept(fika.AskRequest, l.Agent, "hello")
		w.ok(w.SetDesired(w.ctx, l.Agent, fika.DesiredFinish))
		w.nothing(l)
		w.ok(w.SetDesired(w.ctx, l.Agent, fika.DesiredRunning))
		w.claim(l)
	},
	"an older owner claims, begins and recovers nothing": func(w *world) {
		old := w.lease("coder")
		w.accept(fika.AskRequest, old.Agent, "hello")
		w.lease("coder")
		_, err := w.Claim(w.ctx, old, store.Limits{}, nil)
		w.refused(err, fika.Lost)
		_, err = w.Begin(w.ctx, old, store.NewRequest{Kind: fika.RunRequest, Payload: fika.Payload{Prompt: "x"}})
		w.refused(err, fika.Lost)
		_, err = w.Recover(w.ctx, old)
		w.refused(err, fika.Lost)
	},
}
