package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Model is the server of a model that does what the last message of a conversation says, in
// lines that begin with "model: ":
//
//	model: say TEXT
//	model: call NAME ARGUMENTS    the tool whose name ends with NAME, with an object, in which
//	                              $request is the request that the last answer names
//	model: wait SECONDS           before what follows, once
//
// A message without such a line is repeated. Once a tool has answered, its answer is said. It
// speaks the wire of each program: messages (Anthropic), responses and chat completions
// (OpenAI), and generateContent (Google), streamed or whole.
type Model struct {
	// Rules come before what a message says: of those whose words are in it, the first one
	// for the number of answers that tools have given to it. They do not change while the
	// model is in use.
	Rules []Rule

	mu     sync.Mutex
	asked  []string        // the last messages, in order
	waited map[string]bool // by order
	n      atomic.Int64    // answers so far: programs that run on take two with one id for one
}

// NewModel returns a model.
func NewModel() *Model { return &Model{waited: map[string]bool{}} }

// Asked returns the last messages that the model was sent.
func (m *Model) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Rule is what the model says, or which tool it calls, when a message has certain words.
type Rule struct {
	Words   string
	Answers int // that tools have given since
	Say     string
	Tool    string // that is called, by the end of its name; empty: it says Say
	Args    string // an object
}

type object = map[string]any

// turn is what the model says next.
type turn struct {
	text string
	tool string // empty: none is called
	args object
}

// decide returns what is said next: last is the last message of a person, tools are those that
// were called after it, with their answers.
func (m *Model) decide(ctx context.Context, last string, answers, tools []string) turn {
	m.mu.Lock()
	m.asked = append(m.asked, last)
	m.mu.Unlock()
	if strings.Contains(last, "You were interrupted; go on.") { // some programs put the prompt before it into the same message
		return turn{text: "I go on."}
	}
	for _, r := range m.Rules {
		if r.Answers == len(answers) && strings.Contains(last, r.Words) {
			if r.Tool == "" {
				return turn{text: r.Say}
			}
			return call(r.Tool, r.Args, tools)
		}
	}
	var orders []string
	for line := range strings.Lines(last) {
		if _, order, ok := strings.Cut(strings.TrimSpace(line), "model: "); ok {
			orders = append(orders, strings.TrimSuffix(order, "`"))
		}
	}
	if len(orders) > 0 && strings.HasPrefix(orders[0], "wait ") {
		seconds, _ := strconv.Atoi(strings.TrimPrefix(orders[0], "wait "))
		m.mu.Lock()
		waited := m.waited[orders[0]]
		m.waited[orders[0]] = true
		m.mu.Unlock()
		orders = orders[1:]
		if !waited {
			sleep(ctx, time.Duration(seconds)*time.Second)
		}
	}
	if len(orders) == 0 {
		return turn{text: "You said: " + clip(last)}
	}
	if len(answers) > 0 && len(answers) >= len(orders) {
		return turn{text: "The tool said: " + answers[len(answers)-1]}
	}
	verb, rest, _ := strings.Cut(orders[len(answers)], " ")
	if verb != "call" {
		return turn{text: rest}
	}
	name, raw, _ := strings.Cut(rest, " ")
	if len(answers) > 0 {
		if found := requestNamed.FindStringSubmatch(answers[len(answers)-1]); found != nil {
			raw = strings.ReplaceAll(raw, "$request", found[1])
		}
	}
	return call(name, raw, tools)
}

// call is a call of the tool whose name ends with name.
func call(name, raw string, tools []string) turn {
	var args object
	if json.Unmarshal([]byte(raw), &args) != nil {
		return turn{text: "the arguments are no object: " + raw}
	}
	for _, t := range tools {
		if t == name || strings.HasSuffix(t, "_"+name) {
			return turn{tool: t, args: args}
		}
	}
	return turn{text: "no tool is named " + name + "; there are " + strings.Join(tools, " ")}
}

var requestNamed = regexp.MustCompile(`"request\\?":\s*\\?"([0-9a-f-]+)`)

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func clip(s string) string {
	if len(s) > 300 {
		return "…" + s[len(s)-300:]
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var body object
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/messages/count_tokens"):
		write(w, object{"input_tokens": 10})
	case strings.HasSuffix(path, "/messages"):
		m.messages(r.Context(), w, body)
	case strings.HasSuffix(path, "/responses"):
		m.responses(r.Context(), w, body)
	case strings.HasSuffix(path, "/chat/completions"):
		m.completions(r.Context(), w, body)
	case strings.Contains(path, "enerateContent"):
		m.content(r.Context(), w, body, strings.Contains(path, "stream"))
	case strings.HasSuffix(path, "/models"):
		write(w, object{"object": "list", "data": []object{{"id": "stand-in", "object": "model"}}, "models": []object{}})
	default:
		http.Error(w, `{"error":{"message":"not found"}}`, http.StatusNotFound)
	}
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// stream writes events.
type stream struct{ w http.ResponseWriter }

func streamTo(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w}
}

func (s stream) event(name string, v any) {
	raw, _ := json.Marshal(v) // of values that can be written
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", raw)
	_ = http.NewResponseController(s.w).Flush() // the client may have gone
}

func list(v any) []any     { out, _ := v.([]any); return out }
func dict(v any) object    { out, _ := v.(object); return out }
func text(v any) string    { out, _ := v.(string); return out }
func encoded(v any) string { raw, _ := json.Marshal(v); return string(raw) }
func names(tools any) []string {
	var out []string
	for _, t := range list(tools) {
		one := dict(t)
		if name := text(one["name"]); name != "" && one["type"] != "namespace" {
			out = append(out, name)
		}
		if f := dict(one["function"]); f != nil {
			out = append(out, text(f["name"]))
		}
		for _, inner := range list(one["tools"]) { // a namespace of codex
			out = append(out, text(one["name"])+"__"+text(dict(inner)["name"]))
		}
		for _, f := range list(one["functionDeclarations"]) {
			out = append(out, text(dict(f)["name"]))
		}
	}
	return out
}

// textOf returns the text of content: a text, or blocks of which some have one.
func textOf(content any) string {
	if s, ok := content.(string); ok {
		return s
	}
	var out []string
	for _, b := range list(content) {
		one := dict(b)
		if s := text(one["text"]); s != "" {
			out = append(out, s)
		}
		if inner := one["content"]; inner != nil {
			out = append(out, textOf(inner))
		}
	}
	return strings.Join(out, "\n")
}
