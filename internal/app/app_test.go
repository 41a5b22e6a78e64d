package app_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fika"
	"fika/internal/app"
	busnats "fika/internal/bus/nats"
	"fika/internal/store/storetest"
)

const good = "username = \"kim\"\nmodel = \"m\"\n[[models]]\nid = \"m\"\nbase_url = \"https://models.example.com/v1\"\napi_key_env = \"KIMS_KEY\"\n[[agents]]\nid = \"arya\"\n"

// home makes a home with settings, and returns its folder.
func home(t *testing.T, settings string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	configure(t, root, settings)
	storetest.FreshAt(t, filepath.Join(root, "fika.db"))
	return root
}

func configure(t *testing.T, root, settings string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, "config.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, o app.Options) *app.App {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	a := app.New(o)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// A process that follows its files keeps to what they said last while they
// cannot be read, says so once, and says when they can be read again.
func TestConfigKeepsTheLastGoodSettings(t *testing.T) {
	root := home(t, good)
	a := open(t, app.Options{Root: root})
	var told []string
	a.FollowConfig(func(s string) { told = append(told, s) })
	username := func() string {
		t.Helper()
		c, err := a.Config()
		if err != nil {
			t.Fatal(err)
		}
		return c.Username
	}
	if got := username(); got != "kim" || a.Broken() != "" {
		t.Errorf("got %q, broken: %q", got, a.Broken())
	}
	configure(t, root, "username = [\n")
	first, again := username(), username()
	if first != "kim" || again != "kim" || len(told) != 1 || !strings.Contains(told[0], "config.toml:") || a.Broken() == "" {
		t.Errorf("with a broken file: %q, told %q", a.Broken(), told)
	}
	configure(t, root, strings.Replace(good, "kim", "robin", 1))
	if got := username(); got != "robin" || len(told) != 2 || a.Broken() != "" {
		t.Errorf("mended: %q, told %q", got, told)
	}
}

// A command that only looks works with what another process could read last;
// any other says what is wrong.
func TestLastGoodIsForThoseWhoOnlyLook(t *testing.T) {
	root := home(t, good)
	if _, err := open(t, app.Options{Root: root}).Config(); err != nil {
		t.Fatal(err)
	}
	configure(t, root, "username = [\n")
	if _, err := open(t, app.Options{Root: root}).Config(); !strings.Contains(err.Error(), "config.toml:") {
		t.Errorf("got %v", err)
	}
	var warned string
	a := open(t, app.Options{Root: root, LastGood: true, Warn: func(s string) { warned = s }})
	if c, err := a.Config(); err != nil || c.Username != "kim" || !strings.Contains(warned, "config.toml:") {
		t.Errorf("got %v, warned %q", err, warned)
	}
}

// A stored key goes to the hosts of the models that name it, the environment
// comes first, and nobody is told what a key is.
func TestKeys(t *testing.T) {
	root := home(t, good)
	a := open(t, app.Options{Root: root})
	s, err := a.Settings("arya", nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Model(s); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "fika key set KIMS_KEY") {
		t.Errorf("without a key: %v", err)
	}
	hosts, err := a.SetKey(t.Context(), "KIMS_KEY", "very-secret-value", nil)
	if err != nil || len(hosts) != 1 || hosts[0] != "models.example.com" {
		t.Errorf("bound to %q, %v", hosts, err)
	}
	if _, err := a.Model(s); err != nil {
		t.Error(err)
	}
	other := s
	other.Model.BaseURL = "https://elsewhere.example.com/v1"
	if _, err := a.Model(other); err == nil || strings.Contains(err.Error(), "very-secret-value") {
		t.Errorf("for another host: %v", err)
	}
	if got := a.KeyOrigin(s.Model); got != "stored: fika key list" {
		t.Errorf("got %q", got)
	}
	b := open(t, app.Options{Root: root, Getenv: func(name string) string { return map[string]string{"KIMS_KEY": "outside-0123456789abcdef"}[name] }})
	if got := b.KeyOrigin(s.Model); got != "environment KIMS_KEY" {
		t.Errorf("got %q", got)
	}
	if got := b.Secrets().Text("it is outside-0123456789abcdef"); strings.Contains(got, "outside-") {
		t.Errorf("got %q", got)
	}
	if _, err := a.SetKey(t.Context(), "no name", "x", nil); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("got %v", err)
	}
}

// TestBusPassword: the password of an external server is found like other secrets: in the
// environment, else stored, and then for that server alone. Without one, what helps is named.
func TestBusPassword(t *testing.T) {
	root := home(t, "[nats]\nserver = \"tls://bus.example.com:4222,tls://bus2.example.com:4222\"\nuser = \"fika\"\npassword_env = \"NATS_PASSWORD\"\n")
	a := open(t, app.Options{Root: root})
	password := func(a *app.App) (string, error) {
		c, err := a.Config()
		if err != nil {
			t.Fatal(err)
		}
		var o busnats.Options
		err = a.ExternalOptions(c, &o)
		return o.Password, err
	}
	if _, err := password(a); !fika.IsKind(err, fika.Invalid) || fika.HintOf(err) != "fika key set NATS_PASSWORD" {
		t.Errorf("without a password: %v", err)
	}
	if _, err := a.SetKey(t.Context(), "NATS_PASSWORD", "very-secret-value", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := password(a); got != "very-secret-value" || err != nil {
		t.Errorf("stored: %q, %v", got, err)
	}
	b := open(t, app.Options{Root: root, Getenv: func(name string) string { return map[string]string{"NATS_PASSWORD": "of-the-shell"}[name] }})
	if got, err := password(b); got != "of-the-shell" || err != nil {
		t.Errorf("of the environment: %q, %v", got, err)
	}
	configure(t, root, "[nats]\nserver = \"tls://elsewhere.example.com:4222\"\nuser = \"fika\"\npassword_env = \"NATS_PASSWORD\"\n")
	if got, err := password(open(t, app.Options{Root: root})); got != "" || !fika.IsKind(err, fika.Denied) {
		t.Errorf("for another server: %q, %v", got, err)
	}
}

// Who is written to must be there: an agent of the config is made, a misspelt
// one is not, and no person goes by an agent's name.
func TestNames(t *testing.T) {
	a := open(t, app.Options{Root: home(t, good)})
	row, err := a.Recipient(t.Context(), "arya")
	if err != nil || row.Name != "arya" {
		t.Errorf("got %+v, %v", row, err)
	}
	if _, err := a.Recipient(t.Context(), "arja"); !fika.IsKind(err, fika.NotFound) || !strings.Contains(err.Error(), `did you mean "arya"?`) {
		t.Errorf("got %v", err)
	}
	if err := a.MayBeCalled(t.Context(), "kim"); err != nil {
		t.Error(err)
	}
	if err := a.MayBeCalled(t.Context(), "kim", "Arya"); !fika.IsKind(err, fika.Denied) {
		t.Errorf("got %v", err)
	}
	s, err := a.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if row, err := app.FindRow(t.Context(), s, "arja"); row != nil || err != nil {
		t.Errorf("got %+v, %v", row, err)
	}
}

// PlainSettings are there when no model is, and when a file of the context
// cannot be read.
func TestPlainSettingsNeedNoModel(t *testing.T) {
	root := home(t, "username = \"kim\"\n[[agents]]\nid = \"arya\"\nname = \"Arya S\"\n")
	a := open(t, app.Options{Root: root})
	h, err := a.Home()
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := h.Ensure("arya")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.LocalConfig(), []byte("model = [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Settings("arya", nil, true); err == nil || !strings.Contains(err.Error(), "local.toml") {
		t.Errorf("got %v", err)
	}
	s, err := a.PlainSettings("arya")
	if err != nil || !s.Entry || s.DisplayName != "Arya S" || s.Username != "kim" {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestCallersAreThoseOfTheFilesNow holds that who may ask an agent follows each of
// the files that say so, and that what was read is kept only while they stand.
func TestCallersAreThoseOfTheFilesNow(t *testing.T) {
	root := home(t, good)
	a := open(t, app.Options{Root: root})
	a.FollowConfig(func(string) {})
	folder := filepath.Join(root, "contexts", "arya")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(folder, "local.toml")
	want := func(what string, names ...string) {
		t.Helper()
		for range 2 {
			if by, err := a.CallableBy(t.Context(), "arya"); err != nil || strings.Join(by, " ") != strings.Join(names, " ") {
				t.Fatalf("%s: %v, %v instead of %v", what, by, err, names)
			}
		}
	}
	want("nothing is said")
	configure(t, root, good+"callable_by = [\"gendry\"]\n")
	want("the config", "gendry")
	if err := os.WriteFile(local, []byte("callable_by = [\"user\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("its own file", "user")
	if err := os.Remove(local); err != nil {
		t.Fatal(err)
	}
	want("its own file is gone", "gendry")
	if err := os.WriteFile(local, []byte("callable_by = \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if by, err := a.CallableBy(t.Context(), "arya"); err == nil {
		t.Fatalf("a file that cannot be read: %v", by)
	}
}

// TestReconnectAttempts: reconnect_attempts is how often a command tries to reach a bus on
// another machine.
func TestReconnectAttempts(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(addrs, func(a net.Addr) bool {
		ip, ok := a.(*net.IPNet)
		return ok && ip.IP.To4() != nil && !ip.IP.IsLoopback()
	})
	if at < 0 {
		t.Skip("this machine has no address but loopback")
	}
	var tried atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tried.Add(1)
			_ = c.Close()
		}
	}()
	host := addrs[at].(*net.IPNet).IP.String()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, want := range []int64{1, 4} {
		settings := fmt.Sprintf("[nats]\nserver = \"tls://%s:%s\"\nuser = \"u\"\npassword = \"p\"\nreconnect_delay_ms = 1\nreconnect_attempts = %d\n", host, port, want)
		a := open(t, app.Options{Root: home(t, settings)})
		tried.Store(0)
		if _, err := a.Bus(t.Context(), "member", false); !fika.IsKind(err, fika.Failed) || tried.Load() != want {
			t.Errorf("%d tries, want %d: %v", tried.Load(), want, err)
		}
	}
}
