package prefix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Wire is the protocol that a program speaks with a model's provider.
type Wire string

// The wires, named as the provider in a [[models]] entry.
const (
	OpenAI    Wire = "openai"
	Anthropic Wire = "anthropic"
)

// Asked is a request for a model's answer.
type Asked struct {
	Model string // its name, by which agents are told apart
	N     int    // how many requests this model got, this one included
	Body  []byte
}

// Says reports whether the request holds a text, as it is written in JSON.
func (a Asked) Says(text string) bool { return bytes.Contains(a.Body, []byte(text)) }

// Call is a tool call that a model makes.
type Call struct{ Name, Args string }

// Answer is what a model says: calls, or a text.
type Answer struct {
	Text  string
	Calls []Call
}

// Counter is a model server on loopback for both wires. It answers at once, as the script
// says, and records every request. It is safe for concurrent use.
type Counter struct {
	server *httptest.Server
	script func(Asked) Answer

	mu    sync.Mutex
	more  *sync.Cond // a request has come
	asked map[string][]Asked
}

// NewCounter starts a counter. The caller closes it.
func NewCounter(script func(Asked) Answer) *Counter {
	c := &Counter{script: script, asked: map[string][]Asked{}}
	c.more = sync.NewCond(&c.mu)
	c.server = httptest.NewServer(c)
	return c
}

// Close ends the server.
func (c *Counter) Close() { c.server.Close() }

// URL returns the base URL of its models.
func (c *Counter) URL() string { return c.server.URL }

// Await returns when a model has been asked n times.
func (c *Counter) Await(model string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.asked[model]) < n {
		c.more.Wait()
	}
}

// Asked returns the requests that a model got, in order.
func (c *Counter) Asked(model string) []Asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked[model])
}

// Rows returns what was counted, by model.
func (c *Counter) Rows() []Row {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rows []Row
	for model, asked := range c.asked {
		rows = append(rows, count(model, asked))
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Model, b.Model) })
	return rows
}

// ServeHTTP implements [http.Handler].
func (c *Counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var head struct{ Model string }
	if r.Method != http.MethodPost || json.Unmarshal(body, &head) != nil {
		http.NotFound(w, r)
		return
	}
	var write func(io.Writer, string, int, Answer)
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		write = writeCompletion
	case strings.HasSuffix(r.URL.Path, "/messages"):
		write = writeMessage
	default:
		http.NotFound(w, r)
		return
	}
	c.mu.Lock()
	asked := Asked{head.Model, len(c.asked[head.Model]) + 1, body}
	c.asked[head.Model] = append(c.asked[head.Model], asked)
	c.mu.Unlock()
	c.more.Broadcast()
	w.Header().Set("Content-Type", "text/event-stream")
	write(w, fmt.Sprintf("%s_%d", head.Model, asked.N), len(body)/4, c.script(asked)) // four bytes a token
}

func writeCompletion(w io.Writer, id string, tokens int, a Answer) {
	delta, end := map[string]any{"role": "assistant", "content": a.Text}, "stop"
	var calls []any
	for i, call := range a.Calls {
		calls = append(calls, map[string]any{
			"index": i, "id": fmt.Sprintf("call_%s_%d", id, i), "type": "function",
			"function": map[string]any{"name": call.Name, "arguments": call.Args},
		})
	}
	if calls != nil {
		delta["tool_calls"], end = calls, "tool_calls"
	}
	for _, chunk := range []any{
		map[string]any{"id": id, "object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}},
		map[string]any{"id": id, "object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": end}}},
		map[string]any{"id": id, "object": "chat.completion.chunk", "choices": []any{}, "usage": map[string]any{"prompt_tokens": tokens, "completion_tokens": 2, "total_tokens": tokens + 2}},
	} {
		raw, _ := json.Marshal(chunk)
		fmt.Fprintf(w, "data: %s\n\n", raw)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func writeMessage(w io.Writer, id string, tokens int, a Answer) {
	event := func(kind string, fields map[string]any) {
		fields["type"] = kind
		raw, _ := json.Marshal(fields)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
	}
	block := func(i int, start, delta map[string]any) {
		event("content_block_start", map[string]any{"index": i, "content_block": start})
		event("content_block_delta", map[string]any{"index": i, "delta": delta})
		event("content_block_stop", map[string]any{"index": i})
	}
	event("message_start", map[string]any{"message": map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": "m", "content": []any{}, "usage": map[string]any{"input_tokens": tokens, "output_tokens": 1},
	}})
	n, end := 0, "end_turn"
	if a.Text != "" {
		block(n, map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": a.Text})
		n++
	}
	for _, call := range a.Calls {
		end = "tool_use"
		block(n, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", id, n), "name": call.Name, "input": map[string]any{}},
			map[string]any{"type": "input_json_delta", "partial_json": call.Args})
		n++
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": end}, "usage": map[string]any{"output_tokens": 2}})
	event("message_stop", map[string]any{})
}

// Row is what was counted of the requests of one model. Sizes are in bytes.
type Row struct {
	Model    string
	Requests int
	Bytes    int // of all bodies
	// Prompt is what the requests but the first held that a provider caches, and Common
	// how much of that the request before began with, too. Seen counts the longest
	// beginning that any earlier request had.
	Prompt, Common, Seen int
	// Lost is what a request held and the next one did not begin with: it is paid for
	// again.
	Lost int
	// Heads counts the requests whose tools or system text are not those of the one before.
	Heads int
}

// Share returns the percentage of the prompts that the request before began with, too.
func (r Row) Share() float64 { return 100 * float64(r.Common) / float64(max(r.Prompt, 1)) }

// SeenShare returns the percentage of the prompts that any earlier request began with, too.
func (r Row) SeenShare() float64 { return 100 * float64(r.Seen) / float64(max(r.Prompt, 1)) }

func (r Row) String() string {
	return fmt.Sprintf("%-10s %3d requests %8d bytes  common prefix %5.1f %%  (with any before %5.1f %%)  lost %6d  new heads %d", r.Model, r.Requests, r.Bytes, r.Share(), r.SeenShare(), r.Lost, r.Heads)
}

func count(model string, asked []Asked) Row {
	r := Row{Model: model}
	var before []string
	for _, a := range asked {
		r.Requests++
		r.Bytes += len(a.Body)
		head, rest := Cached(a.Body)
		now := head + rest
		if n := len(before); n > 0 {
			most := 0
			for _, b := range before {
				most = max(most, Common(b, now))
			}
			if !strings.HasPrefix(before[n-1], head) {
				r.Heads++
			}
			last := Common(before[n-1], now)
			r.Prompt, r.Common, r.Seen, r.Lost = r.Prompt+len(now), r.Common+last, r.Seen+most, r.Lost+len(before[n-1])-last
		}
		before = append(before, now)
	}
	return r
}

// cacheMark matches a cache mark, which moves on with the conversation and is not cached.
const cacheMark = `,?"cache_control":\{[^}]*\}`

// Cached returns what a provider caches of a request, in the order in which it does: the
// head, which is tools and system text, and the messages.
func Cached(body []byte) (head, messages string) {
	var b struct {
		Tools, System json.RawMessage
		Messages      []json.RawMessage
	}
	if json.Unmarshal(regexp.MustCompile(cacheMark).ReplaceAll(body, nil), &b) != nil {
		return "", ""
	}
	head = string(b.Tools) + string(b.System)
	var text strings.Builder
	for i, m := range b.Messages {
		var first struct{ Role string }
		if i == 0 && json.Unmarshal(m, &first) == nil && first.Role == "system" {
			head += string(m)
			continue
		}
		text.Write(m)
	}
	return head, text.String()
}

// Common returns the length of the longest common beginning of two texts.
func Common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
