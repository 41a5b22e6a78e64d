package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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

// TestWebhookSignature: what docs/guides/webhooks.md shows in other languages takes what a hub has
// sent, and nothing else.
func TestWebhookSignature(t *testing.T) {
	t.Parallel()
	type sent struct {
		Secret  string
		Headers map[string]string
		Body    string
	}
	got := make(chan sent, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s := sent{"whsec_c2VzYW1l", map[string]string{}, string(body)}
		for name := range r.Header {
			s.Headers[strings.ToLower(name)] = r.Header.Get(name)
		}
		got <- s
	}))
	defer server.Close()
	node := needs(t, "node")
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("hello")} })
	h := newHome(t, config(srv, llmtest.OpenAI, "[[webhooks]]\nurl = \""+server.URL+"\"\nsecret_env = \"HOOK_SECRET\"", agent{name: "arya", tools: `"bash"`}))
	h.env = append(h.env, "HOOK_SECRET=whsec_c2VzYW1l")
	h.must("up")
	h.until("the receiver is known", func() bool { return strings.Contains(h.must("webhook", "list", "--json"), `"state":"ok"`) })
	h.must("ask", "arya", "one")
	genuine := <-got
	other := func(change func(*sent)) sent {
		s := genuine
		s.Headers = map[string]string{}
		for name, value := range genuine.Headers {
			s.Headers[name] = value
		}
		change(&s)
		return s
	}
	list := []sent{genuine,
		other(func(s *sent) { s.Headers["webhook-signature"] = "v2,x " + s.Headers["webhook-signature"] }),
		other(func(s *sent) { s.Body += " " }),
		other(func(s *sent) { s.Secret = "sesamd" }),
		other(func(s *sent) { s.Headers["webhook-id"] += "0" }),
		other(func(s *sent) { s.Headers["webhook-timestamp"] = "1700000000" }),
		other(func(s *sent) { s.Headers["webhook-signature"] = "v1,x" }),
	}
	const want = "true true false false false false false"
	input, err := json.Marshal(list)
	h.ok(err)
	page, err := os.ReadFile("../../docs/guides/webhooks.md")
	h.ok(err)
	for _, language := range []struct{ fence, file, program, rest string }{
		{"js", "verify.mjs", node, `
import { readFileSync } from "node:fs"
console.log(JSON.parse(readFileSync(0)).map(s => verified(s.Secret, s.Headers, Buffer.from(s.Body))).join(" "))
`},
		{"python", "verify.py", "python3", `
import json, sys
print(" ".join(str(verified(s["Secret"], s["Headers"], s["Body"].encode())).lower() for s in json.load(sys.stdin)))
`},
	} {
		program, err := exec.LookPath(language.program)
		if err != nil {
			t.Log("no", language.program)
			continue
		}
		_, code, _ := strings.Cut(string(page), "```"+language.fence+"\n")
		code, _, found := strings.Cut(code, "```")
		if !found {
			t.Errorf("docs/guides/webhooks.md has nothing in %s", language.fence)
		}
		path := filepath.Join(t.TempDir(), language.file)
		h.ok(os.WriteFile(path, []byte(code+language.rest), 0o600))
		cmd := exec.Command(program, path)
		cmd.Stdin = strings.NewReader(string(input))
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %v: %s, want %s", language.fence, err, out, want)
		}
	}
}
