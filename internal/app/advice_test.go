package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/settings/config"
)

// TestAdviceOnARefusedKey: what is said of a key that a provider refuses names where the
// key is, and how to replace it there (trial row U7).
func TestAdviceOnARefusedKey(t *testing.T) {
	m := config.Model{ID: "m", APIKeyEnv: "SOME_KEY"}
	for _, c := range []struct {
		env, byHub bool
		want       string
	}{
		{false, false, "the stored key SOME_KEY was refused for model \"m\" (fika key set SOME_KEY replaces it)"},
		{true, false, "in the environment of this shell"},
		{true, true, "in the environment of the hub"},
	} {
		a := New(Options{Root: t.TempDir(), Now: time.Now, Getenv: func(name string) string {
			if c.env && name == "SOME_KEY" {
				return "wrong"
			}
			return ""
		}})
		if c.byHub {
			a.StartedByHub()
		}
		if got := a.adviceOn(m); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A gateway gets the headers of its model with each call; keys among them come from the
// environment, and a missing one is named before anything is sent.
func TestHeadersReachTheGateway(t *testing.T) {
	var got http.Header
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	}))
	defer gateway.Close()
	for _, wire := range []string{config.OpenAI, config.Responses, config.Anthropic, config.Gemini} {
		env := map[string]string{"GATEWAY_KEY": "hidden"}
		a := New(Options{Root: t.TempDir(), Now: time.Now, Getenv: func(name string) string { return env[name] }})
		var s config.Settings
		s.Model = config.Model{ID: "m", WireModel: "m", Provider: wire, BaseURL: gateway.URL, Headers: []string{"x-for: bedrock", "X-Secret:$GATEWAY_KEY"}}
		headers, err := a.headers(s.Model)
		if err != nil {
			t.Fatal(err)
		}
		m, err := provider(s, "", headers)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		_, _ = m.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}, func(llm.Event) error { return nil }) // it is refused
		if got.Get("x-for") != "bedrock" || got.Get("x-secret") != "hidden" || got.Get("User-Agent") != "fika" {
			t.Errorf("%s: the gateway got %v", wire, got)
		}
		delete(env, "GATEWAY_KEY")
		if _, err := a.headers(s.Model); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "fika key set GATEWAY_KEY") {
			t.Errorf("%s, without the key: %v", wire, err)
		}
	}
}

// A call that is cancelled in the middle of its answer has to be paid, whatever wraps it;
// what the provider has not reported by then is estimated.
func TestACancelledCallIsCounted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a few words\"}}]}\n\n")) // the reader decides
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	a := New(Options{Root: t.TempDir(), Now: time.Now, Getenv: func(string) string { return "" }})
	var s config.Settings
	s.Model = config.Model{ID: "m", WireModel: "m", Provider: config.OpenAI, BaseURL: server.URL, Prices: config.Prices{Input: 1e6, Output: 1e6}, Priced: "config.toml"}
	s.Answer = config.Answer{MaxToolCalls: 1, MaxBytes: 1000, MaxSilent: time.Hour, MaxTime: time.Hour}
	m, err := a.Model(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := m.Generate(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}, func(e llm.Event) error {
		if e.Kind == llm.TextDelta {
			cancel()
		}
		return nil
	})
	if u := res.Usage.Add(res.Wasted); !fika.IsKind(err, fika.Interrupted) || u.Input == 0 || u.Output == 0 || !u.Estimated || u.Cost == 0 {
		t.Errorf("%+v, %v", u, err)
	}
}
