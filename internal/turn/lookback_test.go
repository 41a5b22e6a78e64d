package turn_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/openai"
	"fika/internal/turn"
)

// lookBack is how many blocks before a mark Anthropic looks for an earlier one:
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching
const lookBack = 20

// promptCache is a provider's cache that knows where its clients have put their marks.
type promptCache struct {
	kept   map[[32]byte]int // a beginning that ends with a mark → its blocks
	hits   []int            // blocks that each request found
	ends   []int            // blocks up to the last mark of each request
	marked []int
}

// take counts the blocks of a request that the cache has, as the provider would: from each
// mark it looks back at most lookBack blocks.
func (c *promptCache) take(blocks []json.RawMessage) {
	mark := []byte(`,"cache_control":{"type":"ephemeral"}`)
	sums := make([][32]byte, len(blocks))
	var marks []int
	h := sha256.New()
	for i, raw := range blocks {
		plain := bytes.ReplaceAll(raw, mark, nil)
		h.Write(plain)
		sums[i] = [32]byte(h.Sum(nil))
		if !bytes.Equal(plain, raw) {
			marks = append(marks, i)
		}
	}
	hit := 0
	for _, m := range marks {
		for i := m; i >= 0 && i > m-lookBack; i-- {
			if n, ok := c.kept[sums[i]]; ok {
				hit = max(hit, n)
				break
			}
		}
	}
	for _, m := range marks {
		c.kept[sums[m]] = m + 1
	}
	c.hits, c.marked = append(c.hits, hit), append(c.marked, len(marks))
	c.ends = append(c.ends, marks[len(marks)-1]+1)
}

// blocksOf returns the blocks of a request in the order in which they are cached.
func blocksOf(body []byte) (out []json.RawMessage, err error) {
	var b struct {
		Tools    []json.RawMessage `json:"tools"`
		System   []json.RawMessage `json:"system"`
		Messages []struct {
			Content json.RawMessage   `json:"content"`
			Calls   []json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	out = append(append(out, b.Tools...), b.System...)
	for _, m := range b.Messages {
		var parts []json.RawMessage
		if json.Unmarshal(m.Content, &parts) != nil { // a text, which is as good as a part
			parts = []json.RawMessage{fmt.Appendf(nil, `{"type":"text","text":%s}`, m.Content)}
		}
		out = append(append(out, parts...), m.Calls...)
	}
	return out, nil
}

// TestLongRoundsAreReadFromTheCache: after rounds of fifteen parallel calls, which are more
// blocks than the provider looks back, everything that the request before marked is read from
// the cache, at Anthropic and behind a gateway that speaks chat completions, and no request has
// more marks than the four that are allowed. Trial row P12.
func TestLongRoundsAreReadFromTheCache(t *testing.T) {
	for name, open := range map[string]func(url string) llm.Model{
		"anthropic": func(url string) llm.Model {
			return anthropic.New(anthropic.Options{Model: "claude-opus-4-6", BaseURL: url})
		},
		"gateway": func(url string) llm.Model {
			return openai.New(openai.Options{Model: "anthropic/claude-opus-4.6", BaseURL: url + "/v1", CacheMarks: true})
		},
	} {
		cache := &promptCache{kept: map[[32]byte]int{}}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				var blocks []json.RawMessage
				if blocks, err = blocksOf(body); err == nil {
					cache.take(blocks)
				}
			}
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, roundOf(name, len(cache.hits), 15))
		}))
		w := newWorld(t)
		w.add("look", fika.Pure, nil)
		cfg := w.config()
		cfg.Model = open(s.URL)
		for range 2 {
			res, err := turn.New(cfg).Run(t.Context(), w.ask("look at everything"))
			w.ok(err)
			if res.State != fika.Done {
				t.Fatalf("%s: %+v", name, res)
			}
		}
		s.Close()
		for i, hit := range cache.hits {
			if cache.marked[i] > 4 {
				t.Errorf("%s: request %d has %d marks", name, i+1, cache.marked[i])
			}
			if i > 0 && hit < cache.ends[i-1] {
				t.Errorf("%s: request %d reads %d blocks from the cache, of %d that the one before it marked", name, i+1, hit, cache.ends[i-1])
			}
		}
	}
}

// roundOf returns an answer with n calls, or every fourth time a text.
func roundOf(wire string, round, n int) string {
	var out bytes.Buffer
	event := func(format string, args ...any) { fmt.Fprintf(&out, "data: "+format+"\n\n", args...) }
	last := round%4 == 0
	if wire == "anthropic" {
		if last {
			event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"done"}}`)
		}
		for i := range n {
			if !last {
				event(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%d_%d","name":"look","input":{}}}`, i, round, i)
			}
		}
		event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`)
		event(`{"type":"message_stop"}`)
		return out.String()
	}
	if last {
		event(`{"choices":[{"index":0,"delta":{"content":"done"}}]}`)
	}
	for i := range n {
		if !last {
			event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d_%d","function":{"name":"look","arguments":"{}"}}]}}]}`, i, round, i)
		}
	}
	event(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	event(`[DONE]`)
	return out.String()
}

// TestCacheHour: where a person wants it, everything that is marked is cached for an hour, at
// Anthropic and behind a gateway.
func TestCacheHour(t *testing.T) {
	var sent []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		http.Error(w, "enough", http.StatusBadRequest)
	}))
	defer srv.Close()
	r := llm.Request{System: "be brief", Tools: []llm.Tool{{Name: "look"}}, Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}
	for name, c := range map[string]struct {
		marks int
		open  func(hour bool) llm.Model
	}{
		"anthropic": {3, func(hour bool) llm.Model {
			return anthropic.New(anthropic.Options{Model: "claude", BaseURL: srv.URL, CacheHour: hour})
		}},
		"gateway": {2, func(hour bool) llm.Model {
			return openai.New(openai.Options{Model: "claude", BaseURL: srv.URL, CacheMarks: true, CacheHour: hour})
		}},
	} {
		for _, hour := range []bool{false, true} {
			_, _ = c.open(hour).Generate(t.Context(), r, func(llm.Event) error { return nil })
			marks, hours := bytes.Count(sent, []byte(`"cache_control":{"type":"ephemeral"`)), bytes.Count(sent, []byte(`,"ttl":"1h"}`))
			if want := map[bool]int{true: c.marks}[hour]; marks != c.marks || hours != want {
				t.Errorf("%s, hour %v: %d marks, %d for an hour: %s", name, hour, marks, hours, sent)
			}
		}
	}
}
