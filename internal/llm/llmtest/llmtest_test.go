package llmtest_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/llm/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const rules = `
[[rule]]
match = "list"
tool_calls = [{name = "list", args = {path = "."}}]
[[rule]]
match = "busy"
error = {status = 429, message = "slow"}
[[rule]]
match = "hello"
reply = "hello you"
reasoning = "hm"
usage = {input = 5, output = 2}
`

// A scripted model answers the same over either wire as it does directly.
func TestFromModel(t *testing.T) {
	direct, err := scripted.New(scripted.Options{Rules: []byte(rules)})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []llmtest.Wire{llmtest.OpenAI, llmtest.Anthropic} {
		srv, err := llmtest.Listen("127.0.0.1:0", w, llmtest.FromModel(direct))
		if err != nil {
			t.Fatal(err)
		}
		m := openai.New(openai.Options{BaseURL: srv.URL(), Model: "m"})
		if w == llmtest.Anthropic {
			m = anthropic.New(anthropic.Options{BaseURL: srv.URL(), Model: "m"})
		}
		for _, say := range []string{"hello", "list", "busy", "other"} {
			r := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: say}}}
			want, wantErr := direct.Generate(t.Context(), r, func(llm.Event) error { return nil })
			got, gotErr := m.Generate(t.Context(), r, func(llm.Event) error { return nil })
			if fika.KindOf(wantErr) != fika.KindOf(gotErr) || got.Text != want.Text || got.Reasoning != want.Reasoning || got.Usage != want.Usage || len(got.Calls) != len(want.Calls) {
				t.Errorf("%s, %q: %+v (%v), want %+v (%v)", w, say, got, gotErr, want, wantErr)
			}
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What a server was asked and when is on record, also while it still waits.
func TestRecords(t *testing.T) {
	release := make(chan struct{})
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Text("a"), llmtest.Wait(release), llmtest.Text("b")}
	})
	m := openai.New(openai.Options{BaseURL: srv.URL(), Model: "m"})
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := m.Generate(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "x"}}}, func(llm.Event) error { return nil })
		done <- err
	}()
	records, err := srv.Await(t.Context(), func(r []llmtest.Record) bool { return len(r) == 1 && !r[0].First.IsZero() })
	if err != nil || records[0].Done || records[0].First.Before(records[0].Received) {
		t.Fatalf("records %+v, error %v", records, err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := srv.Await(t.Context(), func(r []llmtest.Record) bool { return r[0].Done && r[0].Last.After(r[0].First) }); err != nil {
		t.Fatal(err)
	}
}
