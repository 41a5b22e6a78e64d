package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// collector is a collector of OpenTelemetry, with its own decoder.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	spans  map[string]ptrace.Span // by id
	ids    []string               // as they came
	header string
	before func() // called once, before the next answer
}

func newCollector(t *testing.T) *collector {
	c := &collector{spans: map[string]ptrace.Span{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := ptraceotlp.NewExportRequest()
		z, err := gzip.NewReader(r.Body)
		if err == nil {
			var body []byte
			if body, err = io.ReadAll(z); err == nil {
				err = got.UnmarshalJSON(body)
			}
		}
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		c.header = r.Header.Get("X-Tenant")
		for _, rs := range got.Traces().ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					c.spans[s.SpanID().String()] = s
					c.ids = append(c.ids, s.SpanID().String())
				}
			}
		}
		before := c.before
		c.before = nil
		c.mu.Unlock()
		if before != nil {
			before()
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(c.Close)
	return c
}

// named returns how many spans have a name.
func (c *collector) named(name string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		n += b2i(s.Name() == name)
	}
	return n
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tree returns the spans of all traces as lines, each below its parent, with what does not
// change from run to run.
func (c *collector) tree() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	below := map[string][]ptrace.Span{}
	for _, s := range c.spans {
		parent := s.ParentSpanID().String()
		if _, known := c.spans[parent]; !known && parent != "" {
			parent = "?"
		}
		below[parent] = append(below[parent], s)
	}
	traces := map[string]int{}
	var out strings.Builder
	var walk func(parent string, level int)
	walk = func(parent string, level int) {
		slices.SortFunc(below[parent], func(a, b ptrace.Span) int {
			if n := int(a.StartTimestamp()) - int(b.StartTimestamp()); n != 0 {
				return n
			}
			return strings.Compare(a.Name(), b.Name())
		})
		for _, s := range below[parent] {
			if s.Name() == "wait" { // how long it lasts is the machine's
				continue
			}
			trace := s.TraceID().String()
			if _, known := traces[trace]; !known {
				traces[trace] = len(traces) + 1
			}
			fmt.Fprintf(&out, "%s%s (%s, trace %d)", strings.Repeat("  ", level), s.Name(), strings.ToLower(s.Kind().String()), traces[trace])
			if s.Status().Code() == ptrace.StatusCodeError {
				out.WriteString(" error")
			}
			raw := s.Attributes().AsRaw()
			for _, key := range slices.Sorted(maps.Keys(raw)) {
				switch key {
				case "gen_ai.agent.id", "gen_ai.tool.call.id", "fika.request", "fika.chain": // of this run
				case "gen_ai.conversation.id":
					if name := fmt.Sprint(raw[key]); name == "room" {
						out.WriteString(" room")
					}
				default:
					fmt.Fprintf(&out, " %s=%v", strings.TrimPrefix(key, "gen_ai."), raw[key])
				}
			}
			out.WriteString("\n")
			walk(s.SpanID().String(), level+1)
		}
	}
	walk("", 0)
	if len(below["?"]) > 0 {
		out.WriteString("below nothing:\n")
		walk("?", 1)
	}
	return out.String()
}

// TestTracesOfAChain: what three agents did after one message is one trace, in which each
// request is below what it came from; nothing that was said is in it.
func TestTracesOfAChain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes its time: make check")
	}
	c := newCollector(t)
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Model == "arya" && last.Role == llm.ToolRole:
			return llmtest.Script{llmtest.Text("done; @cersei look at it"), llmtest.Usage(200, 20)}
		case r.Model == "arya":
			return llmtest.Script{llmtest.Call("a", "delegate", `{"agent":"bran","prompt":"secret words"}`), llmtest.Usage(100, 10)}
		case r.Model == "bran" && last.Role != llm.ToolRole:
			return llmtest.Script{llmtest.Call("b", "bash", `{"command":"echo secret words; exit 3"}`), llmtest.Usage(30, 3)}
		}
		return llmtest.Script{llmtest.Text("secret words"), llmtest.Usage(40, 4)}
	})
	var mu sync.Mutex
	posted := 0 // events with a trace
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		posted += b2i(strings.HasPrefix(r.Header.Get("Traceparent"), "00-"))
	}))
	defer hook.Close()
	text := config(srv, llmtest.OpenAI, "[otlp]\nendpoint = \""+c.URL+"\"\nheaders_env = \"COLLECTOR_HEADERS\"\n[[webhooks]]\nurl = \""+hook.URL+"\"\nsecret_env = \"COLLECTOR_HEADERS\"",
		agent{name: "arya", tools: `"delegate"`}, agent{name: "bran", tools: `"bash"`}, agent{name: "cersei", tools: `"bash"`})
	text = strings.ReplaceAll(text, "[[models]]\n", "[[models]]\nprices = {input = 3.0, output = 15.0}\n")
	h := newHome(t, text)
	h.env = append(h.env, "COLLECTOR_HEADERS=X-Tenant=of%20mine")
	h.must("up")
	h.until("the collector is known", func() bool { return strings.Contains(h.must("webhook", "list", "--json"), `"state":"ok"`) })
	h.chat("room")
	h.must("chat", "send", "room", "@arya secret words")
	h.until("all three have answered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return c.named("invoke_agent arya")+c.named("invoke_agent bran")+c.named("invoke_agent cersei") == 3 && posted >= 9 // three states each
	})
	want, err := os.ReadFile("testdata/traces.golden")
	got := c.tree()
	if os.Getenv("UPDATE") != "" {
		h.ok(os.WriteFile("testdata/traces.golden", []byte(got), 0o600))
	} else if err != nil || got != string(want) {
		t.Errorf("%v; got\n%s\nwant\n%s", err, got, want)
	}
	for _, r := range srv.Requests() { // whom a model is called for is known to its provider
		if !slices.ContainsFunc(slices.Collect(maps.Values(c.spans)), func(s ptrace.Span) bool {
			return s.Name() == "invoke_agent "+r.Model && r.Header.Get("Traceparent") == "00-"+s.TraceID().String()+"-"+s.SpanID().String()+"-01"
		}) {
			t.Errorf("%s is called with %q", r.Model, r.Header.Get("Traceparent"))
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if posted < 3 {
		t.Errorf("%d events came with a trace", posted)
	}
	if c.header != "of mine" || strings.Contains(got, "secret words") {
		t.Errorf("header %q", c.header)
	}
	var told float64
	for _, s := range c.spans {
		if cost, found := s.Attributes().Get("fika.cost_usd"); found && !strings.HasPrefix(s.Name(), "invoke_") {
			told += cost.Double()
		}
	}
	if spent := (&metricsHome{home: h}).spent(); spent == 0 || int64(told*1e6+0.5) != spent {
		t.Errorf("the spans cost %f dollars, fika usage says %d millionths", told, spent)
	}
}

// TestTracesOutliveTheirHub: a hub that is killed after the collector has the spans, and
// before that is stored, leaves them to the next hub, which sends them under the same ids;
// none is missing.
func TestTracesOutliveTheirHub(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes its time: make check")
	}
	c := newCollector(t)
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Text("hello"), llmtest.Usage(40, 4)}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, "[otlp]\nendpoint = \""+c.URL+"\"", agent{name: "arya", tools: `"bash"`}))
	h.must("up")
	h.until("the collector is known", func() bool { return strings.Contains(h.must("webhook", "list", "--json"), `"state":"ok"`) })
	h.must("ask", "arya", "one")
	h.until("the first spans have arrived", func() bool { return c.named("invoke_agent arya") == 1 })
	c.mu.Lock()
	first, pid := len(c.ids), h.pid("up")
	c.before = func() { _ = syscall.Kill(pid, syscall.SIGKILL) }
	c.mu.Unlock()
	h.must("task", "arya", "two")
	h.gone("up")
	h.must("up")
	h.must("ask", "arya", "three")
	h.until("all spans have arrived", func() bool { return c.named("invoke_agent arya") == 3 })
	c.mu.Lock()
	defer c.mu.Unlock()
	came := map[string]int{}
	for _, id := range c.ids {
		came[id]++
	}
	twice := 0
	for i, id := range c.ids {
		twice += b2i(came[id] == 2)
		if came[id] > 2 || came[id] == 2 && i < first {
			t.Errorf("%s came %d times", c.spans[id].Name(), came[id])
		}
	}
	if twice == 0 || twice%2 != 0 {
		t.Errorf("%d of %d spans came twice", twice, len(c.ids))
	}
}
