package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"fika/internal/extension/mcp/mcptest"
	"fika/internal/extension/oauth/oauthtest"
)

// TestMCPLoginKilled kills a command in the middle of renewing a login, before the server
// has done anything, and after it has. The refresh token is good for one use: in the first
// case the next command renews the login, in the second a person is asked to.
func TestMCPLoginKilled(t *testing.T) {
	s := oauthtest.New(mcptest.Handler("ordinary"))
	defer s.Close()
	h := newHome(t, "[[mcp]]\nname = \"far\"\nurl = \""+s.MCP()+"\"\n")
	logIn := func() {
		p := h.start("mcp", "login", "far", "--no-browser")
		if !eventually(func() bool { return strings.Contains(p.out.String(), "\n") }) {
			t.Fatal(p.err.String())
		}
		address, _, _ := strings.Cut(p.out.String(), "\n")
		resp, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if err := p.Wait(); err != nil {
			t.Fatal(err, p.err.String())
		}
	}
	call := func(status int) string {
		t.Helper()
		out, errs := h.run(status, "mcp", "call", "far__echo", `{"text":"on"}`)
		return out + errs
	}
	// kill renews the login in a command that is killed at a point of the server's work.
	kill := func(at func(*oauthtest.Behaviour, func())) {
		t.Helper()
		s.Expire()
		reached, killed := make(chan struct{}), make(chan struct{})
		s.Behave(func(b *oauthtest.Behaviour) {
			at(b, func() { close(reached); <-killed; panic(http.ErrAbortHandler) })
		})
		p := h.start("mcp", "call", "far__echo", `{"text":"lost"}`)
		<-reached
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait()
		close(killed)
		s.Behave(func(b *oauthtest.Behaviour) { *b = oauthtest.Behaviour{} })
	}
	logIn()
	kill(func(b *oauthtest.Behaviour, stop func()) { b.Before = stop })
	if out := call(0); !strings.Contains(out, "on\n") {
		t.Error(out)
	}
	kill(func(b *oauthtest.Behaviour, stop func()) { b.After = stop })
	for range 2 {
		if out := call(1); !strings.Contains(out, "needs login: fika mcp login far (the server does not renew it: invalid_grant") {
			t.Error(out)
		}
	}
	if n := len(s.Faults()); n != 1 {
		t.Errorf("a login that has ended was tried %d times: %q", n, s.Faults())
	}
	logIn()
	if out := call(0); !strings.Contains(out, "on\n") {
		t.Error(out)
	}
}
