package daemon

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/store/storetest"
)

const model = "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n"

// homeWith is a home with agents, as its hub sees it, which follows its files.
func homeWith(t *testing.T, agents string) hubHome {
	t.Helper()
	root := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	storetest.FreshAt(t, filepath.Join(root, "fika.db"))
	write(t, filepath.Join(root, "r.toml"), "fallback = \"hej\"\n")
	write(t, filepath.Join(root, "config.toml"), model+agents)
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() { _ = a.Close() })
	a.FollowConfig(func(s string) { t.Log(s) })
	h, err := a.Home()
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return hubHome{app: a, home: h, store: s}
}

// write makes a file that looks old: one that was just written counts as changed
// again and again.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Unix(1_700_000_000+int64(len(text)), 0)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// The hub hears of agents in the config, once for each change.
func TestReload(t *testing.T) {
	h := homeWith(t, "[[agents]]\nid = \"arya\"\n")
	reload := h.reload(&hubBus{})
	if _, changed := reload(t.Context()); changed {
		t.Error("changed although nothing was written")
	}
	write(t, h.home.ConfigFile(), model+"[[agents]]\nid = \"arya\"\n[[agents]]\nid = \"bran\"\nwake = false\n")
	specs, changed := reload(t.Context())
	if !changed || len(specs) != 2 || specs[1].Name != "bran" || specs[1].Wake || !specs[0].Wake {
		t.Errorf("got %+v, %v", specs, changed)
	}
	if _, changed := reload(t.Context()); changed {
		t.Error("told twice")
	}
	if _, err := os.Stat(h.home.Folder("bran").Path()); err != nil {
		t.Error(err)
	}
	if row, err := h.store.Agent(t.Context(), "bran"); err != nil || row.Name != "bran" {
		t.Errorf("got %+v, %v", row, err)
	}
}

// An agent that could not work is not started, and it is said why.
func TestHindered(t *testing.T) {
	h := homeWith(t, "[[agents]]\nid = \"arya\"\n[[agents]]\nid = \"bran\"\nworkspace = \"/not/there\"\n[[agents]]\nid = \"cersei\"\nmodel = \"keyed\"\n"+
		"[[models]]\nid = \"keyed\"\nprovider = \"openai\"\nbase_url = \"https://models.example.com/v1\"\napi_key_env = \"KEY_OF_NOBODY\"\n")
	for name, want := range map[fika.AgentName]string{"arya": "", "bran": "/not/there is not a folder", "cersei": "fika key set KEY_OF_NOBODY"} {
		err := h.hindered(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOneHubOnly(t *testing.T) {
	h := homeWith(t, "")
	lock, err := h.home.LockHub()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := RunHub(t.Context(), h.app, HubOptions{}); !fika.IsKind(err, fika.Locked) {
		t.Errorf("got %v", err)
	}
}

// A misspelt agent does not come into being.
func TestAgentThatNobodyKnows(t *testing.T) {
	h := homeWith(t, "[[agents]]\nid = \"arya\"\n")
	err := RunAgent(t.Context(), h.app, AgentOptions{Name: "aryaa", Out: io.Discard})
	if !fika.IsKind(err, fika.NotFound) || !strings.Contains(err.Error(), `did you mean "arya"?`) {
		t.Errorf("got %v", err)
	}
	if names, _, err := h.home.List(); err != nil || len(names) > 0 {
		t.Errorf("made %q, %v", names, err)
	}
}

// Whoever starts an agent by hand wants it to run, whatever was wanted before.
func TestStartByHandTakesBackAStop(t *testing.T) {
	h := homeWith(t, "[[agents]]\nid = \"arya\"\n")
	c, err := h.app.Config()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.specs(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	row, err := h.store.Agent(t.Context(), "arya")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.SetDesired(t.Context(), row.ID, fika.DesiredStopped); err != nil {
		t.Fatal(err)
	}
	if err := allowStart(t.Context(), h.app, "arya"); err != nil {
		t.Fatal(err)
	}
	if row, err = h.store.Agent(t.Context(), "arya"); err != nil || row.Desired != fika.DesiredNone {
		t.Errorf("got %q, %v", row.Desired, err)
	}
}

// A loopback server in the config is somebody else's while it answers, and the
// hub's own when it does not.
func TestEmbeddedPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := "nats://" + l.Addr().String()
	var c config.Config
	check := func(server string, port int, external bool) {
		t.Helper()
		c.NATS.Server = server
		if p, e := embeddedPort(&c); p != port || e != external {
			t.Errorf("%q: got port %d, external %v", server, p, e)
		}
	}
	c.NATS.Port = 4333
	check("", 4333, false)
	check(taken, 0, true)
	check("nats://bus.example.com:4222", 0, true)
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check(taken, port, false)
}

// A hub whose database is damaged ends by itself and says so, whether the look
// was over before it began to work or not.
func TestSoundness(t *testing.T) {
	h := homeWith(t, "")
	look := lookThrough(t.Context(), h.store)
	<-look.done
	if look.found(0) || look.err != nil {
		t.Errorf("a sound database: %v", look.err)
	}
	damaged := &soundness{done: make(chan struct{}), err: errors.New("damaged")}
	ended := make(chan struct{})
	if damaged.found(0) {
		t.Error("found before the look was over")
	}
	go damaged.endFor(t.Context(), func() { close(ended) })
	close(damaged.done)
	<-ended
	if !damaged.found(time.Hour) {
		t.Error("not found after the look was over")
	}
}
