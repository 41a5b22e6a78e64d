package modelcheck

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
)

// able answers as a model that can do what it is told to can.
type able struct {
	can  map[string]bool
	fail error
	seen map[string]bool // prompts
}

func (m *able) Generate(_ context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	resp := llm.Response{Usage: fika.Usage{Input: 10, Output: 2, Estimated: !m.can["usage"]}}
	if m.fail != nil {
		return resp, m.fail
	}
	switch {
	case len(r.Tools) > 0:
		if m.can["tools"] {
			resp.Calls = []llm.Call{{Name: "report_colour", Args: `{"colour":"red"}`}}
		}
	case r.Schema != nil:
		if resp.Text = "Paris"; m.can["schema"] {
			resp.Text = `{"city":"Paris"}`
		}
	case len(last.Images) > 0:
		if !m.can["pictures"] {
			return llm.Response{}, fika.Wrap(fika.Provider, "", &llm.ProviderError{Status: 400, Message: "no images here"})
		}
		resp.Text = "Red."
	case len(r.Messages) > 1:
		all, _ := json.Marshal(r.Messages)
		if m.can["caching"] && m.seen[string(all)] {
			resp.Usage.Cached = 9
		}
		m.seen[string(all)] = true
	case m.can["text"]:
		resp.Text = "one two three four five six seven eight nine ten"
	}
	pieces := []string{resp.Text}
	if m.can["stream"] {
		pieces = strings.SplitAfter(resp.Text, " ")
	}
	for _, p := range pieces {
		if err := emit(llm.Event{Kind: llm.TextDelta, Text: p}); err != nil {
			return resp, err
		}
	}
	return resp, nil
}

// TestRun: each thing is found to work where it does, and only there.
func TestRun(t *testing.T) {
	for _, one := range append([]string{""}, Names...) {
		m := &able{can: map[string]bool{}, seen: map[string]bool{}}
		for _, name := range Names {
			m.can[name] = name != one
		}
		m.can["stream"] = m.can["stream"] && m.can["text"] // nothing comes in pieces
		r, err := Run(t.Context(), m, nil)
		if err != nil || r.Calls != 6 || r.Usage.Output == 0 || len(r.Findings) != len(Names) {
			t.Fatalf("without %q: %+v, %v", one, r, err)
		}
		for i, f := range r.Findings {
			if f.Name != Names[i] || f.Works != m.can[f.Name] || f.Said == "" {
				t.Errorf("without %q: %+v", one, f)
			}
		}
		if one == "pictures" && !strings.Contains(r.Findings[5].Said, "no images here") {
			t.Errorf("the server's words are missing: %+v", r.Findings[5])
		}
	}
	r, err := Run(t.Context(), &able{can: map[string]bool{"schema": true}}, []string{"schema"})
	if err != nil || r.Calls != 1 || len(r.Findings) != 1 || !r.Findings[0].Works {
		t.Errorf("only the schema: %+v, %v", r, err)
	}
	down := errors.New("down")
	if r, err := Run(t.Context(), &able{fail: down}, nil); !errors.Is(err, down) || r.Calls != 1 || len(r.Findings) != 0 {
		t.Errorf("a model that cannot be asked: %+v, %v", r, err)
	}
}
