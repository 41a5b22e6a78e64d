package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

func TestLoop(t *testing.T) {
	w := newWorld(t)
	w.add("look", fika.Pure, nil)
	w.model.says(llm.Response{Text: "let me look", Calls: []llm.Call{call("c1", "look", `{"x":"1"}`)}}, text("done"))
	c := w.ask("go")
	res := w.run(c)
	if res.State != fika.Done || res.Outcome.Answer != "done" {
		t.Fatalf("result is %+v", res)
	}
	w.state(c.Request.ID, fika.Done)
	w.whole(c.Conversation.ID)
	var types []string
	for _, e := range w.entries(c.Conversation.ID) {
		types = append(types, string(e.Type)+" "+e.Content)
	}
	want := []string{"message go", "message let me look", `tool_call {"x":"1"}`, `tool_result look says {"x":"1"}`, "message done"}
	if d := cmp.Diff(want, types); d != "" {
		t.Error(d)
	}
	if m := w.model.asked[1].Messages; len(m) != 3 || m[1].Text != "let me look" || len(m[1].Calls) != 1 || m[2].CallID != "c1" {
		t.Errorf("the second call saw %+v", m)
	}
}

// TestParallel: consecutive pure calls run in parallel (each waits for the other here),
// an unsafe one runs alone, and results keep the order of the calls.
func TestParallel(t *testing.T) {
	w := newWorld(t)
	var both sync.WaitGroup
	both.Add(2)
	var alone sync.Mutex
	w.add("look", fika.Pure, func(_ context.Context, c tool.Call) (tool.Result, error) {
		both.Done()
		both.Wait()
		return tool.Result{Text: c.CallID}, nil
	})
	w.add("push", fika.Unsafe, func(_ context.Context, c tool.Call) (tool.Result, error) {
		if !alone.TryLock() {
			t.Error("two unsafe calls at once")
		}
		defer alone.Unlock()
		return tool.Result{Text: c.CallID}, nil
	})
	w.model.says(calls(call("a", "look", "{}"), call("b", "look", "{}"), call("c", "push", "{}"), call("d", "push", "{}")), text("done"))
	c := w.ask("go")
	w.run(c)
	var got []string
	for _, e := range w.results(c.Conversation.ID) {
		got = append(got, e.Content)
	}
	if d := cmp.Diff([]string{"a", "b", "c", "d"}, got); d != "" {
		t.Error(d)
	}
}

func TestRefusedCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		response llm.Response
		want     string
	}{
		"unknown tool":   {calls(call("1", "lock", "{}")), `no tool is named "lock"; did you mean look?`},
		"bad JSON":       {calls(call("1", "look", `{"x":`)), "not"},
		"no object":      {calls(call("1", "look", `[1]`)), "object"},
		"wrong type":     {calls(call("1", "look", `{"x":7}`)), "x"},
		"not permitted":  {calls(call("1", "bash", `{}`)), "not permitted"},
		"cut off":        {llm.Response{Calls: []llm.Call{call("1", "look", `{}`)}, Stop: llm.StopLength}, "cut the arguments off"},
		"path as a tool": {calls(call("1", "../../bin/sh", "{}")), "no tool is named"},
		"empty name":     {calls(call("1", "", "{}")), "no tool is named"},
		"huge name":      {calls(call("1", strings.Repeat("x", 1<<16), "{}")), "no tool is named"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("look", fika.Pure, nil)
			w.tools = append(w.tools, &fake{w: w, name: "bash", effect: fika.Unsafe, byName: true})
			w.model.says(tt.response, text("done"))
			c := w.ask("go")
			if res := w.run(c); res.State != fika.Done {
				t.Fatalf("%+v", res)
			}
			r := w.results(c.Conversation.ID)
			if len(r) != 1 || !strings.Contains(r[0].Content, tt.want) || !r[0].Meta.IsError {
				t.Errorf("results %+v, want one with %q", r, tt.want)
			}
			if got := w.calls(); len(got) > 0 {
				t.Errorf("ran %v", got)
			}
			w.whole(c.Conversation.ID)
		})
	}
}

// TestTruncatedRunsTheRest: only the last call can have been cut off.
func TestTruncatedRunsTheRest(t *testing.T) {
	w := newWorld(t)
	w.add("push", fika.Unsafe, nil)
	w.model.says(llm.Response{Calls: []llm.Call{call("1", "push", `{"x":"a"}`), call("2", "push", ``)}, Stop: llm.StopLength}, text("done"))
	w.run(w.ask("go"))
	if d := cmp.Diff([]string{`push {"x":"a"}`}, w.calls()); d != "" {
		t.Error(d)
	}
}

func TestModelTrouble(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(int) (llm.Response, error)
		kind   fika.Kind
		calls  int
		want   string
	}{
		"cut call": {func(int) (llm.Response, error) {
			return llm.Response{Calls: []llm.Call{call("", "look", `{"x":`)}, Stop: llm.StopLength, MaxTokens: 99}, nil
		}, fika.Limit, 3, "the output limit of 99 tokens"},
		"unreadable": {func(int) (llm.Response, error) { return llm.Response{Stop: llm.StopBadCall}, nil }, fika.Provider, 3, "answered nothing"},
		"refusal": {func(int) (llm.Response, error) {
			return llm.Response{Stop: llm.StopRefusal, StopText: "I would rather not"}, nil
		}, fika.Provider, 1, "I would rather not"},
		"empty":         {func(int) (llm.Response, error) { return llm.Response{Text: " \n"}, nil }, fika.Provider, 3, "answered nothing"},
		"provider":      {func(int) (llm.Response, error) { return llm.Response{}, fika.Errorf(fika.Provider, "m", "503") }, fika.Provider, 1, "503"},
		"endless tools": {func(int) (llm.Response, error) { return calls(call("", "look", "{}")), nil }, fika.Limit, 7, "7 model calls"},
		"failing tools": {func(int) (llm.Response, error) { return calls(call("", "nothing", "{}")), nil }, fika.Limit, 6, "6 rounds in a row"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("look", fika.Pure, nil)
			w.model.answer = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) { return tt.answer(n) }
			c := w.ask("go")
			cfg := w.config()
			cfg.MaxRounds = 7
			res, err := turn.New(cfg).Run(t.Context(), c)
			w.ok(err)
			if res.State != fika.RequestFailed || res.Kind != tt.kind || !strings.Contains(res.Reason, tt.want) {
				t.Errorf("%+v", res)
			}
			if len(w.model.asked) != tt.calls {
				t.Errorf("%d model calls, want %d", len(w.model.asked), tt.calls)
			}
			if r := w.state(c.Request.ID, fika.RequestFailed); r.Outcome.ErrorKind != tt.kind {
				t.Errorf("outcome %+v", r.Outcome)
			}
			w.whole(c.Conversation.ID)
		})
	}
}

func TestEmptyThenAnswer(t *testing.T) {
	w := newWorld(t)
	nothing := llm.Response{Usage: fika.Usage{Input: 7, Output: 1}}
	w.model.says(nothing, nothing, text("now"))
	if res := w.run(w.ask("go")); res.Outcome.Answer != "now" {
		t.Errorf("%+v", res)
	}
	rows, err := w.store.UsageSince(t.Context(), time.Time{})
	w.ok(err)
	if len(rows) != 1 || rows[0].Usage.Input < 14 {
		t.Errorf("what empty answers cost is not in the ledger: %+v", rows)
	}
}

// TestNotifiedAgentMaySayNothing: an agent that was notified of a message ends its turn
// with an empty answer, in one call, without an entry; its later windows are valid. One
// that was asked has to answer (TestModelTrouble).
func TestNotifiedAgentMaySayNothing(t *testing.T) {
	for name, answer := range map[string]func(int) (llm.Response, error){
		"at once": func(int) (llm.Response, error) {
			return llm.Response{Text: " \n", Usage: fika.Usage{Input: 7, Output: 1}}, nil
		},
		"with thoughts": func(int) (llm.Response, error) {
			return llm.Response{Reasoning: "they do well @gendry", Usage: fika.Usage{Input: 7, Output: 1}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			room := w.room("table")
			w.agent("gendry")
			w.say(room, store.Post{Content: "all is well", Notify: []fika.AgentName{"arya"}})
			w.model.answer = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) { return answer(n) }
			cfg := w.config()
			cfg.Mentioned = func(context.Context, fika.Conversation, string) ([]fika.AgentName, error) {
				return []fika.AgentName{"gendry"}, nil
			}
			res := w.runWith(cfg, w.claim())
			if res.State != fika.Done || res.Outcome.Stop != fika.Silent || len(res.Entries) != 0 || len(res.Notified) != 0 || len(w.model.asked) != 1 {
				t.Errorf("%+v after %d calls", res, len(w.model.asked))
			}
			if got := w.entries(room); len(got) != 1 {
				t.Errorf("the chat holds %+v", got)
			}
			rows, err := w.store.UsageSince(t.Context(), time.Time{})
			w.ok(err)
			if len(rows) != 1 || rows[0].Usage.Input != 7 {
				t.Errorf("the ledger has %+v", rows)
			}

			w.say(room, store.Post{Content: "and now?", Notify: []fika.AgentName{"arya"}})
			w.model.answer = func(_ context.Context, _ int, r llm.Request) (llm.Response, error) { return text("now I say it"), nil }
			if res := w.run(w.claim()); res.Outcome.Answer != "now I say it" || res.Outcome.Stop != "" {
				t.Errorf("%+v", res)
			}
			w.whole(room)
		})
	}
	t.Run("after a tool", func(t *testing.T) {
		w := newWorld(t)
		w.add("look", fika.Pure, nil)
		w.say(w.room("table"), store.Post{Content: "look", Notify: []fika.AgentName{"arya"}})
		w.model.says(calls(call("1", "look", "{}")), llm.Response{})
		if res := w.run(w.claim()); res.State != fika.Done || res.Outcome.Stop != fika.Silent || len(w.calls()) != 1 {
			t.Errorf("%+v", res)
		}
	})
	t.Run("a call that cannot be read is no silence", func(t *testing.T) {
		w := newWorld(t)
		w.say(w.room("table"), store.Post{Content: "look", Notify: []fika.AgentName{"arya"}})
		w.model.says(llm.Response{Stop: llm.StopBadCall}, text("again"))
		if res := w.run(w.claim()); res.Outcome.Answer != "again" {
			t.Errorf("%+v", res)
		}
	})
}

// TestRepeatedCallIDs: providers repeat and omit ids; each call still gets its
// own result.
func TestRepeatedCallIDs(t *testing.T) {
	w := newWorld(t)
	w.add("look", fika.Pure, nil)
	w.model.says(calls(call("x", "look", `{"x":"1"}`), call("x", "look", `{"x":"2"}`), call("", "look", `{"x":"3"}`)),
		calls(call("x", "look", `{"x":"4"}`)), text("done"))
	c := w.ask("go")
	w.run(c)
	w.whole(c.Conversation.ID)
	if err := valid(w.model.asked[2].Messages); err != nil {
		t.Errorf("%v in %+v", err, w.model.asked[2].Messages)
	}
	if n := len(w.results(c.Conversation.ID)); n != 4 {
		t.Errorf("%d results", n)
	}
}

func TestHooks(t *testing.T) {
	t.Run("pre_tool changes, post_tool sees it", func(t *testing.T) {
		w := newWorld(t)
		w.add("push", fika.Unsafe, nil)
		w.model.says(calls(call("1", "push", `{"x":"old"}`)), text("done"))
		var post string
		cfg := w.config()
		cfg.Hooks = hooks(func(at hook.Point, p hook.Payload) (hook.Payload, error) {
			switch at {
			case hook.PreTool:
				p["arguments"] = map[string]any{"x": "new"}
			case hook.PostTool:
				post = fmt.Sprintf("%s %s", p["arguments"], p["result"])
			}
			return p, nil
		})
		_, err := turn.New(cfg).Run(t.Context(), w.ask("go"))
		w.ok(err)
		if want := `{"x":"new"} push says {"x":"new"}`; post != want {
			t.Errorf("post_tool saw %s, want %s", post, want)
		}
	})
	t.Run("pre_tool makes the arguments wrong", func(t *testing.T) {
		w := newWorld(t)
		w.add("push", fika.Unsafe, nil)
		w.model.says(calls(call("1", "push", `{}`)), text("done"))
		cfg := w.config()
		cfg.Hooks = hooks(func(at hook.Point, p hook.Payload) (hook.Payload, error) {
			if at == hook.PreTool {
				p["arguments"] = json.RawMessage(`{"x":7}`)
			}
			return p, nil
		})
		c := w.ask("go")
		_, err := turn.New(cfg).Run(t.Context(), c)
		w.ok(err)
		if len(w.calls()) > 0 || !w.results(c.Conversation.ID)[0].Meta.IsError {
			t.Errorf("ran %v", w.calls())
		}
	})
	for name, answer := range map[string]func(hook.Payload) (hook.Payload, error){
		"pre_tool blocks": func(hook.Payload) (hook.Payload, error) {
			return hook.Payload{"block": true, "message": "not on my watch"}, nil
		},
		"pre_tool fails": func(p hook.Payload) (hook.Payload, error) {
			return p, fika.Errorf(fika.Denied, "hook", "not on my watch")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("push", fika.Unsafe, nil)
			w.model.says(calls(call("1", "push", `{}`)), text("done"))
			cfg := w.config()
			cfg.Hooks = hooks(func(at hook.Point, p hook.Payload) (hook.Payload, error) {
				if at == hook.PreTool {
					return answer(p)
				}
				return p, nil
			})
			c := w.ask("go")
			_, err := turn.New(cfg).Run(t.Context(), c)
			w.ok(err)
			r := w.results(c.Conversation.ID)
			if len(w.calls()) > 0 || len(r) != 1 || !strings.Contains(r[0].Content, "not on my watch") {
				t.Errorf("ran %v, results %+v", w.calls(), r)
			}
			steps, err := w.store.Steps(t.Context(), c.Request.ID)
			w.ok(err)
			if !steps[1].StartedAt.IsZero() {
				t.Error("a blocked call was marked started")
			}
		})
	}
	t.Run("pre_message replaces the prompt for the model only", func(t *testing.T) {
		w := newWorld(t)
		w.model.says(text("done"))
		cfg := w.config()
		cfg.Hooks = hooks(func(at hook.Point, p hook.Payload) (hook.Payload, error) {
			if at == hook.PreMessage {
				p["prompt"] = "what the hook made of it"
			}
			return p, nil
		})
		c := w.ask("as stored")
		_, err := turn.New(cfg).Run(t.Context(), c)
		w.ok(err)
		if got := w.model.asked[0].Messages[0].Text; got != "what the hook made of it" {
			t.Errorf("the model saw %q", got)
		}
		if got := w.entries(c.Conversation.ID)[0].Content; got != "as stored" {
			t.Errorf("stored is %q", got)
		}
	})
}

// TestHashAfterHook: if a hook points a verifiable call at another target, the stored
// hash must not be that of the original one.
func TestHashAfterHook(t *testing.T) {
	w := newWorld(t)
	h := &hashed{fake: fake{w: w, name: "mend", effect: fika.Verifiable}}
	w.tools = append(w.tools, h)
	w.model.says(calls(call("1", "mend", `{"x":"a"}`)), text("done"))
	cfg := w.config()
	cfg.Hooks = hooks(func(at hook.Point, p hook.Payload) (hook.Payload, error) {
		if at == hook.PreTool {
			p["arguments"] = map[string]any{"x": "b"}
		}
		return p, nil
	})
	c := w.ask("go")
	_, err := turn.New(cfg).Run(t.Context(), c)
	w.ok(err)
	steps, err := w.store.Steps(t.Context(), c.Request.ID)
	w.ok(err)
	if steps[1].PreHash != `of {"x":"b"}` || steps[1].PostHash != `of {"x":"b"}` {
		t.Errorf("hashes are %q and %q", steps[1].PreHash, steps[1].PostHash)
	}
}

// hashed is a verifiable tool whose hash tells of what it was taken.
type hashed struct{ fake }

func (h *hashed) Hash(_ context.Context, c tool.Call) (string, error) {
	return "of " + string(c.Args), nil
}
