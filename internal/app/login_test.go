package app_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/mcp/mcptest"
	"fika/internal/extension/oauth"
	"fika/internal/extension/oauth/oauthtest"
	"fika/internal/settings/config"
)

// loggedIn is a home whose person is logged in to a server.
type loggedIn struct {
	*testing.T
	root   string
	server *oauthtest.Server
	entry  config.MCPServer
	first  string // access token

	mu  sync.Mutex
	now time.Time
}

func newLoggedIn(t *testing.T, do func(*oauthtest.Behaviour)) *loggedIn {
	l := &loggedIn{T: t, root: t.TempDir(), server: oauthtest.New(mcptest.Handler("ordinary")), now: time.Now()}
	t.Cleanup(l.server.Close)
	l.server.Behave(do)
	if err := os.Chmod(l.root, 0o700); err != nil {
		t.Fatal(err)
	}
	l.entry = config.MCPServer{Name: "far", URL: l.server.MCP()}
	a := l.open()
	err := a.LogIn(t.Context(), l.entry, nil, 0, oauth.Prompt{Show: func(address string) error {
		resp, err := http.Get(address)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}})
	if err != nil {
		t.Fatal(err)
	}
	l.first = l.token(a, "")
	return l
}

// open returns the home as another process has it.
func (l *loggedIn) open() *app.App {
	a := app.New(app.Options{Root: l.root, Dir: l.root, Getenv: func(string) string { return "" }, Now: func() time.Time {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.now
	}})
	l.Cleanup(func() { _ = a.Close() })
	return a
}

func (l *loggedIn) later(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

func (l *loggedIn) token(a *app.App, refused string) string {
	l.Helper()
	token, err := a.ServerToken(l.Context(), l.entry, refused)
	if err != nil {
		l.Fatal(err)
	}
	return token
}

// needs fails unless a token needs a login by a person, for a reason.
func (l *loggedIn) needs(refused, why string) {
	l.Helper()
	_, err := l.open().ServerToken(l.Context(), l.entry, refused)
	if !fika.IsKind(err, fika.Denied) || !strings.Contains(err.Error(), "needs login: fika mcp login far") || !strings.Contains(err.Error(), why) {
		l.Errorf("%v", err)
	}
	for _, secret := range l.server.Given() {
		if err != nil && strings.Contains(err.Error(), secret) {
			l.Errorf("%q holds a secret", err)
		}
	}
}

// TestServerTokenOnce holds that a login which several processes find refused is renewed
// by one of them: the refresh token is good for one use.
func TestServerTokenOnce(t *testing.T) {
	l := newLoggedIn(t, func(*oauthtest.Behaviour) {})
	var all sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		a := l.open()
		all.Go(func() { got[i], _ = a.ServerToken(t.Context(), l.entry, l.first) })
	}
	all.Wait()
	if slices.Contains(got, "") || len(slices.Compact(slices.Clone(got))) != 1 || got[0] == l.first || l.server.Renewed() != 1 {
		t.Errorf("%q, renewed %d times", got, l.server.Renewed())
	}
	if token := l.token(l.open(), ""); token != got[0] {
		t.Errorf("%s is not the newer one", token)
	}
	if f := l.server.Faults(); len(f) > 0 {
		t.Errorf("%q", f)
	}
}

// TestServerTokenEnds holds that a token which has ended, or is about to, is renewed
// before it is sent, and what happens if that is impossible.
func TestServerTokenEnds(t *testing.T) {
	l := newLoggedIn(t, func(*oauthtest.Behaviour) {})
	l.later(59 * time.Minute)
	if token := l.token(l.open(), ""); token != l.first {
		t.Error("renewed too early")
	}
	l.later(55 * time.Second)
	second := l.token(l.open(), "")
	if second == l.first {
		t.Error("not renewed")
	}
	l.server.Behave(func(b *oauthtest.Behaviour) { b.RefreshBad = "invalid_grant" })
	l.needs(second, "the server does not renew it: invalid_grant")
	l.server.Behave(func(b *oauthtest.Behaviour) { b.RefreshBad = "" })
	l.needs(second, "invalid_grant") // and is not asked again
	if s, err := l.open().LoginTo(l.entry); err != nil || s.Works || !s.There {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestServerTokenAway holds that a server which is away for a moment ends no login.
func TestServerTokenAway(t *testing.T) {
	l := newLoggedIn(t, func(*oauthtest.Behaviour) {})
	l.server.Behave(func(b *oauthtest.Behaviour) { b.Before = func() { panic(http.ErrAbortHandler) } })
	l.later(time.Hour - 5*time.Second)
	if token := l.token(l.open(), ""); token != l.first {
		t.Error("its last seconds are not used")
	}
	l.later(time.Minute)
	if _, err := l.open().ServerToken(t.Context(), l.entry, ""); !fika.IsKind(err, fika.Failed) || !strings.Contains(err.Error(), "cannot be renewed now") {
		t.Errorf("%v", err)
	}
	l.server.Behave(func(b *oauthtest.Behaviour) { b.Before = nil })
	l.token(l.open(), "")
}

// TestServerTokenWithoutRefresh holds what a login that cannot be renewed says before its
// end and after it.
func TestServerTokenWithoutRefresh(t *testing.T) {
	l := newLoggedIn(t, func(b *oauthtest.Behaviour) { b.NoRefresh = true })
	if s, err := l.open().LoginTo(l.entry); err != nil || !s.Works || s.Ends.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
	l.later(2 * time.Hour)
	l.needs("", "it has ended")
	if s, err := l.open().LoginTo(l.entry); err != nil || s.Works || s.Why != "it has ended" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestServerTokenBound holds that a token goes to the server that it is of, and nowhere
// else; and that it is removed from texts, and of no use after a logout.
func TestServerTokenBound(t *testing.T) {
	l := newLoggedIn(t, func(*oauthtest.Behaviour) {})
	if text := l.open().Secrets().Text("it is " + l.first); strings.Contains(text, l.first) {
		t.Error(text)
	}
	info, err := os.Stat(filepath.Join(l.root, "keys"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	at := l.entry.URL
	l.entry.URL = "https://evil.example/mcp"
	l.needs("", "the last login was to 127.0.0.1")
	l.entry.URL = at
	if err := l.open().LogOut(t.Context(), l.entry); err != nil {
		t.Fatal(err)
	}
	l.needs("", "you have logged out")
	raw, err := os.ReadFile(filepath.Join(l.root, "keys"))
	for _, secret := range l.server.Given() {
		if err != nil || strings.Contains(string(raw), secret) {
			t.Errorf("%s is still there, %v", secret, err)
		}
	}
	if err := l.open().LogOut(t.Context(), config.MCPServer{Name: "other"}); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("%v", err)
	}
}

// TestLogOutWaitsForRenewal holds that a login does not come back because it was being
// renewed when its person logged out.
func TestLogOutWaitsForRenewal(t *testing.T) {
	l := newLoggedIn(t, func(*oauthtest.Behaviour) {})
	reached, release := make(chan struct{}), make(chan struct{})
	l.server.Behave(func(b *oauthtest.Behaviour) { b.Before = func() { close(reached); <-release } })
	var renewal sync.WaitGroup
	a := l.open()
	renewal.Go(func() { _, _ = a.ServerToken(t.Context(), l.entry, l.first) })
	<-reached
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.open().LogOut(gone, l.entry); !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("it did not wait: %v", err)
	}
	close(release)
	if err := l.open().LogOut(t.Context(), l.entry); err != nil {
		t.Error(err)
	}
	renewal.Wait()
	l.needs("", "you have logged out")
}
