package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// shown runs a turn and returns the texts of what the model saw.
func (w *world) shown(c store.Claimed, change func(*turn.Config)) []string {
	w.Helper()
	w.model.asked = nil
	w.model.says(text("ok"))
	cfg := w.config()
	if change != nil {
		change(&cfg)
	}
	_, err := turn.New(cfg).Run(w.Context(), c)
	w.ok(err)
	var out []string
	for _, m := range w.model.asked[0].Messages {
		for _, c := range m.Calls {
			out = append(out, "call "+c.ID)
		}
		if m.Text != "" {
			out = append(out, m.Text)
		}
	}
	return out
}

// talk puts entries into the agent's ask conversation, as another home wrote
// them: the type's first letter, the speaker, the request, the text.
func (w *world) talk(lines ...string) fika.Conversation {
	w.Helper()
	c, err := w.store.ActiveAsk(w.Context(), w.lease.Agent)
	w.ok(err)
	var entries []fika.Entry
	for i, l := range lines {
		f := strings.SplitN(l, " ", 4)
		e := fika.Entry{ID: fika.EntryID(fmt.Sprintf("%d-%d", c.LastSeq, i)), From: f[1], Content: f[3], Type: fika.Message}
		if f[2] != "-" {
			e.Request = fika.RequestID(f[2])
		}
		switch f[0] {
		case "c":
			e.Type, e.To, e.Meta.ToolCallID = fika.ToolCall, "look", f[3]
		case "r":
			e.Type, e.To, e.From, e.Meta.ToolCallID = fika.ToolResult, f[1], "look", f[3]
		case "n":
			e.Type = fika.Notice
		}
		if f[1] == "arya" && e.Type != fika.ToolResult {
			e.Meta.Writer, e.Meta.WriterName = fika.ByAgent, "arya"
		}
		entries = append(entries, e)
	}
	_, err = w.store.Import(w.Context(), c.ID, entries)
	w.ok(err)
	return c
}

// TestWindowKeepsTurnsWhole: an entry between a call and its result does not split them,
// and notices are nobody's words.
func TestWindowKeepsTurnsWhole(t *testing.T) {
	w := newWorld(t)
	w.talk("m ann q1 first", "c arya q1 c1", "m bob - in between", "n system - a notice", "r arya q1 c1", "m arya q1 done one", "m ann q2 second", "m arya q2 done two")
	got := w.shown(w.ask("third"), nil)
	want := []string{"first", "call c1", "c1", "done one", "[bob] in between", "second", "done two", "third"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestWindowHidesOthersTools: the window shows only the words of another agent, not its
// calls, results or reasoning.
func TestWindowHidesOthersTools(t *testing.T) {
	w := newWorld(t)
	chat, err := w.store.CreateChat(t.Context(), "tale")
	w.ok(err)
	_, err = w.store.Post(t.Context(), store.Post{Conversation: chat.ID, From: "ann", Writer: fika.ByHuman, Content: "@gendry look",
		Notify: []fika.AgentName{w.agent("gendry").Name}})
	w.ok(err)
	l, err := w.store.Acquire(t.Context(), w.agent("gendry").ID, "test", time.Hour, true)
	w.ok(err)
	c, err := w.store.Claim(t.Context(), l, store.Limits{}, nil)
	w.ok(err)
	_, err = w.store.CommitModel(t.Context(), c.Fence, store.ModelCommit{Round: 1, Text: "let me look", Reasoning: "ann is in a hurry", Calls: []store.PlannedCall{{CallID: "c1", Tool: "look", Args: "{}"}}})
	w.ok(err)
	_, err = w.store.CommitTool(t.Context(), c.Fence, 2, store.ToolCommit{Text: "seen"})
	w.ok(err)
	_, err = w.store.Finish(t.Context(), c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 2, Text: "@arya I looked", Reasoning: "let her do it"}, Notify: []fika.AgentName{"arya"}})
	w.ok(err)
	if d := cmp.Diff([]string{"[ann] @gendry look", "[gendry] let me look", "[gendry] @arya I looked"}, w.shown(w.claim(), nil)); d != "" {
		t.Error(d)
	}
}

// TestWindowAfterCompaction: entries that a compaction covers are gone, except those it
// kept.
func TestWindowAfterCompaction(t *testing.T) {
	w := newWorld(t)
	c := w.talk("m ann - one", "m ann - two", "m ann - three", "m ann - four")
	_, err := w.store.AppendCompaction(t.Context(), c.ID, "system", "short", fika.EntryMeta{UpTo: 3, Kept: []int64{2}})
	w.ok(err)
	if d := cmp.Diff([]string{"two", "four", "go"}, w.shown(w.ask("go"), nil)); d != "" {
		t.Error(d)
	}
}

// TestWindowOfAClearedChat: clearing a chat takes what was said before from its
// agents, too.
func TestWindowOfAClearedChat(t *testing.T) {
	w := newWorld(t)
	chat, err := w.store.CreateChat(t.Context(), "tale")
	w.ok(err)
	say := func(text string, notify ...fika.AgentName) fika.Entry {
		t.Helper()
		p, err := w.store.Post(t.Context(), store.Post{Conversation: chat.ID, From: "ann", Writer: fika.ByHuman, Content: text, Notify: notify})
		w.ok(err)
		return p.Entry
	}
	last := say("what was said before")
	_, err = w.store.AppendCompaction(t.Context(), chat.ID, "system", "cleared", fika.EntryMeta{Writer: fika.BySystem, UpTo: last.Seq})
	w.ok(err)
	say("@arya begin anew", "arya")
	if d := cmp.Diff([]string{"[ann] @arya begin anew"}, w.shown(w.claim(), nil)); d != "" {
		t.Error(d)
	}
}

// TestWindowFits: the newest whole turns that fit are shown, and the person is
// told that there was more.
func TestWindowFits(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 400) // 100 tokens and some
	w.talk("m ann q1 a"+long, "m arya q1 b"+long, "m ann q2 c"+long, "m arya q2 d"+long, "m ann q3 e"+long, "m arya q3 f"+long)
	got := w.shown(w.ask("go"), func(c *turn.Config) { c.Window = 600 })
	var first []string
	for _, s := range got {
		first = append(first, s[:1])
	}
	if d := cmp.Diff([]string{"c", "d", "e", "f", "g"}, first); d != "" {
		t.Error(d)
	}
	if warned := w.told(turn.Warning); len(warned) != 1 || !strings.Contains(warned[0].Text, "left out") {
		t.Errorf("warnings %+v", warned)
	}
}

// TestWindowNothingFits: the prompt itself is always sent.
func TestWindowNothingFits(t *testing.T) {
	w := newWorld(t)
	w.talk("m ann - " + strings.Repeat("x", 4000))
	got := w.shown(w.ask("go"+strings.Repeat("y", 4000)), func(c *turn.Config) { c.Window = 100 })
	if len(got) != 1 || !strings.HasPrefix(got[0], "go") {
		t.Errorf("%.40q", got)
	}
}

// TestWindowReadsWhatFits: a long conversation costs no more than the part
// that is shown.
func TestWindowReadsWhatFits(t *testing.T) {
	w := newWorld(t)
	var lines []string
	many := 10_000
	if testing.Short() {
		many = 2_000
	}
	for i := range many {
		lines = append(lines, fmt.Sprintf("m ann - message %d %s", i, strings.Repeat("x", 100)))
	}
	w.talk(lines...)
	c := w.ask("go")
	read := 0
	got := w.shown(c, func(cfg *turn.Config) {
		cfg.Window = 10_000
		cfg.Store.History = counting{cfg.Store.History, &read}
	})
	if len(got) < 100 || len(got) > 300 {
		t.Errorf("%d messages shown", len(got))
	}
	if read > 800 {
		t.Errorf("%d of %d entries were read to show %d", read, many, len(got))
	}
}

// counting counts the entries that are read page by page.
type counting struct {
	turn.History
	n *int
}

func (c counting) Before(ctx context.Context, conv fika.ConversationID, upto int64, limit int) ([]fika.Entry, error) {
	page, err := c.History.Before(ctx, conv, upto, limit)
	*c.n += len(page)
	return page, err
}

// TestWindowChat: in a chat everybody else is marked with their name, and what
// comes after the window's end is not shown.
func TestWindowChat(t *testing.T) {
	w := newWorld(t)
	c, err := w.store.CreateChat(t.Context(), "tale")
	w.ok(err)
	say := func(text string, notify ...fika.AgentName) {
		_, err := w.store.Post(t.Context(), store.Post{Conversation: c.ID, From: "ann", Writer: fika.ByHuman, Content: text, Notify: notify})
		w.ok(err)
	}
	say("@arya one", "arya")
	say("two")
	claimed := w.claim()
	say("too late")
	if d := cmp.Diff([]string{"[ann] @arya one", "[ann] two"}, w.shown(claimed, nil)); d != "" {
		t.Error(d)
	}
	if last := w.entries(c.ID); last[len(last)-1].Content != "ok" || last[len(last)-1].From != "arya" {
		t.Errorf("%+v", last[len(last)-1])
	}
}

func TestWindowTaskIsEmpty(t *testing.T) {
	w := newWorld(t)
	w.talk("m ann - an ask of before")
	w.accept(fika.TaskRequest, "the task")
	if d := cmp.Diff([]string{"the task"}, w.shown(w.claim(), nil)); d != "" {
		t.Error(d)
	}
}

// TestC4Blob: the provider's own message, reasoning included, goes back to the model
// that made it, after a crash and in later turns, and never to another model.
func TestC4Blob(t *testing.T) {
	w := newWorld(t)
	w.add("look", fika.Pure, nil)
	blob := []byte(`{"role":"assistant","signature":"s"}`)
	first := calls(call("c1", "look", "{}"))
	first.Blob = blob
	w.model.says(first, text("ok"))
	c := w.ask("go")
	d := &death{left: -1}
	cfg := w.config()
	s := d.store(w.store)
	s.after = func(op string) error {
		if op == "tool" {
			d.die()
		}
		return d.later(op)
	}
	cfg.Store = turn.StoreOf(s)
	_, _ = turn.New(cfg).Run(t.Context(), c)
	w.takeOver()
	rec, err := w.store.Recover(t.Context(), w.lease)
	w.ok(err)
	w.run(rec.Claimed[0])
	if got := blobOf(w.model.asked[1].Messages); got != string(blob) {
		t.Errorf("after a crash the blob is %q", got)
	}
	w.model.asked = nil
	w.model.says(text("ok"))
	w.run(w.ask("again"))
	if got := blobOf(w.model.asked[0].Messages); got != string(blob) {
		t.Errorf("in the next turn the blob is %q", got)
	}
	w.model.asked = nil
	cfg = w.config()
	cfg.ModelID = "another"
	_, err = turn.New(cfg).Run(t.Context(), w.ask("and another"))
	w.ok(err)
	if got := blobOf(w.model.asked[0].Messages); got != "" {
		t.Errorf("another model gets the blob %q", got)
	}
}

func blobOf(messages []llm.Message) (all string) {
	for _, m := range messages {
		all += string(m.Blob)
	}
	return all
}

// TestMentionedWhileAnswering: an agent that is mentioned while it answers, and calls a
// tool in its next turn, sees what it is to answer next after its first answer;
// each call of the model begins with what the call before it was sent (trial row F1).
func TestMentionedWhileAnswering(t *testing.T) {
	w := newWorld(t)
	w.add("look", fika.Pure, nil)
	chat, err := w.store.CreateChat(t.Context(), "tale")
	w.ok(err)
	say := func(text string) {
		t.Helper()
		_, err := w.store.Post(t.Context(), store.Post{Conversation: chat.ID, From: "ann", Writer: fika.ByHuman, Content: text, Notify: []fika.AgentName{"arya"}})
		w.ok(err)
	}
	blob := func(r llm.Response, raw string) llm.Response { r.Blob = []byte(raw); return r }
	w.model.says(blob(text("one is done"), `{"role":"assistant","content":"one is done"}`),
		blob(calls(call("c1", "look", "{}")), `{"role":"assistant","content":null,"tool_calls":[{"id":"c1"}]}`), text("two is done"))
	say("@arya one")
	first := w.claim()
	say("@arya two")
	w.run(first)
	w.run(w.claim())
	want := []llm.Message{
		{Role: llm.User, Text: "[ann] @arya one"},
		{Role: llm.Assistant, Text: "one is done", Blob: []byte(`{"role":"assistant","content":"one is done"}`)},
		{Role: llm.User, Text: "[ann] @arya two"},
		{Role: llm.Assistant, Calls: []llm.Call{call("c1", "look", "{}")}, Blob: []byte(`{"role":"assistant","content":null,"tool_calls":[{"id":"c1"}]}`)},
		{Role: llm.ToolRole, CallID: "c1", Text: w.model.asked[2].Messages[len(w.model.asked[2].Messages)-1].Text},
	}
	if d := cmp.Diff(want, w.model.asked[2].Messages); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want[:3], w.model.asked[1].Messages); d != "" {
		t.Error(d)
	}
}
