package anthropic

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"fika/internal/llm"
)

// With CacheHour all that is marked is cached for an hour: tools, system text, messages.
func TestCacheHour(t *testing.T) {
	var sent []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		http.Error(w, "enough", http.StatusBadRequest)
	}))
	defer srv.Close()
	r := llm.Request{System: "be brief", Tools: []llm.Tool{{Name: "look"}}, Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}
	for _, hour := range []bool{false, true} {
		m := New(Options{BaseURL: srv.URL, Insecure: true, Model: "claude", CacheHour: hour})
		_, _ = m.Generate(t.Context(), r, func(llm.Event) error { return nil })
		marks, hours := bytes.Count(sent, []byte(`"cache_control":{"type":"ephemeral"`)), bytes.Count(sent, []byte(`,"ttl":"1h"}`))
		if want := map[bool]int{true: 3}[hour]; marks != 3 || hours != want {
			t.Errorf("hour %v: %d marks, %d for an hour: %s", hour, marks, hours, sent)
		}
	}
}
