package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
	"fika/internal/turn/prompt"
)

// mood is a prompter of an agent whose surroundings a test changes.
type mood struct{ parts *prompt.Parts }

func (m mood) Prompt(context.Context, store.Claimed) (prompt.Prompt, error) {
	return prompt.Assemble(*m.parts), nil
}

// grows checks that each request begins with all that the one before it held, system text
// and tools included.
func grows(t *testing.T, asked []llm.Request) {
	t.Helper()
	for i := 1; i < len(asked); i++ {
		before, now := asked[i-1], asked[i]
		if d := cmp.Diff(before.System, now.System); d != "" {
			t.Errorf("the system text of call %d changes: %s", i+1, d)
		}
		if d := cmp.Diff(before.Tools, now.Tools); d != "" {
			t.Errorf("the tools of call %d change: %s", i+1, d)
		}
		if len(now.Messages) < len(before.Messages) {
			t.Fatalf("call %d has fewer messages than the one before", i+1)
		}
		for k, m := range before.Messages {
			again := now.Messages[k]
			m.Passing, again.Passing = false, false
			if d := cmp.Diff(m, again); d != "" {
				t.Fatalf("message %d of call %d is not what call %d had: %s", k+1, i+1, i, d)
			}
		}
	}
}

// TestWindowsOnlyGrowInAChat: what others say while an agent works, in any number of turns
// and messages, comes after what it has seen, and everything keeps the place and the form
// in which the model was first shown it.
func TestWindowsOnlyGrowInAChat(t *testing.T) {
	w := newWorld(t)
	w.add("look", fika.Pure, nil)
	w.agent("bob")
	chat, err := w.store.CreateChat(t.Context(), "tale")
	w.ok(err)
	n := 0
	say := func(from string, writer fika.Writer, notify ...fika.AgentName) {
		n++
		_, err := w.store.Post(context.Background(), store.Post{Conversation: chat.ID, From: from, Writer: writer, Content: fmt.Sprintf("@arya point %d", n), Notify: notify})
		w.ok(err)
	}
	w.model.answer = func(_ context.Context, k int, r llm.Request) (llm.Response, error) {
		say("bob", fika.ByAgent) // while the model thinks
		if k%4 == 2 {
			say("ann", fika.ByHuman, "arya")
		}
		if k%3 != 0 {
			return calls(call(fmt.Sprint("c", k), "look", "{}"), call(fmt.Sprint("d", k), "look", "{}")), nil
		}
		return text(fmt.Sprint("answer ", k)), nil
	}
	parts := prompt.Parts{Base: "you are a test", Agent: "arya", Conversation: "tale", Participants: []string{"ann", "arya"}}
	cfg := w.config()
	cfg.Prompt = mood{&parts}
	say("ann", fika.ByHuman, "arya")
	for i := range 6 {
		c, err := w.store.Claim(t.Context(), w.lease, store.Limits{}, nil)
		w.ok(err)
		if c == nil {
			say("ann", fika.ByHuman, "arya")
			claimed := w.claim()
			c = &claimed
		}
		if i == 2 {
			parts.Participants, parts.Colleagues = append(parts.Participants, "bob"), "@bob"
		}
		_, err = turn.New(cfg).Run(t.Context(), *c)
		w.ok(err)
	}
	if len(w.model.asked) != 18 {
		t.Fatalf("%d calls", len(w.model.asked))
	}
	grows(t, w.model.asked)
	last := w.model.asked[17]
	if !strings.HasSuffix(last.System, "--- IN THIS CHAT ---\n@ann") {
		t.Errorf("the system text is not what the chat began with: %s", last.System)
	}
	told := 0
	for _, m := range last.Messages {
		if strings.HasPrefix(m.Text, "(From the system") {
			told++
			if want := "--- IN THIS CHAT ---\n@ann, @bob\n\n--- COLLEAGUES ---\n@bob"; !strings.HasSuffix(m.Text, want) {
				t.Errorf("told %q, want the end %q", m.Text, want)
			}
		}
	}
	if told != 1 {
		t.Errorf("what has changed is told %d times", told)
	}
}

// TestWindowsOnlyGrowInAsks: prompts that hooks replace, prompts of another agent, and
// whatever changes around the agent keep the form in which the model was first shown them.
func TestWindowsOnlyGrowInAsks(t *testing.T) {
	w := newWorld(t)
	w.add("look", fika.Pure, nil)
	w.model.answer = func(_ context.Context, k int, r llm.Request) (llm.Response, error) {
		if k%2 == 1 {
			return calls(call(fmt.Sprint("c", k), "look", "{}")), nil
		}
		return text(fmt.Sprint("answer ", k)), nil
	}
	parts := prompt.Parts{Base: "you are a test", Agent: "arya", Username: "ann"}
	cfg := w.config()
	cfg.Prompt = mood{&parts}
	cfg.Hooks = hooks(func(at hook.Point, p hook.Payload) (hook.Payload, error) {
		if text, _ := p["prompt"].(string); at == hook.PreMessage && strings.HasPrefix(text, "shout") {
			return hook.Payload{"prompt": strings.ToUpper(text)}, nil
		}
		return hook.Payload{}, nil
	})
	for i, change := range []func(){
		func() {}, func() { parts.Todos = "- one" }, func() { parts.Colleagues = "@bob" }, func() { parts.After = "It is noon." },
		func() { parts.Instructions = "Be kind." }, func() { parts.Todos, parts.Colleagues = "", "@bob\n@cleo" }, func() { parts.Colleagues = "" }, func() {},
	} {
		change()
		p := fika.Payload{Prompt: fmt.Sprint("shout ", i), From: "ann"}
		if i%2 == 1 {
			p = fika.Payload{Prompt: fmt.Sprint("do ", i), From: "bob", Writer: fika.ByAgent, Sender: string(w.agent("bob").ID)}
		}
		_, err := w.store.Accept(t.Context(), store.NewRequest{Kind: fika.AskRequest, Agent: w.lease.Agent, Payload: p})
		w.ok(err)
		_, err = turn.New(cfg).Run(t.Context(), w.claim())
		w.ok(err)
	}
	grows(t, w.model.asked)
	var all strings.Builder
	for _, m := range w.model.asked[len(w.model.asked)-1].Messages {
		all.WriteString(m.Text + "\n")
	}
	for _, want := range []string{"SHOUT 0", "SHOUT 6", "[task from bob]\n  do 1", "--- COLLEAGUES ---\n@bob\n", "--- COLLEAGUES ---\n(none now)", "--- CURRENT TODOS ---\n(none now)", "It is noon."} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %q in %s", want, all.String())
		}
	}
}

// searchable gives the world the tools of two servers, deferred, and the tool that finds
// them.
func (w *world) searchable() {
	params := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}`)
	var specs []tool.Spec
	var later []tool.Tool
	for _, name := range []string{"post__letter", "post__parcel", "sky__weather"} {
		f := &fake{w: w, name: name, effect: fika.Pure, params: params}
		specs, later = append(specs, f.Spec()), append(later, tool.Deferred(f))
	}
	w.tools = append(append(w.tools, tool.NewSearch([]tool.Group{{Name: "post", Specs: specs[:2]}, {Name: "sky", Specs: specs[2:]}})), later...)
}

func offered(r llm.Request) string {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// TestToolSearch: deferred tools are not shown; what a search finds is, from then on, at the
// end, in the order of the searches, also after the owner has died and in later turns; a
// tool that was not found can be called, and a wrong call of it is answered with its
// parameters.
func TestToolSearch(t *testing.T) {
	w := newWorld(t)
	w.add("look", fika.Pure, nil)
	w.searchable()
	w.model.says(
		calls(call("c1", "sky__weather", `{"to":"x"}`), call("c2", "post__parcel", `{"x":1}`)),
		calls(call("c3", tool.SearchName, `{"query":"weather"}`)),
		calls(call("c4", tool.SearchName, `{"query":"letter weather"}`)),
		text("found"), text("again"))
	c := w.ask("go")
	d := &death{left: -1}
	cfg := w.config()
	s := d.store(w.store)
	searches := 0
	s.after = func(op string) error {
		if op == "tool" {
			if searches++; searches == 4 {
				d.die()
			}
		}
		return d.later(op)
	}
	cfg.Store = turn.StoreOf(s)
	_, _ = turn.New(cfg).Run(t.Context(), c)
	w.takeOver()
	rec, err := w.store.Recover(t.Context(), w.lease)
	w.ok(err)
	w.run(rec.Claimed[0])
	w.run(w.ask("and now"))
	const all = "look tool_search sky__weather post__letter"
	for i, want := range []string{"look tool_search", "look tool_search", "look tool_search sky__weather", all, all} {
		if got := offered(w.model.asked[i]); got != want {
			t.Errorf("call %d is offered %q, want %q", i+1, got, want)
		}
	}
	var results []string
	for _, m := range w.model.asked[1].Messages {
		if m.Role == llm.ToolRole {
			results = append(results, m.Text)
		}
	}
	if len(results) != 2 || results[0] != `sky__weather says {"to":"x"}` || !strings.Contains(results[1], `its parameters are {"type":"object","properties":{"to"`) {
		t.Errorf("calls of tools that were not found: %q", results)
	}
}
