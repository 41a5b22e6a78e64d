package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"fika"
	"fika/internal/report/delivery"
	"fika/internal/report/trace"
	"fika/internal/store"
	"fika/internal/text/redact"
)

// world is a database with a collector, which decodes what it gets as OpenTelemetry's does.
type world struct {
	*testing.T
	store  *store.Store
	server *httptest.Server
	now    time.Time
	agent  fika.AgentName
	lost   []string

	mu     sync.Mutex
	spans  []ptrace.Span
	bodies []string
	tries  int
	// answer may answer a request in the collector's place, and then returns true.
	answer func(out http.ResponseWriter, r *http.Request, n int) bool
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, agent: "coder", now: time.Now().Truncate(time.Millisecond)}
	var err error
	if w.store, err = store.Open(t.Context(), store.Options{Path: t.TempDir() + "/fika.db", Now: func() time.Time { return w.now }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() })
	w.server = httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) receive(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.tries++
	n, answer := w.tries, w.answer
	w.mu.Unlock()
	z, err := gzip.NewReader(r.Body)
	w.ok(err)
	body, err := io.ReadAll(z)
	w.ok(err)
	if answer != nil && answer(out, r, n) {
		return
	}
	got := ptraceotlp.NewExportRequest()
	if err := got.UnmarshalJSON(body); err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		w.Errorf("%v at %s of %s", err, r.URL, body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies = append(w.bodies, string(body))
	for _, rs := range got.Traces().ResourceSpans().All() {
		if name, _ := rs.Resource().Attributes().Get("service.name"); name.Str() != "fika" {
			w.Errorf("resource %v", rs.Resource().Attributes().AsRaw())
		}
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if s.TraceID().IsEmpty() || s.SpanID().IsEmpty() || s.Name() == "" || s.EndTimestamp() < s.StartTimestamp() || s.StartTimestamp() == 0 {
					w.Errorf("span %s %s %s from %d to %d", s.TraceID(), s.SpanID(), s.Name(), s.StartTimestamp(), s.EndTimestamp())
				}
				w.spans = append(w.spans, s)
			}
		}
	}
	raw, err := ptraceotlp.NewExportResponse().MarshalJSON()
	w.ok(err)
	_, _ = out.Write(raw)
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// worker returns a worker, as a new process has one.
func (w *world) worker() *Worker {
	post := NewPoster(w.server.URL+"/v1/traces", nil)
	w.Cleanup(post.Close)
	return &Worker{
		Place:    delivery.Place{Receiver: "otlp:" + w.server.URL, Rows: w.store, Now: func() time.Time { return w.now }},
		Resource: Resource{Home: "home", Version: "1"}, History: w.store,
		Projection: Projection{Home: "home", Provider: func(string) string { return "openai" }, Redact: redact.New(map[string]string{"KEY": "sk-0123456789abcdef"}).Text},
		Lost:       func(text string) { w.lost = append(w.lost, text) },
		Post: func(ctx context.Context, body []byte) (int64, string, error) {
			return post.Post(ctx, "authorization=Bearer%20x", body)
		},
	}
}

func (w *world) step(k *Worker) time.Duration {
	w.Helper()
	wait, err := k.Step(w.Context())
	w.ok(err)
	return wait
}

// work has an agent call tools and answer, n times.
func (w *world) work(n, tools int) (last fika.RequestID) {
	w.Helper()
	ctx := w.Context()
	a, err := w.store.EnsureAgent(ctx, store.NewAgent{Name: w.agent})
	w.ok(err)
	l, err := w.store.Acquire(ctx, a.ID, "test", time.Minute, true)
	w.ok(err)
	for range n {
		c, err := w.store.Begin(ctx, l, store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Payload: fika.Payload{Prompt: "my words sk-0123456789abcdef"}})
		w.ok(err)
		m := store.ModelCommit{Round: 1, Text: "let me see", Usage: fika.Usage{Input: 100, Output: 10, Cost: 7}, Model: "m"}
		for i := range tools {
			m.Calls = append(m.Calls, store.PlannedCall{CallID: fmt.Sprint(i), Tool: "read", Args: `{"path":"my words sk-0123456789abcdef"}`, Effect: fika.Pure})
		}
		made, err := w.store.CommitModel(ctx, c.Fence, m)
		w.ok(err)
		for i, s := range made.Steps {
			_, err = w.store.BeginTool(ctx, c.Fence, s.N, "", "")
			w.ok(err)
			_, err = w.store.CommitTool(ctx, c.Fence, s.N, store.ToolCommit{Text: "my words", IsError: i == 1})
			w.ok(err)
		}
		w.now = w.now.Add(3 * time.Second)
		_, err = w.store.Finish(ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 2, Text: "my words, all of them", Model: "m", Usage: fika.Usage{Input: 1}}})
		w.ok(err)
		last = c.Request.ID
	}
	return last
}

// ids returns the ids of spans as they arrived.
func (w *world) ids() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.spans {
		out = append(out, s.TraceID().String()+"/"+s.SpanID().String())
	}
	return out
}

// once fails if an id came twice, or if there are not so many.
func (w *world) once(want int) {
	w.Helper()
	ids := w.ids()
	n := len(ids)
	slices.Sort(ids)
	if ids = slices.Compact(ids); n != want || len(ids) != n {
		w.Errorf("%d spans with %d ids, want %d", n, len(ids), want)
	}
}

// TestSpansOfARequest: what is sent after a collector was set, and what is in it. What was
// said is not, unless that is asked for, and known keys never are.
func TestSpansOfARequest(t *testing.T) {
	w := newWorld(t)
	w.work(1, 1)
	k := w.worker()
	w.step(k)
	w.once(0)
	request := w.work(1, 2)
	w.step(k)
	w.once(6) // itself, two models, two tools, a wait of three seconds
	of := map[string]ptrace.Span{}
	for _, s := range w.spans {
		of[s.Name()] = s
	}
	whole, model, tool, wait := of["invoke_agent coder"], of["chat m"], of["execute_tool read"], of["wait"]
	if whole.TraceID().String() != trace.TraceID("home", request) || whole.SpanID().String() != trace.SpanID("home", request, 0) || !whole.ParentSpanID().IsEmpty() {
		t.Errorf("%s %s below %s", whole.TraceID(), whole.SpanID(), whole.ParentSpanID())
	}
	for _, s := range []ptrace.Span{model, tool, wait} {
		if s.ParentSpanID() != whole.SpanID() || s.TraceID() != whole.TraceID() {
			t.Errorf("%s is below %s", s.Name(), s.ParentSpanID())
		}
	}
	if took := wait.EndTimestamp().AsTime().Sub(wait.StartTimestamp().AsTime()); took != 3*time.Second {
		t.Errorf("wait %s", took)
	}
	if n, _ := whole.Attributes().Get("gen_ai.usage.input_tokens"); n.Int() != 101 {
		t.Errorf("%v", whole.Attributes().AsRaw())
	}
	if cost, _ := whole.Attributes().Get("fika.cost_usd"); cost.Double() != 7e-6 {
		t.Errorf("%v", whole.Attributes().AsRaw())
	}
	if p, _ := model.Attributes().Get("gen_ai.provider.name"); p.Str() != "openai" || model.Kind() != ptrace.SpanKindClient {
		t.Errorf("%v", model.Attributes().AsRaw())
	}
	if tool.Status().Code() != ptrace.StatusCodeError || whole.Status().Code() != ptrace.StatusCodeUnset {
		t.Errorf("the second call failed: %v", tool.Status())
	}
	if strings.Contains(w.bodies[0], "my words") {
		t.Error("what was said is sent unasked:", w.bodies[0])
	}
	k.Content = true
	w.work(1, 1)
	w.step(k)
	all := strings.Join(w.bodies, "")
	for _, want := range []string{"gen_ai.input.messages", "my words, all of them", "gen_ai.tool.call.arguments"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
	if strings.Contains(all, "sk-0123456789abcdef") {
		t.Error("a key is sent:", all)
	}
}

// TestTheSameSpansAfterACrash: a worker that ends after the collector has the spans, and
// before that is stored, leaves them to the next, which sends them under the same ids.
func TestTheSameSpansAfterACrash(t *testing.T) {
	w := newWorld(t)
	w.step(w.worker())
	w.work(2, 1)
	k := w.worker()
	ctx, crash := context.WithCancel(t.Context())
	post := k.Post
	k.Post = func(ctx context.Context, body []byte) (int64, string, error) {
		_, _, err := post(ctx, body)
		crash()
		return 0, "", err
	}
	if _, err := k.Step(ctx); err == nil {
		t.Fatal("it went on")
	}
	first := w.ids()
	w.spans = nil
	w.work(1, 1)
	w.step(w.worker())
	if got := w.ids(); len(first) == 0 || len(got) <= len(first) || !slices.Equal(got[:len(first)], first) {
		t.Errorf("first %q, then %q", first, got)
	}
	w.once(3 * 5)
}

// TestACollectorThatIsDown: attempts are few, nothing piles up in memory, and then all
// arrives in order, each span once. A collector that is set up wrongly is waited for, too.
func TestACollectorThatIsDown(t *testing.T) {
	w := newWorld(t)
	k := w.worker()
	w.step(k)
	status := http.StatusServiceUnavailable
	w.answer = func(out http.ResponseWriter, _ *http.Request, n int) bool {
		if n%2 == 0 && status == http.StatusServiceUnavailable {
			panic(http.ErrAbortHandler)
		}
		out.WriteHeader(status)
		return true
	}
	begin := w.now
	for w.now.Sub(begin) < time.Hour {
		w.work(1, 0)
		w.now = w.now.Add(max(0, w.step(k)-3*time.Second))
	}
	if w.tries > 30 {
		t.Errorf("%d attempts in an hour", w.tries)
	}
	state, err := w.store.Webhook(t.Context(), k.Receiver)
	if err != nil || state.Tries == 0 || state.Error == "" || state.Failing.IsZero() {
		t.Errorf("%+v %v", state, err)
	}
	for _, status = range []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusFound, http.StatusTooManyRequests} {
		w.now = w.now.Add(delivery.LastWait)
		if wait := w.step(k); wait <= 0 {
			t.Errorf("%d is not waited for", status)
		}
	}
	total := 0
	w.answer = nil
	for ; total < 300; total += 100 {
		w.work(100, 0)
	}
	k = w.worker() // another process
	w.now = w.now.Add(delivery.LastWait)
	w.step(k)
	n := len(w.spans)
	w.once(n)
	at := w.spans[0].StartTimestamp()
	for _, s := range w.spans {
		if strings.HasPrefix(s.Name(), "invoke") && s.StartTimestamp() < at {
			t.Error("out of order")
		} else if strings.HasPrefix(s.Name(), "invoke") {
			at = s.StartTimestamp()
		}
	}
	if n < total*3 || len(w.lost) > 0 {
		t.Errorf("%d spans of %d requests, lost: %v", n, total, w.lost)
	}
	for _, body := range w.bodies {
		if len(body) > maxBytes+4096 {
			t.Errorf("%d bytes at once", len(body))
		}
	}
	if state, err := w.store.Webhook(t.Context(), k.Receiver); err != nil || state.Tries != 0 || state.Delivered.IsZero() {
		t.Errorf("%+v %v", state, err)
	}
}

// TestSpansThatAreRefused: a batch that is refused, or that makes the collector fail again
// and again, is dropped with a row that says so, and what follows arrives. A person can have
// it sent again.
func TestSpansThatAreRefused(t *testing.T) {
	w := newWorld(t)
	k := w.worker()
	w.step(k)
	for _, bad := range []int{http.StatusBadRequest, http.StatusInternalServerError} {
		w.work(1, 1)
		w.answer = func(out http.ResponseWriter, _ *http.Request, n int) bool { out.WriteHeader(bad); return true }
		for range brokenTries {
			w.now = w.now.Add(time.Minute)
			w.step(k)
		}
		w.answer = nil
		w.work(1, 0)
		w.now = w.now.Add(time.Minute)
		w.step(k)
	}
	w.once(2 * 4) // those without a tool: itself, two models, a wait
	partly := true
	w.answer = func(out http.ResponseWriter, _ *http.Request, n int) bool {
		if !partly {
			return false
		}
		partly = false
		r := ptraceotlp.NewExportResponse()
		r.PartialSuccess().SetRejectedSpans(2)
		r.PartialSuccess().SetErrorMessage("too old")
		raw, err := r.MarshalJSON()
		w.ok(err)
		_, _ = out.Write(raw)
		return true
	}
	w.work(1, 0)
	w.step(k)
	rows, err := w.store.Deliveries(t.Context(), k.Receiver, false)
	w.ok(err)
	if len(rows) != 3 || len(w.lost) != 3 || !strings.Contains(rows[0].Error, "5 of 5 spans refused: HTTP 400") || !strings.Contains(rows[2].Error, "2 of 4 spans refused: too old") {
		t.Fatalf("%+v\n%q", rows, w.lost)
	}
	if n, err := w.store.RetryDeliveries(t.Context(), ""); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	w.answer = func(out http.ResponseWriter, _ *http.Request, n int) bool {
		out.WriteHeader(http.StatusBadGateway)
		return true
	}
	w.step(k)
	w.answer = nil
	w.now = w.now.Add(time.Minute)
	w.step(k)
	w.once(8 + 5 + 5 + 4)
	rows, err = w.store.Deliveries(t.Context(), k.Receiver, false)
	w.ok(err)
	if len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
}

// TestLargeBatches: many spans of one request come in several posts, in smaller ones if the
// collector wants that.
func TestLargeBatches(t *testing.T) {
	w := newWorld(t)
	k := w.worker()
	w.step(k)
	w.answer = func(out http.ResponseWriter, r *http.Request, _ int) bool {
		if r.ContentLength < 6000 {
			return false
		}
		out.WriteHeader(http.StatusRequestEntityTooLarge)
		return true
	}
	w.work(1, 1200)
	w.step(k)
	w.once(1200 + 4)
	if len(w.bodies) < 4 || w.tries == len(w.bodies) || len(w.lost) > 0 {
		t.Errorf("%d posts in %d attempts, lost %q", len(w.bodies), w.tries, w.lost)
	}
	w.answer = func(out http.ResponseWriter, r *http.Request, _ int) bool {
		out.WriteHeader(http.StatusRequestEntityTooLarge)
		return true
	}
	w.work(1, 0)
	if w.step(k); len(w.lost) != 4 {
		t.Errorf("lost %q", w.lost)
	}
}

// TestEventsThatAreGone: a hole is said, and what is there follows. What was deleted before it
// was sent is not.
func TestEventsThatAreGone(t *testing.T) {
	w := newWorld(t)
	k := w.worker()
	w.step(k)
	w.work(1, 0)
	w.step(k)
	state, err := w.store.Webhook(t.Context(), k.Receiver)
	w.ok(err)
	state.Place.At++ // an event that is not there
	w.ok(w.store.KeepWebhook(t.Context(), state))
	w.agent = "other"
	id := w.work(1, 0)
	r, err := w.store.Request(t.Context(), id)
	w.ok(err)
	w.ok(w.store.DeleteConversation(t.Context(), r.Conversation))
	w.spans = nil
	k = w.worker()
	w.step(k)
	w.step(k)
	if len(w.lost) != 1 || len(w.spans) != 4 {
		t.Errorf("lost %q, %d spans", w.lost, len(w.spans))
	}
}

// TestNothingIsSentElsewhere: not to the page of the home, and not with headers that are none.
func TestNothingIsSentElsewhere(t *testing.T) {
	w := newWorld(t)
	own := func(a netip.AddrPort) bool { return "http://"+a.String() == w.server.URL }
	if _, _, err := NewPoster(w.server.URL, own).Post(t.Context(), "", []byte("{}")); err == nil || !strings.Contains(err.Error(), "nothing is sent there") {
		t.Errorf("to the page itself: %v", err)
	}
	for _, headers := range []string{"a b=c", "x=%0a", "=x", "x=%zz"} {
		if _, _, err := NewPoster(w.server.URL, nil).Post(t.Context(), headers, []byte("{}")); err == nil || w.tries > 0 {
			t.Errorf("%s: %v", headers, err)
		}
	}
}

// TestAnswersThatAreNone: whatever a collector says, nothing is made of it.
func TestAnswersThatAreNone(t *testing.T) {
	for answer, want := range map[string]int64{``: 0, `{}`: 0, `{"partialSuccess":{}}`: 0, `{"partialSuccess":{"rejectedSpans":"3"}}`: 3, `{"partialSuccess":{"rejectedSpans":3}}`: 3,
		`{"partialSuccess":{"rejectedSpans":{}}}`: 0, `[`: 0, `null`: 0, "\x0a\x02\x08\x03": 0} {
		if n, _ := rejected([]byte(answer)); n != want {
			t.Errorf("%q rejects %d, want %d", answer, n, want)
		}
	}
}

// What has caused a request elsewhere is linked, if it is a trace at all.
func TestACauseElsewhereIsLinked(t *testing.T) {
	p := Projection{Provider: func(string) string { return "" }, Redact: func(s string) string { return s }}
	for given, want := range map[string][]link{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": {{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"}},
		"": nil, "none of your business": nil,
	} {
		r := store.Traced{}
		r.ID, r.State, r.Payload.Trace = "r", fika.Done, given
		if got := p.Spans(r, nil)[0].Links; !slices.Equal(got, want) {
			t.Errorf("%q: %v", given, got)
		}
	}
}

// FuzzNames: any name and any text is sent as what the collector's decoder takes.
func FuzzNames(f *testing.F) {
	f.Add("read", "words", "m")
	f.Add("\xff\x00\u2028\"", strings.Repeat("é", maxText), "\n")
	f.Fuzz(func(t *testing.T, tool, words, model string) {
		r := store.Traced{Steps: []store.TracedStep{{N: 1, Kind: fika.ToolStep, Tool: tool, Args: words}, {N: 2, Kind: fika.ModelStep, Model: model}}}
		r.ID, r.State, r.Payload.Prompt, r.Outcome.Error, r.FinishedAt = "r", fika.RequestFailed, words, words, time.Unix(1, 0)
		p := Projection{Provider: func(string) string { return "" }, Redact: func(s string) string { return s }, Content: true}
		var raw []json.RawMessage
		for _, s := range p.Spans(r, nil) {
			one, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			raw = append(raw, one)
		}
		body, err := Resource{}.export(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := ptraceotlp.NewExportRequest().UnmarshalJSON(body); err != nil || bytes.Contains(body, []byte("\xff")) {
			t.Fatalf("%v of %q", err, body)
		}
	})
}
