package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fika/internal/llm/llmtest"
)

// TestWebhookOutlivesItsHub: a hub that is killed between sending an event and noting that
// sends it again under the same id, with the next hub; all others come once, in order.
func TestWebhookOutlivesItsHub(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes its time: make check")
	}
	var mu sync.Mutex
	var ids, states []string
	var kill func()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			Event struct{ Request, State string }
		}
		_ = json.Unmarshal(body, &m)
		mu.Lock()
		ids, states = append(ids, r.Header.Get("webhook-id")), append(states, m.Event.State)
		end := kill
		kill = nil
		mu.Unlock()
		if end != nil {
			end() // before it is answered
		}
	}))
	defer server.Close()
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("hello")} })
	h := newHome(t, config(srv, llmtest.OpenAI, "[[webhooks]]\nurl = \""+server.URL+"\"\nevents = [\"request\"]\nsecret_env = \"HOOK_SECRET\"", agent{name: "arya", tools: `"bash"`}))
	h.env = append(h.env, "HOOK_SECRET=sesame")
	h.must("up")
	h.until("the receiver is known", func() bool { return strings.Contains(h.must("webhook", "list", "--json"), `"state":"ok"`) })
	got := func() (int, []string) {
		mu.Lock()
		defer mu.Unlock()
		return len(ids), append([]string{}, ids...)
	}
	h.must("ask", "arya", "one")
	h.until("the first request has arrived", func() bool { n, _ := got(); return n == 3 })
	mu.Lock()
	pid := h.pid("up")
	kill = func() { _ = syscall.Kill(pid, syscall.SIGKILL) }
	mu.Unlock()
	h.must("task", "arya", "two")
	h.gone("up")
	h.must("up")
	h.until("the second request has arrived", func() bool { n, _ := got(); return n == 7 })
	_, all := got()
	if all[3] != all[4] {
		t.Errorf("it came again under another id: %q", all)
	}
	seen := map[string]bool{}
	for _, id := range append(all[:4:4], all[5:]...) {
		if seen[id] {
			t.Errorf("%s came twice: %q", id, all)
		}
		seen[id] = true
	}
	if want := "open running done open open running done"; strings.Join(states, " ") != want {
		t.Errorf("states %q, want %q", states, want)
	}
}
