package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"fika/internal/llm/llmtest"
)

// stranger is what an agent could serve on another port of this machine, to the same browser:
// a page that tries to read and to do what the person's page can.
type stranger struct {
	*httptest.Server
	mu      sync.Mutex
	cookies []string
}

const strangerPage = `<!doctype html><title>dev server</title><pre id="out"></pre><script>
const to = new URLSearchParams(location.search).get("to"), got = {};
const attempt = async (name, f) => { try { got[name] = String(await f()).slice(0, 200) } catch (e) { got[name] = "refused" } };
(async () => {
  for (const credentials of ["omit", "include"]) {
    await attempt("read " + credentials, async () => (await fetch(to + "/", {credentials})).text());
    await attempt("live " + credentials, async () => (await fetch(to + "/live/", {credentials})).text());
    await attempt("blind " + credentials, async () => (await fetch(to + "/", {mode: "no-cors", credentials})).text());
    await attempt("pause " + credentials, async () => { await fetch(to + "/everything/pause", {method: "POST", mode: "no-cors", credentials, body: new URLSearchParams({a: 1})}); return "" });
    await attempt("keyed " + credentials, async () => (await fetch(to + "/everything/pause", {method: "POST", credentials, headers: {"Idempotency-Key": "x"}})).text());
  }
  await attempt("stream", () => new Promise((ok, bad) => { const s = new EventSource(to + "/live/", {withCredentials: true}); s.addEventListener("part", (e) => ok(e.data)); s.onerror = bad }));
  await attempt("script", () => new Promise((ok, bad) => { const s = document.createElement("script"); s.src = to + "/page.js"; s.onload = () => ok("loaded"); s.onerror = bad; document.head.append(s) }));
  await attempt("frame", () => new Promise((ok) => { const f = document.createElement("iframe"); f.src = to + "/"; f.onload = () => { try { ok(f.contentDocument.body.innerText) } catch { ok("") } }; document.body.append(f) }));
  await attempt("form", () => new Promise((ok) => { const f = document.createElement("form"), i = document.createElement("iframe"); i.name = "to"; i.onload = () => ok(""); document.body.append(i); f.target = "to"; f.method = "post"; f.action = to + "/everything/pause"; document.body.append(f); f.submit() }));
  await attempt("window", async () => { const w = open(to + "/"); await new Promise((ok) => setTimeout(ok, 1000)); try { return w.document.body.innerText } catch { return "" } });
  window.got = got;
})();
</script>`

func newStranger(t *testing.T) *stranger {
	s := &stranger{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.cookies = append(s.cookies, r.Header.Get("Cookie"))
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(strangerPage))
	}))
	t.Cleanup(s.Close)
	return s
}

// TestPageFences: neither a page on another port in the same browser nor a tool with a
// network can read or do anything, even if they are told the address of the page; and a
// request under another host's name is refused, whatever it brings along.
func TestPageFences(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	var command string
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if text, ok := lastResult(r); ok {
			return llmtest.Script{llmtest.Text("it says: " + text)}
		}
		args, _ := json.Marshal(map[string]string{"command": command}) // of strings it cannot fail
		return llmtest.Script{llmtest.Call("c", "bash", string(args))}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, "[guard]\nnetwork = \"on\"", agent{name: "arya", tools: `"bash", "fetch"`}))
	h.must("up")
	h.chat("room")
	p := b.open(strings.TrimSpace(h.must("web", "--print")), 1200, "light")
	p.until(`document.querySelectorAll(".agents li").length >= 1`)
	var origin string
	p.eval(`location.origin`, &origin)
	at, err := url.Parse(origin)
	h.ok(err)
	s := newStranger(t)
	for _, name := range []string{"127.0.0.1", "localhost"} {
		q := b.open(strings.Replace(s.URL, "127.0.0.1", name, 1)+"/?to="+url.QueryEscape(origin), 1200, "light")
		q.until(`window.got`)
		var got map[string]string
		q.eval(`got`, &got)
		for what, text := range got {
			if text != "" && text != "refused" && !(what == "script" && text == "loaded") {
				t.Errorf("a page at %s: %s gives %q", name, what, text)
			}
		}
		if len(got) < 15 {
			t.Errorf("a page at %s has tried %v only", name, got)
		}
	}
	s.mu.Lock()
	for _, c := range s.cookies {
		if c != "" {
			t.Errorf("another port is sent the cookie %q", c)
		}
	}
	s.mu.Unlock()
	if status := h.must("status"); strings.Contains(status, "paused") {
		t.Errorf("something was paused: %s", status)
	}
	h.rebinds(at)
	command = fmt.Sprintf(`for h in %s localhost:%s evil.example; do for p in / /live/ /chats/room /metrics /everything/pause; do curl -s -m 5 -o got -w "%%{http_code} " -H "Host: $h" http://127.0.0.1:%s$p; cat got; curl -s -m 5 -o got -X POST -H "Idempotency-Key: x" -w "%%{http_code} " -H "Host: $h" http://127.0.0.1:%s$p; done; done; fika web --print 2>&1 | tail -1`, at.Host, at.Port(), at.Port(), at.Port())
	h.must("chat", "send", "room", "@arya try it")
	h.until("the tool's answer", func() bool { return strings.Contains(h.must("chat", "view", "room"), "it says:") })
	said := h.must("chat", "view", "room")
	for _, bad := range []string{"200 ", "room (", "#", "Needs you"} {
		if _, answer, _ := strings.Cut(said, "it says:"); strings.Contains(answer, bad) {
			t.Errorf("a tool with a network gets %q: %s", bad, answer)
		}
	}
	if !strings.Contains(said, "401 ") || !strings.Contains(said, "403 ") {
		t.Errorf("the tool has tried nothing: %s", said)
	}
	p.until(`document.querySelectorAll(".agents li").length >= 1 && document.getElementById("stale").textContent === "" && !document.body.innerText.includes("paused")`)
}

// rebinds asks under another host's name, as a page does whose name was bound to this machine.
func (h *home) rebinds(at *url.URL) {
	for _, c := range []struct{ method, path string }{{"GET", "/"}, {"GET", "/live/"}, {"GET", "/chats/room"}, {"GET", "/style.css"}, {"POST", "/everything/pause"}, {"POST", "/login"}} {
		r, err := http.NewRequestWithContext(h.Context(), c.method, "http://127.0.0.1:"+at.Port()+c.path, nil)
		h.ok(err)
		r.Host = "evil.example:" + at.Port()
		r.Header.Set("Origin", "http://"+r.Host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		answer, err := http.DefaultTransport.RoundTrip(r)
		h.ok(err)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			h.Errorf("%s %s under another name: %d", c.method, c.path, answer.StatusCode)
		}
	}
}
