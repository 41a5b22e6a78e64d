package hub

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
)

// TestHandsOver: what waits for an agent that cannot work goes to the first backup
// that can, and is answered where it was asked; nobody else's does.
func TestHandsOver(t *testing.T) {
	w := newWorld(t)
	w.procs.atStart = func(name fika.AgentName, pid int) {
		if name == "coder" {
			go w.procs.exit(pid, Exit{Code: exitInvalid, Reason: "exit status 2"})
		}
	}
	statuses, responses := make(chan message.Status, 10), make(chan message.Response, 10)
	peer := w.bus.Peer()
	for subject, hear := range map[string]func(bus.Msg){
		"fika.agent.coder.status": func(m bus.Msg) {
			var s message.Status
			w.ok(json.Unmarshal(m.Data, &s))
			statuses <- s
		},
		"fika.agent.coder.response": func(m bus.Msg) {
			var r message.Response
			w.ok(json.Unmarshal(m.Data, &r))
			responses <- r
		},
	} {
		sub, err := peer.Subscribe(subject, hear)
		w.ok(err)
		defer sub.Close()
	}
	ask := func(id fika.RequestID, name fika.AgentName) {
		_, err := w.store.Accept(t.Context(), store.NewRequest{ID: id, Kind: fika.TaskRequest, Origin: fika.Queued, Agent: w.agent(name).ID, Payload: fika.Payload{Prompt: "x"}})
		w.ok(err)
	}
	stopped := w.agent("stopped")
	w.ok(w.store.SetDesired(t.Context(), stopped.ID, fika.DesiredStopped))
	ask("asked", "coder")
	ask("kept", "stopped")
	w.runWith(func(o *Options) {
		o.CannotTakeOver = func(_ context.Context, _ store.RequestInfo, to fika.AgentName) (string, error) {
			if to == "over" {
				return "it has no budget", nil
			}
			return "", nil
		}
	}, Spec{Name: "coder", Wake: true, Backup: []fika.AgentName{"gone", "stopped", "over", "reviewer"}}, Spec{Name: "over", Wake: true},
		Spec{Name: "reviewer", Wake: true}, Spec{Name: "stopped", Wake: true, Backup: []fika.AgentName{"reviewer"}})
	s := <-statuses
	if s.RequestID != "asked" || s.AgentName != "coder" || s.WorkedBy != "reviewer" || s.Status != message.StatusWaiting {
		t.Errorf("status %+v", s)
	}
	w.until("the backup to be started", func() bool { return w.procs.count("reviewer") == 1 })
	l, err := w.store.Acquire(t.Context(), w.agent("reviewer").ID, "1@here", time.Hour, true)
	w.ok(err)
	c, err := w.store.Claim(t.Context(), l, store.Limits{}, nil)
	w.ok(err)
	if c == nil || c.Request.ID != "asked" {
		t.Fatalf("claimed %+v", c)
	}
	_, err = w.store.Finish(t.Context(), c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "yes"}})
	w.ok(err)
	if r := <-responses; r.RequestID != "asked" || r.AgentName != "coder" || r.WorkedBy != "reviewer" || r.Result.Content != "yes" {
		t.Errorf("response %+v", r)
	}
	if kept, err := w.store.Request(t.Context(), "kept"); err != nil || kept.AgentName != "stopped" {
		t.Errorf("what waits for one that was stopped by hand is with %s (%v)", kept.AgentName, err)
	}
}

// What an agent has begun and gives away, because its provider fails, goes to its backups in
// their order, each once; what waits for another try stays.
func TestHandsOverWhatAProviderFails(t *testing.T) {
	w := newWorld(t)
	giveAway := func(name fika.AgentName, reason fika.WaitReason) {
		l, err := w.store.Acquire(t.Context(), w.agent(name).ID, "1@here", time.Hour, true)
		w.ok(err)
		c, err := w.store.Claim(t.Context(), l, store.Limits{}, nil)
		w.ok(err)
		_, err = w.store.Spend(t.Context(), c.Fence, store.Spent{Round: 1, Kind: fika.FailedStep, Model: "m", Why: "no key for " + string(name)})
		w.ok(err)
		w.ok(w.store.Suspend(t.Context(), c.Fence, reason, time.Now().Add(time.Hour)))
	}
	ask := func(id fika.RequestID, reason fika.WaitReason) {
		_, err := w.store.Accept(t.Context(), store.NewRequest{ID: id, Kind: fika.TaskRequest, Origin: fika.Queued, Agent: w.agent("coder").ID, Payload: fika.Payload{Prompt: "x"}})
		w.ok(err)
		giveAway("coder", reason)
	}
	with := func(id fika.RequestID, name fika.AgentName) func() bool {
		return func() bool {
			r, err := w.store.Request(t.Context(), id)
			return err == nil && r.AgentName == name && r.AskedName() == "coder" && r.State == fika.Open
		}
	}
	ask("stays", fika.WaitProvider)
	ask("goes", fika.WaitBackup)
	w.runWith(func(o *Options) {
		o.CannotTakeOver = func(context.Context, store.RequestInfo, fika.AgentName) (string, error) { return "", nil }
	}, Spec{Name: "coder", Wake: true, Backup: []fika.AgentName{"one", "two"}}, Spec{Name: "one", Wake: true}, Spec{Name: "two", Wake: true})
	for _, name := range []fika.AgentName{"one", "two"} {
		w.until("it to be given to @"+string(name), with("goes", name))
		giveAway(name, fika.WaitBackup)
	}
	ask("later", fika.WaitBackup)
	w.until("another look at all that waits", with("later", "one"))
	r, err := w.store.Request(t.Context(), "goes")
	if w.ok(err); r.AgentName != "two" || r.State != fika.Waiting || r.Handed != "the provider of @one fails: no key for one" {
		t.Errorf("after the last backup: @%s, %s, %s", r.AgentName, r.State, r.Handed)
	}
	if r, err := w.store.Request(t.Context(), "stays"); err != nil || r.AgentName != "coder" {
		t.Errorf("what waits for its provider is with @%s, %v", r.AgentName, err)
	}
}

// TestPool: as many members are started as there are tasks that nobody is free
// for, the pool itself never; what waits for a member that has failed goes to
// another one.
func TestPool(t *testing.T) {
	w := newWorld(t)
	pool := w.agent("coder")
	specs := []Spec{{Name: "coder", Members: []fika.AgentName{"coder-1", "coder-2", "coder-3"}}}
	var ids []fika.AgentID
	for _, name := range specs[0].Members {
		specs = append(specs, Spec{Name: name, Wake: true})
		ids = append(ids, w.agent(name).ID)
	}
	w.ok(w.store.KeepPool(t.Context(), pool.ID, "", ids))
	w.procs.atStart = func(name fika.AgentName, pid int) {
		if name == "coder-1" {
			go w.procs.exit(pid, Exit{Code: exitInvalid, Reason: "exit status 2"})
		}
	}
	accept := func(kind fika.RequestKind) fika.RequestID {
		r, err := w.store.Accept(t.Context(), store.NewRequest{Kind: kind, Origin: fika.Queued, Agent: pool.ID, Payload: fika.Payload{Prompt: "x", From: "ann"}})
		w.ok(err)
		return r.Request.ID
	}
	bound := accept(fika.AskRequest)
	w.runWith(func(o *Options) {
		o.CannotTakeOver = func(context.Context, store.RequestInfo, fika.AgentName) (string, error) { return "", nil }
	}, specs...)
	w.until("another member to have the ask", func() bool {
		r, err := w.store.Request(t.Context(), bound)
		return err == nil && r.AgentName == "coder-2" && r.AskedName() == "coder"
	})
	w.until("it to be started", func() bool { return w.procs.count("coder-2") == 1 })
	l, err := w.store.Acquire(t.Context(), w.agent("coder-2").ID, "2@here", time.Hour, true)
	w.ok(err)
	if _, err := w.store.Claim(t.Context(), l, store.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	accept(fika.TaskRequest)
	w.until("one more for the task", func() bool { return w.procs.count("coder-3") == 1 })
	if w.procs.count("coder") != 0 || w.procs.count("coder-2") != 1 || w.procs.count("coder-1") != 1 {
		t.Errorf("started: %v", w.procs.spawned)
	}
}
