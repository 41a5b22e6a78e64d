package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika/internal/api"
	"fika/internal/door/mcp"
	"fika/internal/service"
)

// doors opens the doors for programs of a world, and returns the secret of a token for each.
func (w *world) doors(names ...string) (secrets map[string]string, revoke func(string)) {
	w.Helper()
	secrets = map[string]string{}
	for _, name := range names {
		secret, _, err := w.person.Tokens().Create(w.Context(), service.NewToken{Name: "for-" + name, Doors: []string{name}})
		if err != nil {
			w.Fatal(err)
		}
		secrets[name] = secret
	}
	s := w.server.site
	s.Open = func(d api.Door) bool { return secrets[string(d)] != "" }
	s.Program = func(ctx context.Context, token string, d api.Door) (api.Service, error) {
		p, err := w.person.ByToken(ctx, token, d)
		if err != nil {
			return nil, service.ErrorOf(err)
		}
		return service.Door(p), nil
	}
	s.MCP = func(caller api.Service) http.Handler {
		return mcp.Handler(mcp.Options{As: func(string) api.Service { return caller }})
	}
	s.Alive = w.person.Alive
	return secrets, func(name string) {
		if err := w.person.Tokens().Revoke(w.Context(), "for-"+name); err != nil {
			w.Fatal(err)
		}
	}
}

// program sends a request as a program does.
func (w *world) program(method, path, token string, change func(*http.Request)) (int, string, http.Header) {
	w.Helper()
	return w.do(method, path, nil, func(r *http.Request) {
		r.Host = "127.0.0.1:" + port(w.host)
		r.Header = http.Header{"Authorization": {"Bearer " + token}}
		if change != nil {
			change(r)
		}
	})
}

// TestProgramsShowATokenOfTheirDoor: without one that counts there, with the cookie of a
// browser, at the name of the page, at a foreign name, at a closed door and after the token
// was revoked, nothing is shown.
func TestProgramsShowATokenOfTheirDoor(t *testing.T) {
	w := newWorld(t)
	secrets, revoke := w.doors("metrics", "mcp")
	if status, body, header := w.program("GET", "/metrics", secrets["metrics"], nil); status != http.StatusOK || !strings.Contains(body, "# TYPE fika_requests_total counter") && !strings.Contains(body, `fika_store_info{engine="sqlite"} 1`) ||
		!strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%d %q %q", status, body, header)
	}
	for what, change := range map[string]func(*http.Request){
		"no token":           func(r *http.Request) { r.Header.Del("Authorization") },
		"no secret":          func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") },
		"another scheme":     func(r *http.Request) { r.Header.Set("Authorization", "Basic "+secrets["metrics"]) },
		"of another door":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secrets["mcp"]) },
		"a long one":         func(r *http.Request) { r.Header.Set("Authorization", "Bearer fika_"+strings.Repeat("x", 8000)) },
		"a browser's cookie": func(r *http.Request) { r.Header.Del("Authorization"); r.AddCookie(w.cookie) },
	} {
		if status, body, header := w.program("GET", "/metrics", secrets["metrics"], change); status != http.StatusUnauthorized || strings.Contains(body, "fika_requests") || header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %q", what, status, body)
		}
	}
	for _, host := range []string{"evil.example", w.host, "127.0.0.1:1", "127.0.0.1", "localhost." + port(w.host)} {
		if status, body, _ := w.program("GET", "/metrics", secrets["metrics"], func(r *http.Request) { r.Host = host }); status == http.StatusOK || strings.Contains(body, "fika_requests") {
			t.Errorf("at %s: %d", host, status)
		}
	}
	for _, path := range []string{"/", "/style.css", "/login", "/live/"} {
		if status, body, _ := w.program("GET", path, secrets["metrics"], nil); status != http.StatusNotFound {
			t.Errorf("the page is at a name for programs: %s %d %q", path, status, body)
		}
	}
	if status, body, _ := w.program("GET", "/healthz", "", nil); status != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d %q", status, body)
	}
	w.server.site.Alive = func(context.Context) error { return errors.New("secret words") }
	if status, body, _ := w.program("GET", "/healthz", "", nil); status != http.StatusServiceUnavailable || strings.Contains(body, "secret") {
		t.Errorf("healthz without a database: %d %q", status, body)
	}
	revoke("metrics")
	if status, _, _ := w.program("GET", "/metrics", secrets["metrics"], nil); status != http.StatusUnauthorized {
		t.Errorf("revoked: %d", status)
	}
	w.server.site.Open = func(d api.Door) bool { return d == api.DoorMetrics }
	if status, _, _ := w.program("POST", "/mcp", secrets["mcp"], nil); status != http.StatusNotFound {
		t.Errorf("a closed door: %d", status)
	}
	w.server.site.Open = nil
	if status, _, _ := w.program("GET", "/healthz", "", nil); status != http.StatusForbidden {
		t.Errorf("with all doors closed: %d", status)
	}
}

// TestExposition: what names hold stays within its quotes.
func TestExposition(t *testing.T) {
	got := string(exposition([]api.Metric{
		{Name: "a_total", Help: "how\nmany", Counter: true, Samples: []api.Sample{{Agent: "x", Tool: "a\"b\\c\nd\xff", Value: 0.000123}, {Value: 12345678901}}},
		{Name: "nothing", Help: "none"},
	}))
	want := "# HELP a_total how\\nmany\n# TYPE a_total counter\na_total{agent=\"x\",tool=\"a\\\"b\\\\c\\nd\ufffd\"} 0.000123\na_total 12345678901\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestMCPOverHTTP: a client gives work and asks after it, as the program of its token, and is
// out once that is revoked.
func TestMCPOverHTTP(t *testing.T) {
	w := newWorld(t)
	secrets, revoke := w.doors("mcp")
	client, err := sdk.NewClient(&sdk.Implementation{Name: "other", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: w.base + "/mcp", HTTPClient: &http.Client{Transport: bearer(secrets["mcp"])}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	call := func(tool string, args map[string]any) (string, error) {
		result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			return "", err
		}
		raw, err := json.Marshal(result)
		return string(raw), err
	}
	if text, err := call("agents", nil); err != nil || !strings.Contains(text, "arya") {
		t.Errorf("%s %v", text, err)
	}
	text, err := call("start", map[string]any{"agent": "arya", "prompt": "work"})
	if err != nil || !strings.Contains(text, `"state":"open"`) {
		t.Fatalf("%s %v", text, err)
	}
	list, err := w.person.Requests.List(t.Context(), service.RequestFilter{})
	if err != nil || len(list) != 1 || list[0].Payload.Sender != "for-mcp" || list[0].Taint != "program for-mcp" {
		t.Fatalf("%+v %v", list, err)
	}
	if text, err := call("status", map[string]any{"request": string(list[0].ID)}); err != nil || !strings.Contains(text, string(list[0].ID)) {
		t.Errorf("%s %v", text, err)
	}
	if text, err := call("cancel", map[string]any{"request": string(list[0].ID)}); err == nil && !strings.Contains(text, `"isError":true`) {
		t.Errorf("it cancels: %s", text)
	}
	revoke("mcp")
	if text, err := call("agents", nil); err == nil {
		t.Errorf("revoked: %s", text)
	}
}
