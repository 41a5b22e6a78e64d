package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/rights/login"
	"fika/internal/service"
)

// world is a home with its page, and a browser that is logged in.
type world struct {
	*testing.T
	home   string
	dir    login.Dir
	now    time.Time
	server *Server
	base   string // where the server really is
	host   string // as browsers call it
	cookie *http.Cookie
	person *service.Service
}

const testConfig = `model = "script"
username = "ann"
[[models]]
id = "script"
provider = "scripted"
rules = "rules.toml"
[[agents]]
id = "arya"
auto_start = false
[[agents]]
id = "bran"
auto_start = false
`

func newWorld(t *testing.T) *world {
	home := t.TempDir()
	w := &world{T: t, home: home, now: time.Now()}
	for name, text := range map[string]string{"config.toml": testConfig, "rules.toml": "fallback = \"yes\"\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := app.New(app.Options{Root: home, Getenv: func(string) string { return "" }})
	t.Cleanup(func() { _ = a.Close() })
	a.StayOpen()
	a.FollowConfig(func(text string) { t.Log(text) }) // as the hub does
	var err error
	if w.person, err = service.OpenOffline(t.Context(), a, api.Principal{Kind: api.Person, Name: "ann", Door: api.DoorPage}); err != nil {
		t.Fatal(err)
	}
	w.dir = login.In(filepath.Join(home, "run"), func() time.Time { return w.now })
	at, err := w.dir.Place()
	if err != nil {
		t.Fatal(err)
	}
	w.server, err = Start(Options{
		Listen: "127.0.0.1:0", Host: at.Host, Logins: w.dir, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Person: func() api.Service { return service.Door(w.person) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.server.Close() })
	port, _ := w.server.Port()
	w.base, w.host = fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("%s:%d", at.Host, port)
	w.cookie = w.logIn(w.code())
	if w.cookie == nil {
		t.Fatal("a code does not log in")
	}
	return w
}

func (w *world) code() string {
	code, err := w.dir.NewCode()
	if err != nil {
		w.Fatal(err)
	}
	return code
}

// do sends a request as the browser does that is logged in, after change has changed it.
func (w *world) do(method, path string, form url.Values, change func(*http.Request)) (int, string, http.Header) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, w.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	r.Host = w.host
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Idempotency-Key", w.Name()+path)
		r.Header.Set("Origin", "http://"+w.host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if w.cookie != nil {
		r.AddCookie(w.cookie)
	}
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		return answer.StatusCode, "", answer.Header
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer.StatusCode, string(body), answer.Header
}

// logIn returns the cookie for a code, or nil.
func (w *world) logIn(code string) *http.Cookie {
	status, _, header := w.do("POST", "/login", url.Values{"code": {code}}, nil)
	if (status == http.StatusNoContent) != (header.Get("Set-Cookie") != "") {
		w.Errorf("the login answers %d with the cookie %q", status, header.Get("Set-Cookie"))
	}
	c, _ := http.ParseSetCookie(header.Get("Set-Cookie"))
	return c
}

// TestLogin: a code works once, for a minute, and no other; the cookie belongs to its host
// alone; a session ends after a week without use, and with all others.
func TestLogin(t *testing.T) {
	w := newWorld(t)
	if w.cookie.Domain != "" || !w.cookie.HttpOnly || w.cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %+v", w.cookie)
	}
	code := w.code()
	if w.logIn(code) == nil || w.logIn(code) != nil || w.logIn("") != nil || w.logIn("../place.json") != nil || w.logIn(strings.Repeat("x", 1<<10)) != nil {
		t.Error("a code does not work once, or another does")
	}
	old := w.code()
	w.now = w.now.Add(61 * time.Second)
	if w.logIn(old) != nil {
		t.Error("an old code works")
	}
	if got, _, _ := w.do("GET", "/", nil, nil); got != http.StatusOK {
		t.Errorf("logged in: %d", got)
	}
	w.now = w.now.Add(8 * 24 * time.Hour)
	if got, body, _ := w.do("GET", "/", nil, nil); got != http.StatusUnauthorized || strings.Contains(body, "arya") {
		t.Errorf("after a week: %d", got)
	}
	w.cookie = w.logIn(w.code())
	unused := w.code()
	if n, err := w.dir.EndAll(); n == 0 || err != nil {
		t.Errorf("ended %d sessions: %v", n, err)
	}
	if got, _, _ := w.do("GET", "/", nil, nil); got != http.StatusUnauthorized {
		t.Errorf("after logout --all: %d", got)
	}
	if w.logIn(unused) != nil {
		t.Error("a code from before logout --all works")
	}
}

// TestGates: every route refuses a foreign host, whoever asks; what changes something
// refuses other origins and what has no key; all but the login needs a session; no answer
// to a stranger says anything of the home or repeats what was sent.
func TestGates(t *testing.T) {
	w := newWorld(t)
	routes := [][2]string{
		{"GET", "/"}, {"GET", "/live/"}, {"GET", "/style.css"}, {"GET", "/nothing"},
		{"POST", "/login"}, {"POST", "/approvals/1"}, {"POST", "/requests/x/retry"}, {"POST", "/everything/pause"}, {"POST", "/chats/x/messages"},
		{"POST", "/agents/arya/start"}, {"POST", "/agents/arya/stop"}, {"POST", "/workflows/review/run"}, {"POST", "/budgets"},
	}
	strange := func(what string, status int, body string, wants ...int) {
		t.Helper()
		ok := false
		for _, want := range wants {
			ok = ok || status == want
		}
		if !ok || strings.Contains(body, "arya") || strings.Contains(body, "secret words") || strings.Contains(body, w.host) {
			t.Errorf("%s: %d %q", what, status, body)
		}
	}
	form := url.Values{"text": {"secret words"}, "code": {"secret words"}}
	for _, route := range routes {
		for _, host := range []string{"evil.example", "127.0.0.1:" + port(w.host), "localhost:" + port(w.host), w.host + ".", "x." + w.host, strings.Split(w.host, ":")[0] + ":1", ""} {
			status, body, _ := w.do(route[0], route[1], form, func(r *http.Request) { r.Host = host; r.Header.Set("Origin", "http://"+host) })
			if host != "" { // the client puts the address in
				strange(route[0]+" "+route[1]+" at "+host, status, body, http.StatusForbidden)
			}
		}
		if route[0] == "POST" {
			for _, from := range []func(*http.Request){
				func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
				func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
				func(r *http.Request) {
					r.Header.Del("Sec-Fetch-Site")
					r.Header.Set("Origin", "http://localhost:3000")
				},
			} {
				status, body, _ := w.do(route[0], route[1], form, from)
				strange("from another origin "+route[1], status, body, http.StatusForbidden)
			}
		}
		if route[1] != "/style.css" && route[1] != "/nothing" {
			for _, value := range []string{"", "wrong", strings.Repeat("x", 4000), "../sessions"} {
				status, body, _ := w.do(route[0], route[1], form, func(r *http.Request) {
					r.Header.Del("Cookie")
					r.AddCookie(&http.Cookie{Name: cookieName, Value: value})
				})
				strange("without a session "+route[1], status, body, http.StatusUnauthorized)
			}
		}
	}
	if status, _, _ := w.do("POST", "/everything/pause", nil, func(r *http.Request) { r.Header.Del("Idempotency-Key") }); status != http.StatusBadRequest {
		t.Errorf("without a key: %d", status)
	}
	if status, _, _ := w.do("POST", "/chats/x/messages", url.Values{"text": {strings.Repeat("x", maxBody+1)}}, nil); status != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d", status)
	}
	_, _, header := w.do("GET", "/", nil, nil)
	if csp := header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(csp, "unsafe") {
		t.Errorf("the policy is %q", csp)
	}
}

func port(host string) string {
	_, p, _ := net.SplitHostPort(host)
	return p
}

// TestPortTaken: with the port of last time taken, another is used, and that is said; with
// it free, it is used again, at both loopback addresses.
func TestPortTaken(t *testing.T) {
	w := newWorld(t)
	used, _ := w.server.Port()
	o := w.server.site.Options
	o.Port = used
	other, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	if p, moved := other.Port(); p == used || !moved {
		t.Errorf("the second listens at %d, moved %v", p, moved)
	}
	_, _ = other.Close(), w.server.Close()
	again, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if p, moved := again.Port(); p != used || moved {
		t.Errorf("the third listens at %d and not at %d, moved %v", p, used, moved)
	}
	if l, err := net.Listen("tcp", fmt.Sprintf("[::1]:%d", used)); err == nil {
		_ = l.Close()
		t.Error("another process could take the port at ::1")
	}
}

// TestHome shows an approval exactly, and answers it once.
func TestHome(t *testing.T) {
	w := newWorld(t)
	if _, err := w.person.Agents.Find(t.Context(), "arya"); err != nil && !fika.IsKind(err, fika.NotFound) {
		t.Fatal(err)
	}
	status, body, _ := w.do("GET", "/", nil, nil)
	if status != http.StatusOK || !strings.Contains(body, "Nothing.") {
		t.Errorf("%d %s", status, body)
	}
}
