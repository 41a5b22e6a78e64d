package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// world is one store with the helpers that the subtests are written in. Any error in
// a helper ends the test.
type world struct {
	*testing.T
	*store.Store
	ctx    context.Context
	clock  *Clock
	limits store.Limits
}

func newWorld(t *testing.T, open Open) *world {
	t.Helper()
	clock := NewClock()
	return &world{T: t, Store: open(t, clock), ctx: t.Context(), clock: clock}
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) refused(err error, kind fika.Kind) {
	w.Helper()
	if fika.KindOf(err) != kind {
		w.Fatalf("error %v is of kind %q, want %q", err, fika.KindOf(err), kind)
	}
}

func equal[T comparable](w *world, what string, got, want T) {
	w.Helper()
	if got != want {
		w.Fatalf("%s is %v, want %v", what, got, want)
	}
}

func must[T any](v T, err error) func(*world) T {
	return func(w *world) T {
		w.Helper()
		w.ok(err)
		return v
	}
}

func (w *world) agent(name fika.AgentName) fika.Agent {
	w.Helper()
	return must(w.EnsureAgent(w.ctx, store.NewAgent{Name: name}))(w)
}

// lease creates the agent if need be and takes its lease.
func (w *world) lease(name fika.AgentName) store.Lease {
	w.Helper()
	return must(w.Acquire(w.ctx, w.agent(name).ID, "test", time.Minute, true))(w)
}

func (w *world) chat(name fika.ConversationName) fika.Conversation {
	w.Helper()
	return must(w.CreateChat(w.ctx, name))(w)
}

func (w *world) post(c fika.Conversation, text string, notify ...fika.AgentName) store.Posted {
	w.Helper()
	return must(w.Post(w.ctx, store.Post{Conversation: c.ID, From: "ann", Writer: fika.ByHuman, Content: text, Notify: notify}))(w)
}

func (w *world) accept(kind fika.RequestKind, id fika.AgentID, prompt string) store.Accepted {
	w.Helper()
	return must(w.Accept(w.ctx, store.NewRequest{Kind: kind, Agent: id, Payload: fika.Payload{Prompt: prompt}}))(w)
}

// begin starts a foreground run.
func (w *world) begin(l store.Lease, prompt string) store.Claimed {
	w.Helper()
	return must(w.Begin(w.ctx, l, store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Payload: fika.Payload{Prompt: prompt}}))(w)
}

// claim takes the next piece of work, which must be there.
func (w *world) claim(l store.Lease) store.Claimed {
	w.Helper()
	c := must(w.Claim(w.ctx, l, w.limits, nil))(w)
	if c == nil {
		w.Fatal("nothing to claim")
	}
	return *c
}

func (w *world) nothing(l store.Lease) {
	w.Helper()
	if c := must(w.Claim(w.ctx, l, w.limits, nil))(w); c != nil {
		w.Fatalf("claimed %s %s, want nothing", c.Request.Kind, c.Request.ID)
	}
}

// answer finishes a turn as done.
func (w *world) answer(c store.Claimed, text string, notify ...fika.AgentName) store.Finished {
	w.Helper()
	return must(w.Finish(w.ctx, c.Fence, store.Finish{
		State: fika.Done, Final: &store.ModelCommit{Round: 1000, Text: text}, Notify: notify, Limits: w.limits,
	}))(w)
}

// fail finishes a turn without an answer.
func (w *world) fail(c store.Claimed, state fika.RequestState) store.Finished {
	w.Helper()
	return must(w.Finish(w.ctx, c.Fence, store.Finish{State: state, Reason: "test", Notice: "it went wrong"}))(w)
}

// plan commits a model step that asks for tools of the given effects.
func (w *world) plan(c store.Claimed, round int, effects ...fika.Effect) []fika.Step {
	w.Helper()
	m := store.ModelCommit{Round: round, Text: "let me see", Usage: fika.Usage{Input: 100, Output: 10, Cost: 7}, Model: "m"}
	for i, e := range effects {
		m.Calls = append(m.Calls, store.PlannedCall{CallID: fmt.Sprintf("call-%d-%d", round, i), Tool: "read", Args: "{}", Effect: e})
	}
	return must(w.CommitModel(w.ctx, c.Fence, m))(w).Steps
}

func (w *world) entries(c fika.ConversationID) []fika.Entry {
	w.Helper()
	return must(w.Entries(w.ctx, store.EntryQuery{Conversation: c}))(w)
}

func (w *world) state(id fika.RequestID, want fika.RequestState) fika.Request {
	w.Helper()
	r := must(w.Request(w.ctx, id))(w)
	equal(w, "state of "+string(id), r.State, want)
	return r.Request
}

// info returns the entry of a conversation in lists.
func (w *world) info(c fika.ConversationID) store.ConversationInfo {
	w.Helper()
	for _, i := range must(w.ListConversations(w.ctx, store.ConversationFilter{}))(w) {
		if i.ID == c {
			return i
		}
	}
	w.Fatalf("no conversation %s", c)
	return store.ConversationInfo{}
}

// pending returns the number of notifications that wait in a conversation.
func (w *world) pending(c fika.ConversationID) int {
	w.Helper()
	return w.info(c).Pending
}

// whole checks what must hold for every conversation at rest: seqs without a gap, and
// exactly one result for each tool call.
func (w *world) whole(c fika.ConversationID) {
	w.Helper()
	if err := whole(w.entries(c)); err != nil {
		w.Fatal(err)
	}
}

func whole(entries []fika.Entry) error {
	results := map[fika.EntryID]int{}
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			return fmt.Errorf("entry %d has seq %d", i+1, e.Seq)
		}
		if e.Type == fika.ToolResult {
			results[e.ReplyTo]++
		}
	}
	for _, e := range entries {
		if e.Type == fika.ToolCall && results[e.ID] != 1 {
			return fmt.Errorf("tool call %d of %s has %d results", e.Seq, e.Request, results[e.ID])
		}
	}
	return nil
}
