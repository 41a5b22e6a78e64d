package llmtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/gemini"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/llm/responses"
)

// makers make a model of each wire.
func makers() map[string]func(baseURL, key string, insecure bool) llm.Model {
	return map[string]func(string, string, bool) llm.Model{
		"openai": func(url, key string, insecure bool) llm.Model {
			return openai.New(openai.Options{BaseURL: url, APIKey: key, Insecure: insecure, Model: "m"})
		},
		"anthropic": func(url, key string, insecure bool) llm.Model {
			return anthropic.New(anthropic.Options{BaseURL: url, APIKey: key, Insecure: insecure, Model: "m"})
		},
		"responses": func(url, key string, insecure bool) llm.Model {
			return responses.New(responses.Options{BaseURL: url, APIKey: key, Insecure: insecure, Model: "m"})
		},
		"gemini": func(url, key string, insecure bool) llm.Model {
			return gemini.New(gemini.Options{BaseURL: url, APIKey: key, Insecure: insecure, Model: "m"})
		},
	}
}

// TestD5Redirects: a provider that sends the caller elsewhere is not obeyed: no
// byte of key or prompt reaches another address, and the error names it.
func TestD5Redirects(t *testing.T) {
	var reached atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(elsewhere.Close)
	for name, open := range makers() {
		for _, status := range []int{301, 302, 303, 307, 308} {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL+"/v1/steal?key=1", status)
			}))
			r := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "my secret prompt"}}}
			_, err := open(srv.URL+"/v1", llmtest.Secret, false).Generate(t.Context(), r, func(llm.Event) error { return nil })
			srv.Close()
			if fika.KindOf(err) != fika.Provider || !strings.Contains(err.Error(), elsewhere.URL) || !strings.Contains(err.Error(), "base_url") ||
				strings.Contains(err.Error(), "steal") || !strings.Contains(err.Error(), fmt.Sprint(status)) {
				t.Errorf("%s, %d: %v", name, status, err)
			}
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the other host was reached %d times", n)
	}
}

// wired counts calls instead of making them.
type wired struct{ calls int }

func (w *wired) RoundTrip(*http.Request) (*http.Response, error) {
	w.calls++
	return nil, http.ErrServerClosed
}

// TestD5Plain: a key goes over plain http to this machine only, unless that is
// allowed; without a key nothing is refused.
func TestD5Plain(t *testing.T) {
	for _, c := range []struct {
		url, key string
		insecure bool
		refused  bool
	}{
		{"http://gpu.lan:8000/v1", llmtest.Secret, false, true},
		{"http://192.0.2.7/v1", llmtest.Secret, false, true},
		{"http://127.0.0.1.evil.test/v1", llmtest.Secret, false, true},
		{"http://localhost.evil.test/v1", llmtest.Secret, false, true},
		{"http://gpu.lan:8000/v1", llmtest.Secret, true, false},
		{"http://gpu.lan:8000/v1", "", false, false},
		{"https://gpu.lan/v1", llmtest.Secret, false, false},
		{"http://LOCALHOST:1/v1", llmtest.Secret, false, false},
		{"http://[::1]:1/v1", llmtest.Secret, false, false},
		{"http://127.8.9.1:1/v1", llmtest.Secret, false, false},
	} {
		line := &wired{}
		client := &http.Client{Transport: line}
		for name, m := range map[string]llm.Model{
			"openai":    openai.New(openai.Options{BaseURL: c.url, APIKey: c.key, Insecure: c.insecure, Model: "m", HTTPClient: client}),
			"anthropic": anthropic.New(anthropic.Options{BaseURL: c.url, APIKey: c.key, Insecure: c.insecure, Model: "m", HTTPClient: client}),
			"responses": responses.New(responses.Options{BaseURL: c.url, APIKey: c.key, Insecure: c.insecure, Model: "m", HTTPClient: client}),
			"gemini":    gemini.New(gemini.Options{BaseURL: c.url, APIKey: c.key, Insecure: c.insecure, Model: "m", HTTPClient: client}),
		} {
			line.calls = 0
			_, err := m.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}, func(llm.Event) error { return nil })
			if refused := fika.KindOf(err) == fika.Invalid; refused != c.refused || refused != (line.calls == 0) {
				t.Errorf("%s, %s, insecure %v: %d calls, %v", name, c.url, c.insecure, line.calls, err)
			}
			if c.refused && !strings.Contains(err.Error(), "insecure = true") {
				t.Errorf("%s: nobody learns what to set: %v", name, err)
			}
		}
	}
}
