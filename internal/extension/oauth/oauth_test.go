package oauth_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/extension/mcp/mcptest"
	"fika/internal/extension/oauth"
	"fika/internal/extension/oauth/oauthtest"
	"fika/internal/settings/keyfile"
)

func newServer(t *testing.T) *oauthtest.Server {
	s := oauthtest.New(mcptest.Handler("ordinary"))
	t.Cleanup(s.Close)
	return s
}

// visit goes to an address as a browser does, and returns where it ended and what it saw.
func visit(t *testing.T, address string) (ended, saw string) {
	resp, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return "", ""
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.Request.URL.String(), resp.Status + " " + string(page)
}

// browser is a prompt whose person logs in at once.
func browser(t *testing.T) oauth.Prompt {
	return oauth.Prompt{Show: func(address string) error { visit(t, address); return nil }}
}

func logIn(t *testing.T, s *oauthtest.Server, p oauth.Prompt) (keyfile.Login, error) {
	return oauth.LogIn(t.Context(), oauth.Target{URL: s.MCP()}, p, time.Now)
}

// withoutSecrets fails if an error holds what a server has given.
func withoutSecrets(t *testing.T, s *oauthtest.Server, err error) {
	t.Helper()
	for _, secret := range s.Given() {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q holds the secret %s", err, secret)
		}
	}
}

// TestLogIn holds that a strict server gives a login, and renews it: each refresh token is
// used once, and every request names the resource.
func TestLogIn(t *testing.T) {
	s := newServer(t)
	began := time.Now()
	l, err := logIn(t, s, browser(t))
	if err != nil {
		t.Fatal(err)
	}
	if life := l.Expires.Sub(began); life < 59*time.Minute || life > 61*time.Minute || l.Resource != s.MCP() || l.Refresh == "" {
		t.Errorf("%+v", l)
	}
	next, err := oauth.Renew(t.Context(), l, time.Now)
	if err != nil || next.Access == l.Access || next.Refresh == l.Refresh || next.ClientID != l.ClientID {
		t.Errorf("%+v, %v", next, err)
	}
	if f := s.Faults(); len(f) > 0 {
		t.Errorf("%q", f)
	}
	_, err = oauth.Renew(t.Context(), l, time.Now)
	if !fika.IsKind(err, fika.Denied) || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("an old refresh token: %v", err)
	}
	withoutSecrets(t, s, err)
}

// TestLogInKnownClient holds that a client id of the settings is used in place of
// registration.
func TestLogInKnownClient(t *testing.T) {
	s := newServer(t)
	s.Register("fika-here", "http://127.0.0.1:18593/callback")
	l, err := oauth.LogIn(t.Context(), oauth.Target{URL: s.MCP(), ClientID: "fika-here", Port: 18593}, browser(t), time.Now)
	if err != nil || l.ClientID != "fika-here" {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err = oauth.Renew(t.Context(), l, time.Now); err != nil {
		t.Error(err)
	}
}

// TestLogInTroubles holds how a login fails, and that nothing of it is used then.
func TestLogInTroubles(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*oauthtest.Behaviour)
		want string
		kind fika.Kind
	}{
		"refused":          {func(b *oauthtest.Behaviour) { b.Refuse = "access_denied" }, "the server refuses the login: access_denied: the person said no", fika.Denied},
		"hostile refusal":  {func(b *oauthtest.Behaviour) { b.Refuse = "\x1b[2Jx" + strings.Repeat("y", 5000) }, "the server refuses the login: ", fika.Denied},
		"tokens over http": {func(b *oauthtest.Behaviour) { b.TokenURL = "http://elsewhere.example/token" }, "does not use HTTPS", fika.Failed},
		"tokens by script": {func(b *oauthtest.Behaviour) { b.TokenURL = "javascript:alert(1)" }, "disallowed scheme", fika.Failed},
		"huge metadata":    {func(b *oauthtest.Behaviour) { b.Huge = true }, "unexpected EOF", fika.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.Behave(c.do)
			l, err := logIn(t, s, browser(t))
			if fika.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 800 || strings.Contains(err.Error(), "\x1b") || l.Access != "" {
				t.Errorf("%v, %+v", err, l)
			}
			withoutSecrets(t, s, err)
		})
	}
}

// TestLogInWithoutMetadata holds that a server which describes nothing is logged in to at
// the addresses of the protocol's first version.
func TestLogInWithoutMetadata(t *testing.T) {
	s := newServer(t)
	s.Behave(func(b *oauthtest.Behaviour) { b.NoMetadata, b.Bare = true, true })
	if l, err := logIn(t, s, browser(t)); err != nil || l.TokenURL != s.URL+"/token" {
		t.Errorf("%+v, %v", l, err)
	}
	s.Behave(func(b *oauthtest.Behaviour) { *b = oauthtest.Behaviour{Resource: "https://elsewhere.example/mcp"} })
	if l, err := logIn(t, s, browser(t)); err != nil || l.Resource != s.MCP() {
		t.Errorf("a description of another server counts: %+v, %v", l, err)
	}
}

// TestLogInState holds that an answer with another state is refused and changes nothing,
// whether it comes from the browser or is pasted; the right one still counts.
func TestLogInState(t *testing.T) {
	s := newServer(t)
	s.Behave(func(b *oauthtest.Behaviour) { b.WrongState = true })
	typed, keyboard := io.Pipe()
	rejected := make(chan error, 2)
	p := oauth.Prompt{
		Paste: func(ctx context.Context) io.Reader {
			context.AfterFunc(ctx, func() { _ = typed.Close() })
			return typed
		},
		Reject: func(why error) { rejected <- why },
		Show: func(address string) error {
			ended, saw := visit(t, address)
			if !strings.HasPrefix(saw, "400") || !strings.Contains(saw, "does not belong to the login that is waiting") {
				return fika.Errorf(fika.Failed, "", "the browser saw %s", saw)
			}
			if _, err := io.WriteString(keyboard, ended+"\n\nno address\n"); err != nil {
				t.Error(err)
			}
			for range 2 {
				if why := <-rejected; !strings.Contains(why.Error(), "does not belong") {
					t.Errorf("%v", why)
				}
			}
			at, err := url.Parse(address)
			if err != nil {
				return err
			}
			back, err := url.Parse(ended)
			if err != nil {
				return err
			}
			q := back.Query()
			q.Set("state", at.Query().Get("state"))
			back.RawQuery = q.Encode()
			_, err = io.WriteString(keyboard, back.String()+"\n")
			return err
		},
	}
	if l, err := logIn(t, s, p); err != nil || l.Access == "" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestLogInPlaces holds where a login may go at all.
func TestLogInPlaces(t *testing.T) {
	for _, address := range []string{"http://mcp.example/mcp", "ftp://127.0.0.1/mcp", "javascript:1", "http://127.0.0.1.example/mcp"} {
		_, err := oauth.LogIn(t.Context(), oauth.Target{URL: address}, oauth.Prompt{}, time.Now)
		if !fika.IsKind(err, fika.Denied) {
			t.Errorf("%s: %v", address, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t)
	_, err := oauth.LogIn(ctx, oauth.Target{URL: s.MCP()}, oauth.Prompt{Show: func(string) error { cancel(); return nil }}, time.Now)
	if !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("given up: %v", err)
	}
}

// TestRenewTroubles holds which failures end a login, and which do not.
func TestRenewTroubles(t *testing.T) {
	s := newServer(t)
	l, err := logIn(t, s, browser(t))
	if err != nil {
		t.Fatal(err)
	}
	s.Behave(func(b *oauthtest.Behaviour) { b.RefreshBad = "invalid_grant" })
	_, err = oauth.Renew(t.Context(), l, time.Now)
	if !fika.IsKind(err, fika.Denied) || !strings.Contains(err.Error(), "invalid_grant: ended") {
		t.Errorf("%v", err)
	}
	withoutSecrets(t, s, err)
	s.Close()
	if _, err = oauth.Renew(t.Context(), l, time.Now); !fika.IsKind(err, fika.Failed) {
		t.Errorf("a server that is away: %v", err)
	}
	l.TokenURL = "http://elsewhere.example/token"
	if _, err = oauth.Renew(t.Context(), l, time.Now); !fika.IsKind(err, fika.Denied) || !strings.Contains(err.Error(), "is not https") {
		t.Errorf("a token over http: %v", err)
	}
}
