package turn_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/rights/guard"
	"fika/internal/store"
	"fika/internal/turn"
)

// moded is a chat whose agent has tools that write, and a model that calls them.
func moded(t *testing.T, mode fika.Mode) (*world, fika.Conversation) {
	w := newWorld(t)
	for _, name := range []string{"edit", "bash", "send_message"} {
		w.add(name, fika.Unsafe, nil)
	}
	w.add("read", fika.Pure, nil)
	room, err := w.store.CreateChatIn(t.Context(), "room", mode)
	w.ok(err)
	return w, room
}

func (w *world) modedConfig() turn.Config {
	c := w.guardedConfig(guard.Policy{}, "edit", "bash", "send_message", "read")
	c.AskFor = time.Hour
	c.Guard = judged{Starts: func(name string) bool { return name == "bash" }, Unconfined: func() bool { return false }}
	return c
}

// begins is a store that does something before a tool call is begun.
type begins struct {
	turn.ToolSteps
	before func(n int)
}

func (b begins) BeginTool(ctx context.Context, f store.Fence, n int, h string, m fika.Mode) (store.Signal, error) {
	b.before(n)
	return b.ToolSteps.BeginTool(ctx, f, n, h, m)
}

// TestModeChangesBeforeACallBegins: a call is judged under the mode in which it begins, even
// if a person changes that in the instant between.
func TestModeChangesBeforeACallBegins(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to fika.Mode
		tool     string
		ran      bool
		says     string
	}{
		{"plan refuses it", fika.AutoMode, fika.PlanMode, "bash", false, "plan mode"},
		{"it would ask", fika.AutoMode, fika.EditMode, "bash", false, "not run: a person has to be asked"},
		{"it is not concerned", fika.AutoMode, fika.EditMode, "edit", true, "edit says"},
		{"a mode where there was none", "", fika.PlanMode, "edit", false, "plan mode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, room := moded(t, c.from)
			w.model.says(calls(call("1", c.tool, "{}")), text("done"))
			w.say(room.ID, store.Post{From: "ann", Writer: fika.ByHuman, Content: "@arya go", Notify: []fika.AgentName{"arya"}})
			cfg := w.modedConfig()
			cfg.Store.ToolSteps = begins{cfg.Store.ToolSteps, func(int) {
				_, _, err := w.store.SetMode(t.Context(), room.ID, c.to, "ann")
				w.ok(err)
			}}
			w.runWith(cfg, w.claim())
			if ran := len(w.calls()) > 0; ran != c.ran {
				t.Errorf("it ran: %v", ran)
			}
			if r := w.results(room.ID); len(r) != 1 || !strings.Contains(r[0].Content, c.says) {
				t.Errorf("the result: %+v", r)
			}
			w.whole(room.ID)
		})
	}
}

// TestModeIsToldLast: the model is told the mode at the end of the conversation, and again
// only when it has changed; everything before stays as it was.
func TestModeIsToldLast(t *testing.T) {
	w, room := moded(t, fika.PlanMode)
	server := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if r.Messages[len(r.Messages)-1].Role == "tool" {
			return llmtest.Script{llmtest.Text("it is as I thought")}
		}
		return llmtest.Script{llmtest.Call("c", "read", "{}")}
	})
	var sent [][]llm.Message
	turnIn := func(mode fika.Mode, words string) {
		if mode != "" {
			_, _, err := w.store.SetMode(t.Context(), room.ID, mode, "ann")
			w.ok(err)
		}
		w.say(room.ID, store.Post{From: "ann", Writer: fika.ByHuman, Content: words, Notify: []fika.AgentName{"arya"}})
		cfg := w.modedConfig()
		provider := openai.New(openai.Options{BaseURL: server.URL(), Model: "m"})
		cfg.Model = recorder{provider, func(r llm.Request) {
			if len(r.Tools) != 4 {
				t.Errorf("the model is offered %d tools", len(r.Tools))
			}
			sent = append(sent, r.Messages)
		}}
		w.runWith(cfg, w.claim())
	}
	turnIn("", "@arya one")
	turnIn("", "@arya two")
	turnIn(fika.EditMode, "@arya three")
	told := make([]int, len(sent))
	for i, list := range sent {
		for _, m := range list {
			if m.Role == llm.System && strings.Contains(m.Text, "--- MODE ---") {
				told[i]++
			}
		}
		if i == 0 {
			continue
		}
		before := slices.DeleteFunc(slices.Clone(sent[i-1]), func(m llm.Message) bool { return m.Passing && m.Role != llm.System })
		for k := range before {
			a, b := before[k], list[k]
			a.Passing, b.Passing = false, false
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if string(x) != string(y) {
				t.Errorf("call %d: message %d was\n%s\nand is\n%s", i, k, x, y)
			}
		}
	}
	if want := []int{1, 1, 1, 1, 2, 2}; !slices.Equal(told, want) {
		t.Errorf("the mode is told %v times, want %v", told, want)
	}
	last := sent[4][len(sent[4])-1]
	if !strings.Contains(last.Text, "edit: change files") || !strings.Contains(sent[0][len(sent[0])-1].Text, "plan: only look") {
		t.Errorf("told last: %q", last.Text)
	}
}

// recorder is a model that lets a test see what it is asked.
type recorder struct {
	llm.Model
	saw func(llm.Request)
}

func (r recorder) Generate(ctx context.Context, q llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	r.saw(q)
	return r.Model.Generate(ctx, q, emit)
}

// TestModeAsks: an edit asks once in ask mode, and what was allowed runs once; in edit mode
// it does not ask, and a command does.
func TestModeAsks(t *testing.T) {
	for mode, asked := range map[fika.Mode][]string{fika.AskMode: {"edit", "bash"}, fika.EditMode: {"bash"}, fika.AutoMode: nil, "": nil} {
		w, room := moded(t, mode)
		w.model.says(calls(call("1", "edit", `{"x":"a"}`)), calls(call("2", "bash", `{"x":"b"}`)), text("done"))
		w.say(room.ID, store.Post{From: "ann", Writer: fika.ByHuman, Content: "@arya go", Notify: []fika.AgentName{"arya"}})
		var about []string
		for {
			res := w.runWith(w.modedConfig(), w.claim())
			if res.State != fika.Waiting {
				break
			}
			open, err := w.store.OpenApprovals(t.Context())
			w.ok(err)
			about = append(about, open[0].Tool)
			_, err = w.store.AnswerApproval(t.Context(), open[0].N, store.ApprovalAnswer{Allow: true, By: "ann"})
			w.ok(err)
		}
		if !slices.Equal(about, asked) || len(w.calls()) != 2 {
			t.Errorf("mode %q: asked about %q; ran %q", mode, about, w.calls())
		}
		w.whole(room.ID)
	}
}

// TestModeOfADelegate: a task works under the mode of the chat in which its chain began,
// although its own conversation has none.
func TestModeOfADelegate(t *testing.T) {
	w, room := moded(t, fika.AutoMode)
	helper := w.agent("helper")
	w.say(room.ID, store.Post{From: "ann", Writer: fika.ByHuman, Content: "@arya go", Notify: []fika.AgentName{"arya"}})
	c := w.claim()
	planned, err := w.store.CommitModel(t.Context(), c.Fence, store.ModelCommit{Round: 1, Calls: []store.PlannedCall{{CallID: "1", Tool: "delegate", Args: "{}", Effect: fika.Idempotent}}})
	w.ok(err)
	_, err = w.store.Delegate(t.Context(), c.Fence, []store.Delegation{{N: planned.Steps[0].N, Agent: helper.ID, Prompt: "write it", Deadline: 1e12}})
	w.ok(err)
	_, _, err = w.store.SetMode(t.Context(), room.ID, fika.PlanMode, "ann")
	w.ok(err)
	w.lease, err = w.store.Acquire(t.Context(), helper.ID, "test", 1e12, true)
	w.ok(err)
	w.model.says(calls(call("1", "edit", "{}"), call("2", "bash", "{}"), call("3", "send_message", "{}"), call("4", "read", "{}")), text("done"))
	task := w.claim()
	w.runWith(w.modedConfig(), task)
	if got := w.calls(); !slices.Equal(got, []string{"read {}"}) {
		t.Errorf("in plan mode ran %q", got)
	}
	if first := w.model.asked[0].Messages; !strings.Contains(first[len(first)-1].Text, "plan: only look") {
		t.Errorf("the task is not told the mode: %+v", first)
	}
}
