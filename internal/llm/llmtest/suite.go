package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
)

// Secret is the API key that models in [TestModel] must be made with; it must not appear
// in any error.
const Secret = "sk-very-secret-0123456789"

// TestModel checks that a provider package keeps the contract of [llm.Model]. open
// returns a model that uses the API key [Secret] and any model id.
func TestModel(t *testing.T, w Wire, open func(baseURL string) llm.Model) {
	s := suite{wire: w, open: open}
	for name, test := range map[string]func(*testing.T){
		"text":                 s.text,
		"reasoning":            s.reasoning,
		"calls":                s.calls,
		"call ids":             s.callIDs,
		"whole message":        s.whole,
		"truncated":            s.truncated,
		"empty":                s.empty,
		"refusal":              s.refusal,
		"request":              s.request,
		"tool loop":            s.toolLoop,
		"status":               s.status,
		"trouble in stream":    s.trouble,
		"cut":                  s.cut,
		"garbage":              s.garbage,
		"keep-alive":           s.keepAlive,
		"no end mark":          s.noEndMark,
		"left open":            s.leftOpen,
		"cancelled":            s.cancelled,
		"emit refuses":         s.emitRefuses,
		"nobody there":         s.nobodyThere,
		"endless":              s.endless,
		"at once":              s.atOnce,
		"secret in the answer": s.secret,
	} {
		t.Run(name, test)
	}
}

type suite struct {
	wire Wire
	open func(baseURL string) llm.Model
}

// serve starts a server that always answers with script.
func (s suite) serve(t *testing.T, script ...Action) (*Server, llm.Model) {
	t.Helper()
	srv := start(t, s.wire, func(Request) Script { return script })
	return srv, s.open(srv.URL())
}

// ask makes a plain call and collects its events.
func (s suite) ask(t *testing.T, script ...Action) (llm.Response, []llm.Event, error) {
	t.Helper()
	_, m := s.serve(t, script...)
	return collect(t.Context(), m, hello())
}

func hello() llm.Request {
	return llm.Request{System: "be kind", Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}
}

func collect(ctx context.Context, m llm.Model, r llm.Request) (llm.Response, []llm.Event, error) {
	var events []llm.Event
	res, err := m.Generate(ctx, r, func(e llm.Event) error {
		if e.Kind != llm.Alive && e.Kind != llm.KeepAlive {
			events = append(events, e)
		}
		return nil
	})
	return res, events, err
}

func textOf(events []llm.Event, kind llm.EventKind) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == kind {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// failure checks that err is a provider's and does not contain the secret, and returns
// it.
func failure(t *testing.T, err error) *llm.ProviderError {
	t.Helper()
	var p *llm.ProviderError
	if !errors.As(err, &p) || fika.KindOf(err) != fika.Provider {
		t.Fatalf("error is %v (%s), want one of a provider", err, fika.KindOf(err))
	}
	if strings.Contains(err.Error(), Secret) {
		t.Errorf("the API key is in the error: %v", err)
	}
	return p
}

func (s suite) text(t *testing.T) {
	res, events, err := s.ask(t, Text("hel", "lo ", "wörld"), UsageOf(12, 3, 8, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Event{{Kind: llm.TextDelta, Text: "hel"}, {Kind: llm.TextDelta, Text: "lo "}, {Kind: llm.TextDelta, Text: "wörld"}}
	if d := cmp.Diff(want, events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if res.Text != "hello wörld" || res.Stop != llm.StopEnd || len(res.Calls) != 0 {
		t.Errorf("response is %+v", res)
	}
	if want := (fika.Usage{Input: 12, Output: 3, Cached: 8, Reasoning: 1}); res.Usage != want {
		t.Errorf("usage is %+v, want %+v", res.Usage, want)
	}
	if !json.Valid(res.Blob) {
		t.Errorf("blob is not JSON: %s", res.Blob)
	}
}

func (s suite) reasoning(t *testing.T) {
	res, events, err := s.ask(t, Reasoning("let me ", "think"), Text("done"))
	if err != nil {
		t.Fatal(err)
	}
	if res.Reasoning != "let me think" || textOf(events, llm.ReasoningDelta) != res.Reasoning || res.Text != "done" {
		t.Errorf("response is %+v, events %+v", res, events)
	}
}

func (s suite) calls(t *testing.T) {
	res, _, err := s.ask(t, Text("I look"), Call("a", "read", `{"pa`, `th":"x"}`), Call("b", "list"), Call("c", "list", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Call{{ID: "a", Name: "read", Args: `{"path":"x"}`}, {ID: "b", Name: "list", Args: "{}"}, {ID: "c", Name: "list", Args: "{}"}}
	if d := cmp.Diff(want, res.Calls); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

func (s suite) callIDs(t *testing.T) {
	res, _, err := s.ask(t, Call("same", "a", `{}`), Call("same", "b", `{}`), Call("", "c", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range res.Calls {
		if c.ID == "" || seen[c.ID] {
			t.Errorf("call id %q is empty or used twice", c.ID)
		}
		seen[c.ID] = true
	}
	if len(res.Calls) != 3 {
		t.Errorf("%d calls, want 3: %+v", len(res.Calls), res.Calls)
	}
}

func (s suite) whole(t *testing.T) {
	res, _, err := s.ask(t, Whole("all at once", ToolCall{"a", "read", `{"path":"x"}`}, ToolCall{"b", "list", `{}`}))
	if err != nil {
		t.Fatal(err)
	}
	if res.Text != "all at once" || len(res.Calls) != 2 || res.Calls[0].Args != `{"path":"x"}` || res.Calls[1].Name != "list" {
		t.Errorf("response is %+v", res)
	}
}

func (s suite) truncated(t *testing.T) {
	reason := map[Wire]string{OpenAI: "length", Anthropic: "max_tokens"}[s.wire]
	res, _, err := s.ask(t, Text("so"), Call("a", "edit", `{"path":"x","te`), Stop(reason))
	if err != nil {
		t.Fatal(err)
	}
	if res.Stop != llm.StopLength || len(res.Calls) != 1 {
		t.Errorf("response is %+v", res)
	}
	if !json.Valid(res.Blob) {
		t.Errorf("blob is not JSON: %s", res.Blob)
	}
}

func (s suite) empty(t *testing.T) {
	res, events, err := s.ask(t, Usage(3, 0))
	if err != nil {
		t.Fatal(err)
	}
	if res.Text != "" || len(res.Calls) != 0 || len(events) != 0 {
		t.Errorf("response is %+v, events %+v", res, events)
	}
}

func (s suite) refusal(t *testing.T) {
	res, _, err := s.ask(t, Refusal("I will not do that."))
	if err != nil {
		t.Fatal(err)
	}
	if res.Stop != llm.StopRefusal || res.StopText != "I will not do that." {
		t.Errorf("response is %+v", res)
	}
}

func (s suite) request(t *testing.T) {
	srv, m := s.serve(t, Text("ok"))
	r := hello()
	r.MaxTokens = 77
	r.Tools = []llm.Tool{{Name: "read", Description: "reads", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "bare"},
		{Name: "kept", Description: "says \"<b>\" & more\n", Parameters: json.RawMessage(`{"type":"object","x":"<"}`), Kept: true}}
	if _, _, err := collect(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	got := srv.Requests()[0]
	if got.System != "be kind" || got.MaxTokens != 77 || !got.Stream || got.Model == "" {
		t.Errorf("request is %+v", got.Request)
	}
	if d := cmp.Diff(r.Messages, got.Messages); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
	if len(got.Tools) != 3 || string(got.Tools[0].Parameters) != string(r.Tools[0].Parameters) || got.Tools[0].Description != "reads" || !strings.Contains(string(got.Tools[1].Parameters), `"object"`) {
		t.Errorf("tools are %s", got.Body)
	}
	if kept := got.Tools[2]; kept.Description != r.Tools[2].Description || string(kept.Parameters) != string(r.Tools[2].Parameters) {
		t.Errorf("a tool whose parameters were kept is sent as %+v", kept)
	}
	if !strings.Contains(got.Header.Get("Authorization")+got.Header.Get("X-Api-Key"), Secret) {
		t.Errorf("the API key was not sent: %v", got.Header)
	}
}

// toolLoop makes a second round with the result of the first, as a turn does, and once
// more without the blob, as another provider's turn would look.
func (s suite) toolLoop(t *testing.T) {
	srv := start(t, s.wire, func(r Request) Script {
		if len(r.Messages) == 1 {
			return Script{Reasoning("hm"), Text("I look"), Call("a:1", "read", `{"path":"x"}`), Call("", "list")}
		}
		return Script{Text("thanks")}
	})
	m := s.open(srv.URL())
	res, _, err := collect(t.Context(), m, hello())
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range []json.RawMessage{res.Blob, nil, json.RawMessage(`{"role":"assistant"`), json.RawMessage(`7`)} {
		r := hello()
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Text: res.Text, Calls: res.Calls, Blob: blob})
		for i, c := range res.Calls {
			r.Messages = append(r.Messages, llm.Message{Role: llm.ToolRole, CallID: c.ID, Text: "content", IsError: i == 1})
		}
		second, _, err := collect(t.Context(), m, r)
		if err != nil {
			t.Fatalf("with blob %s: %v", blob, err)
		}
		if second.Text != "thanks" {
			t.Errorf("second answer is %q", second.Text)
		}
		records := srv.Requests()
		body := string(records[len(records)-1].Body)
		if blob := string(blob); blob == string(res.Blob) && !strings.Contains(body, `"hm"`) {
			t.Errorf("reasoning was not sent back: %s", body)
		}
	}
}

func (s suite) status(t *testing.T) {
	for _, c := range []struct {
		status int
		after  time.Duration
		retry  bool
	}{{400, 0, false}, {401, 0, false}, {404, 0, false}, {429, 3 * time.Second, true}, {500, 0, true}, {529, 0, true}} {
		res, _, err := s.ask(t, Status(c.status, "no "+Secret+" today", c.after))
		p := failure(t, err)
		if p.Status != c.status || p.RetryAfter != c.after || p.Retryable() != c.retry || p.Visible {
			t.Errorf("%d gives %+v", c.status, p)
		}
		if !strings.Contains(p.Message, "no ") || !strings.Contains(p.Message, " today") {
			t.Errorf("the provider's words are missing: %q", p.Message)
		}
		if res.Text != "" || res.Calls != nil {
			t.Errorf("a failed call has a response: %+v", res)
		}
	}
}

func (s suite) trouble(t *testing.T) {
	kind := map[Wire]string{OpenAI: "429", Anthropic: "rate_limit_error"}[s.wire]
	_, events, err := s.ask(t, Text("half an "), Error(kind, "slow down"))
	p := failure(t, err)
	if p.Status != 429 || !p.Visible || !p.Retryable() || !strings.Contains(p.Message, "slow down") {
		t.Errorf("error is %+v", p)
	}
	if textOf(events, llm.TextDelta) != "half an " {
		t.Errorf("events are %+v", events)
	}
	kind = map[Wire]string{OpenAI: "overloaded_error", Anthropic: "overloaded_error"}[s.wire]
	if _, _, err := s.ask(t, Error(kind, "busy")); failure(t, err).Status != 529 {
		t.Errorf("overloaded gives %v", err)
	}
}

func (s suite) cut(t *testing.T) {
	for name, script := range map[string]Script{
		"before anything": {Cut()},
		"in text":         {Text("half"), Cut()},
		"in a call":       {Call("a", "edit", `{"path":`), Cut()},
	} {
		res, _, err := s.ask(t, script...)
		p := failure(t, err)
		if p.Status != 0 || !p.Retryable() || len(res.Calls) != 0 {
			t.Errorf("%s: error is %+v, response %+v", name, p, res)
		}
		if p.Visible != (name == "in text") {
			t.Errorf("%s: visible is %v", name, p.Visible)
		}
	}
}

func (s suite) garbage(t *testing.T) {
	for _, junk := range []string{"data: {\"broken\n\n", "data: []\n\n", "data: 7\n\n", "\x00\xff\xfe<html>", "data: {\"choices\":7}\n\n", "data: {\"type\":7}\n\n"} {
		_, _, err := s.ask(t, Raw(junk), Cut())
		if p := failure(t, err); p.Status != 0 {
			t.Errorf("%q gives %+v", junk, p)
		}
	}
}

func (s suite) keepAlive(t *testing.T) {
	_, m := s.serve(t, Comment("PROCESSING"), Comment("PROCESSING"), Text("ok"), Comment("keep-alive"))
	alive := 0
	res, err := m.Generate(t.Context(), hello(), func(e llm.Event) error {
		if e.Kind == llm.KeepAlive {
			alive++
		}
		return nil
	})
	if err != nil || res.Text != "ok" {
		t.Fatalf("response %+v, error %v", res, err)
	}
	if alive < 2 {
		t.Errorf("%d signs of life, want at least 2", alive)
	}
}

func (s suite) noEndMark(t *testing.T) {
	res, _, err := s.ask(t, Text("ok"), NoDone())
	if err != nil || res.Text != "ok" {
		t.Errorf("response %+v, error %v", res, err)
	}
}

func (s suite) leftOpen(t *testing.T) {
	res, _, err := s.ask(t, Text("ok"), Call("a", "list"), Open())
	if err != nil || res.Text != "ok" || len(res.Calls) != 1 {
		t.Errorf("response %+v, error %v", res, err)
	}
}

func (s suite) cancelled(t *testing.T) {
	_, m := s.serve(t, Text("so"), Stall())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := m.Generate(ctx, hello(), func(e llm.Event) error {
		if e.Kind == llm.TextDelta {
			cancel()
		}
		return nil
	})
	if fika.KindOf(err) != fika.Interrupted {
		t.Errorf("error is %v (%s), want interrupted", err, fika.KindOf(err))
	}
	if u := res.Usage; u.Input == 0 || u.Output == 0 || !u.Estimated {
		t.Errorf("the tokens of a call that was cancelled in its answer: %+v", u)
	}
	if _, err := m.Generate(ctx, hello(), func(llm.Event) error { return nil }); fika.KindOf(err) != fika.Interrupted {
		t.Errorf("with a dead context: %v", err)
	}
}

func (s suite) emitRefuses(t *testing.T) {
	_, m := s.serve(t, Text("so", "much"), Stall())
	enough := errors.New("enough")
	_, err := m.Generate(t.Context(), hello(), func(e llm.Event) error {
		if e.Kind == llm.TextDelta {
			return enough
		}
		return nil
	})
	if err != enough {
		t.Errorf("error is %v, want emit's own", err)
	}
}

func (s suite) nobodyThere(t *testing.T) {
	srv, m := s.serve(t)
	srv.Close()
	_, _, err := collect(t.Context(), m, hello())
	if p := failure(t, err); p.Status != 0 {
		t.Errorf("error is %+v", p)
	}
}

// endless checks that memory stays bounded whatever arrives.
func (s suite) endless(t *testing.T) {
	piece := strings.Repeat("0123456789abcdef", 1<<15)
	var text, args []string
	for range 40 {
		text, args = append(text, piece), append(args, piece)
	}
	for name, a := range map[string]Action{"text": Text(text...), "arguments": Call("a", "edit", args...)} {
		if _, _, err := s.ask(t, a); fika.KindOf(err) != fika.Limit {
			t.Errorf("endless %s: %v (%s), want a limit", name, err, fika.KindOf(err))
		}
	}
}

func (s suite) atOnce(t *testing.T) {
	srv := start(t, s.wire, func(r Request) Script { return Script{Text("you said ", r.Messages[0].Text)} })
	m := s.open(srv.URL())
	results := make(chan string, 8)
	for i := range cap(results) {
		go func() {
			text := strings.Repeat("x", i+1)
			res, _, err := collect(t.Context(), m, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: text}}})
			if err == nil && res.Text == "you said "+text {
				results <- ""
				return
			}
			results <- "got " + res.Text
		}()
	}
	for range cap(results) {
		if r := <-results; r != "" {
			t.Error(r)
		}
	}
}

func (s suite) secret(t *testing.T) {
	_, _, err := s.ask(t, Raw("data: {"+Secret+"\n\n"), Cut())
	failure(t, err)
	_, _, err = s.ask(t, Error("500", "your key is "+Secret))
	failure(t, err)
}
