package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/extension/mcp"
	"fika/internal/extension/mcp/mcptest"
	"fika/internal/extension/oauth"
	"fika/internal/extension/oauth/oauthtest"
	"fika/internal/tool"
)

const token = "a-token-that-nobody-may-see"

// far is a remote server, and who was told the token.
type far struct {
	*httptest.Server
	mu      sync.Mutex
	methods []string // of the requests with the right token
}

func newFar(t *testing.T, h http.Handler) *far {
	f := &far{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		f.mu.Lock()
		f.methods = append(f.methods, r.Method)
		f.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func remoteServer(url, bearer string) mcp.Server {
	s := mcp.Server{Name: "srv", URL: url, Taint: true, Timeout: 10 * time.Minute}
	if bearer != "" {
		s.Token = func(context.Context, string) (string, error) { return bearer, nil }
	}
	return s
}

func TestRemote(t *testing.T) {
	b := newBench(t)
	f := newFar(t, mcptest.Handler("ordinary"))
	s := remoteServer(f.URL, token)
	if r := b.must(s, "echo", `{"text":"hello"}`); r.Text != "hello" || r.Taint != "mcp srv" {
		t.Errorf("%+v", r)
	}
	big := tool.Shorten(b.must(s, "big", ""), "r/2", tool.Limits{Head: 1 << 10, Tail: 1 << 10, SpoolDir: b.dir})
	if !strings.HasPrefix(big.Text, "begin") || !strings.HasSuffix(big.Text, "end") || big.Spool == "" {
		t.Errorf("ten megabytes: %d bytes, %.100s", len(big.Text), big.Text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := b.call(ctx, s, "slow", "", func([]byte) { cancel() }); !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("cancelled: %v", err)
	}
	if r := b.must(s, "echo", `{"text":"on"}`); r.Text != "on" {
		t.Errorf("after a cancelled call: %+v", r)
	}
	_ = b.pool.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := f.methods[len(f.methods)-1]; last != http.MethodDelete {
		t.Errorf("the session is ended with the pool: the last request was %s", last)
	}
}

// TestRemoteForgets holds that a server which was started anew, and does not know
// the session, is called all the same.
func TestRemoteForgets(t *testing.T) {
	b := newBench(t)
	var mu sync.Mutex
	h := mcptest.Handler("ordinary")
	f := newFar(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := h
		mu.Unlock()
		now.ServeHTTP(w, r)
	}))
	s := remoteServer(f.URL, token)
	b.must(s, "echo", `{"text":"one"}`)
	mu.Lock()
	h = mcptest.Handler("ordinary")
	mu.Unlock()
	if r := b.must(s, "echo", `{"text":"two"}`); r.Text != "two" || r.IsError {
		t.Errorf("%+v", r)
	}
}

// TestRemoteForgetsInOtherWords holds the same for a server that answers 400 to a session
// it does not know, as many do.
func TestRemoteForgetsInOtherWords(t *testing.T) {
	b := newBench(t)
	h := mcptest.Handler("ordinary")
	var mu sync.Mutex
	forgotten := ""
	f := newFar(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		gone := forgotten != "" && r.Header.Get("Mcp-Session-Id") == forgotten
		if forgotten == "?" {
			forgotten, gone = r.Header.Get("Mcp-Session-Id"), true
		}
		mu.Unlock()
		if gone {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
			return
		}
		h.ServeHTTP(w, r)
	}))
	s := remoteServer(f.URL, token)
	b.must(s, "echo", `{"text":"one"}`)
	mu.Lock()
	forgotten = "?"
	mu.Unlock()
	if r := b.must(s, "echo", `{"text":"two"}`); r.Text != "two" || r.IsError {
		t.Errorf("%+v", r)
	}
}

// TestRemoteTroubles holds what is said of servers that cannot be used, and that
// nobody else learns the token.
func TestRemoteTroubles(t *testing.T) {
	others := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { others <- r.Header.Get("Authorization") }))
	t.Cleanup(other.Close)
	encrypted := httptest.NewTLSServer(mcptest.Handler("ordinary"))
	t.Cleanup(encrypted.Close)
	answer := func(kind, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, text)
		})
	}
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for name, c := range map[string]struct {
		h     http.Handler
		url   string
		token string
		want  string
	}{
		"wrong token":  {h: status(200), token: "wrong-" + token, want: "it refuses the token (HTTP 401): bearer_env names"},
		"no token":     {h: status(200), token: "-", want: "it wants to know who calls (HTTP 401); needs login: fika mcp login srv, or bearer_env if it takes a key"},
		"redirect":     {h: http.RedirectHandler(other.URL+"/mcp", http.StatusTemporaryRedirect), want: "it redirects to http://127.0.0.1:"},
		"circle":       {h: http.RedirectHandler("/again", http.StatusTemporaryRedirect), want: "it redirects again and again"},
		"certificate":  {url: encrypted.URL, want: "it cannot be reached: tls: failed to verify certificate"},
		"nobody":       {url: "http://" + gone.Addr().String(), want: "connection refused"},
		"no such host": {url: "http://no-such-host.invalid/mcp", want: "it cannot be reached: "},
		"hangs": {h: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // who is not read from is not seen to go
			<-r.Context().Done()
		}), want: "it did not answer within 300ms"},
		"page":           {h: answer("text/html; charset=utf-8", "<h1>Welcome</h1>"), want: "with a page for people"},
		"text":           {h: answer("text/plain", "hello"), want: `unsupported content type "text/plain"`},
		"garbage":        {h: answer("application/json", "\x00\xff{{{"), want: "decode"},
		"cut JSON":       {h: answer("application/json", `{"jsonrpc":"2.0","id":1,"resu`), want: "decode"},
		"garbage events": {h: answer("text/event-stream", "data: \x00\x1b[31m{{\n\n"), want: "decode"},
		"no event":       {h: answer("text/event-stream", ""), want: "it closed the connection before it had answered"},
		"endless":        {h: answer("application/json", strings.Repeat(" ", 33<<20)), want: "an answer of more than 32 MiB"},
		"not found":      {h: status(404), want: "Not Found"},
		"overloaded":     {h: status(503), want: "it answered HTTP 503 (Service Unavailable)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if c.url == "" {
				c.url = newFar(t, c.h).URL
			}
			bearer := token
			if c.token != "" {
				bearer = strings.Trim(c.token, "-")
			}
			s := remoteServer(c.url, bearer)
			if name == "hangs" {
				s.Timeout = 300 * time.Millisecond
			}
			_, err := b.pool.Pinned(t.Context(), s, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), token) || strings.ContainsAny(err.Error(), "\x00\x1b") {
				t.Errorf("%v, want %q", err, c.want)
			}
			if kept, _ := os.ReadFile(b.pins.Path("srv")); strings.Contains(string(kept), token) {
				t.Error("the token is kept in a file")
			}
		})
	}
	t.Cleanup(func() {
		select {
		case got := <-others:
			t.Errorf("another host was asked, with %q", got)
		default:
		}
	})
}

// TestRemoteRenewsToken holds that a token which the server refuses is replaced once, in
// the middle of a session, too; that the call itself is made once; and what is said when
// there is no other token, or when the login is not enough.
func TestRemoteRenewsToken(t *testing.T) {
	s := oauthtest.New(mcptest.Handler("ordinary"))
	t.Cleanup(s.Close)
	l, err := oauth.LogIn(t.Context(), oauth.Target{URL: s.MCP()}, oauth.Prompt{Show: func(address string) error {
		resp, err := http.Get(address)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.pins.Now = time.Now
	far := remoteServer(s.MCP(), "")
	far.ByLogin = true
	var ended error
	far.Token = func(ctx context.Context, refused string) (string, error) {
		if refused == "" || refused != l.Access {
			return l.Access, nil
		}
		if ended != nil {
			return "", ended
		}
		l, err = oauth.Renew(ctx, l, time.Now)
		return l.Access, err
	}
	b.must(far, "echo", `{"text":"one"}`)
	s.Expire()
	if r := b.must(far, "echo", `{"text":"two"}`); r.Text != "two" || s.Renewed() != 1 {
		t.Errorf("%+v, renewed %d times", r, s.Renewed())
	}
	s.Behave(func(b *oauthtest.Behaviour) { b.Scope = "files:write" })
	if r := b.must(far, "echo", `{"text":"three"}`); !r.Denied || !strings.Contains(r.Text, "fika mcp login srv --scope files:write asks for more") || r.Unknown {
		t.Errorf("%+v", r)
	}
	s.Behave(func(b *oauthtest.Behaviour) { b.Scope = "" })
	s.Expire()
	ended = fika.Errorf(fika.Denied, "", "needs login: fika mcp login srv (it has ended)")
	for range 2 {
		if r := b.must(far, "echo", `{"text":"four"}`); !r.Denied || !strings.Contains(r.Text, "failed: needs login: fika mcp login srv (it has ended)") || r.Unknown {
			t.Errorf("%+v", r)
		}
	}
}

// TestRemoteHeaders holds that the headers of the settings are sent with each request.
func TestRemoteHeaders(t *testing.T) {
	b := newBench(t)
	h := mcptest.Handler("ordinary")
	f := newFar(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Region") != "eu" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		h.ServeHTTP(w, r)
	}))
	s := remoteServer(f.URL, token)
	s.Headers = func() (map[string]string, error) { return map[string]string{"X-Region": "eu"}, nil }
	if r := b.must(s, "echo", `{"text":"hello"}`); r.Text != "hello" {
		t.Errorf("%+v", r)
	}
}

// TestRemoteIsAway holds that a call which never reached the server is not said to have
// perhaps happened.
func TestRemoteIsAway(t *testing.T) {
	b := newBench(t)
	f := newFar(t, mcptest.Handler("ordinary"))
	s := remoteServer(f.URL, token)
	b.must(s, "echo", `{"text":"hello"}`)
	f.Close()
	r := b.must(s, "write", `{}`)
	for tries := 3; r.Unknown && tries > 0; tries-- { // those that find the connections lost do not know
		r = b.must(s, "write", `{}`)
	}
	if !r.IsError || r.Unknown || !strings.Contains(r.Text, "connection refused") {
		t.Errorf("%+v", r)
	}
}

// TestRemoteEndsInTheMiddle holds that a connection which is lost in a call ends
// the call at once, and that nobody claims to know whether it was carried out. Which of
// its connections is noticed to be lost first, and so the reason given, is open.
func TestRemoteEndsInTheMiddle(t *testing.T) {
	b := newBench(t)
	f := newFar(t, mcptest.Handler("ordinary"))
	s := remoteServer(f.URL, token)
	closed := make(chan struct{})
	r, err := b.call(t.Context(), s, "slow", "", func([]byte) {
		go func() {
			f.CloseClientConnections()
			close(closed)
		}()
	})
	<-closed
	if err != nil || !r.IsError || !r.Unknown || !strings.Contains(r.Text, "may or may not have happened") {
		t.Errorf("%+v, %v", r, err)
	}
	// The next call may be the one that finds the other connections lost.
	for tries := 3; r.Unknown && tries > 0; tries-- {
		r = b.must(s, "echo", `{"text":"on"}`)
	}
	if r.Text != "on" {
		t.Errorf("the next call: %+v", r)
	}
}
