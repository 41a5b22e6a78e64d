package turn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/store"
	"fika/internal/turn"
	"fika/internal/turn/prompt"
)

// noted is a prompter whose state changes as the test says.
type noted struct{ state *string }

func (n noted) Prompt(context.Context, store.Claimed) (prompt.Prompt, error) {
	return prompt.Assemble(prompt.Parts{Base: "you are a test", Todos: *n.state}), nil
}

// TestC5Prefix: everything of a request that may be cached, all bytes up to its last
// cache mark, stands unchanged at the beginning of the next one: within a turn, in the
// next turn, and even if the todos have changed. Changes come after it.
func TestC5Prefix(t *testing.T) {
	for w, open := range map[llmtest.Wire]func(string) llm.Model{
		llmtest.OpenAI: func(url string) llm.Model { return openai.New(openai.Options{BaseURL: url, Model: "m"}) },
		llmtest.Anthropic: func(url string) llm.Model {
			return anthropic.New(anthropic.Options{BaseURL: url, Model: "claude-opus-5-5"})
		},
	} {
		t.Run(string(w), func(t *testing.T) { prefix(t, w, open) })
	}
}

func prefix(t *testing.T, wire llmtest.Wire, open func(string) llm.Model) {
	w := newWorld(t)
	w.add("look", fika.Pure, nil)
	serve := llmtest.NewOpenAI
	if wire == llmtest.Anthropic {
		serve = llmtest.NewAnthropic
	}
	srv := serve(t, func(r llmtest.Request) llmtest.Script {
		if r.N%3 != 0 { // two rounds of tools, then the answer
			return llmtest.Script{llmtest.Reasoning(fmt.Sprint("thought ", r.N)), llmtest.Call(fmt.Sprint("c", r.N), "look", `{"x":"<&>"}`)}
		}
		return llmtest.Script{llmtest.Reasoning("done"), llmtest.Text(fmt.Sprint("answer ", r.N))}
	})
	state := ""
	cfg := w.config()
	cfg.Model, cfg.Prompt = open(srv.URL()), noted{&state}
	states := []string{"", "todo one", "todo one", "todo two", "todo three", "", ""}
	for i, s := range states {
		state = s
		_, err := turn.New(cfg).Run(t.Context(), w.ask(fmt.Sprint("prompt ", i)))
		w.ok(err)
	}
	requests := srv.Requests()
	if len(requests) != 3*len(states) {
		t.Fatalf("%d requests", len(requests))
	}
	for i, r := range requests[:len(requests)-1] {
		head := cacheable(t, wire, r.Body)
		if next := unmarked(requests[i+1].Body); !bytes.HasPrefix(next, head) {
			n := 0
			for n < len(head) && head[n] == next[n] {
				n++
			}
			t.Fatalf("request %d is not the beginning of the next one: at byte %d of %d, %.200s becomes %.200s", i+1, n, len(head), head[n:], next[n:])
		}
		if next := unmarked(requests[i+1].Body); !bytes.HasPrefix(next, bytes.TrimRight(unmarked(r.Body), "]}")) {
			t.Errorf("request %d is not continued by the next one, whose reasoning would be void: %s", i+1, next)
		}
		if i%3 != 0 {
			continue
		}
		k := i / 3
		before := ""
		if k > 0 {
			before = states[k-1]
		}
		if told := states[k] != "" && states[k] != before; told != bytes.Contains(unmarked(r.Body)[len(head):], []byte(states[k])) && told {
			t.Errorf("turn %d: %q is not told after what is cached: %s", k, states[k], unmarked(r.Body)[len(head):])
		}
		if states[k] != before && bytes.Contains(head, []byte(`"`+states[k]+`"`)) {
			t.Errorf("turn %d: %q is told before the end of what is cached", k, states[k])
		}
	}
	last := requests[len(requests)-1].Body
	if !bytes.Contains(last, []byte("thought 1")) {
		t.Errorf("reasoning of earlier turns is lost: %s", last)
	}
	if wire == llmtest.Anthropic && bytes.Count(last, []byte(`"cache_control":{"type":"ephemeral"}`)) != 4 {
		t.Errorf("tools, system, what the last call was sent and what this one is sent are not marked once each: %s", last)
	}
}

// unmarked returns a request without its cache marks, which move on and are no part of
// what is cached.
func unmarked(body []byte) []byte {
	return bytes.ReplaceAll(body, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
}

// cacheable returns the part of a request that its provider may find again: up to the
// last cache mark or, without marks, up to the state that only this request has at its end.
func cacheable(t *testing.T, w llmtest.Wire, body []byte) []byte {
	if w == llmtest.Anthropic {
		return unmarked(body[:bytes.LastIndex(body, []byte(`,"cache_control"`))])
	}
	var r struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	last := r.Messages[len(r.Messages)-1]
	state := bytes.Index(last, []byte(`\n\n(From the system`))
	if state < 0 {
		return bytes.TrimSuffix(body, []byte("]}"))
	}
	return body[:bytes.LastIndex(body, last)+state]
}
