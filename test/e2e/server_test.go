package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fika/internal/store/pgtest"
)

// servers is the PostgreSQL server of this test binary.
var servers pgtest.Shared

func onServer(url string) string { return "[store]\nurl = \"" + url + "\"" }

// TestTwoHomes: two homes of one machine have one database. What one is asked
// for the other's agent does, at its next look, and no agent is taken from the
// home that has it at work.
func TestTwoHomes(t *testing.T) {
	t.Parallel()
	url := servers.URL(t)
	one := scriptedHome(t, onServer(url), autoCoder)
	two := scriptedHome(t, onServer(url), "id = \"writer\"\nauto_start = true\npersistent = true")
	one.must("up")
	two.must("up")
	for from, to := range map[*home]string{one: "writer", two: "coder"} {
		if got := from.must("ask", to, "hello"); got != "you said hello" {
			t.Errorf("%s answered %q", to, got)
		}
	}
	one.must("chat", "create", "room")
	one.must("chat", "send", "room", "@coder @writer hello")
	one.must("chat", "wait", "room")
	if said := two.must("chat", "view", "room"); !strings.Contains(said, "|coder|") || !strings.Contains(said, "|writer|") {
		t.Errorf("the other home sees %q", said)
	}

	two.one(two.run("run", "-c", "coder", "hello"), 4, "has defined @coder first")
	if got := one.must("ask", "coder", "again"); got != "you said again" {
		t.Errorf("its own home answers %q", got)
	}
	first, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	two.one(two.run("host", "forget", first), 4, first+" is up")
	one.must("down")
	two.one(two.run("run", "-c", "coder", "hello"), 4, "has defined @coder first")
	two.must("host", "forget", first)
	if got := two.must("run", "-c", "coder", "hello"); got != "you said hello" {
		t.Errorf("when the other home is forgotten: %q", got)
	}
}

// TestServerByCommands: what the commands say of a database on a server; it is
// backed up, brought back, and moved into a file and back.
func TestServerByCommands(t *testing.T) {
	t.Parallel()
	url := servers.URL(t)
	h := scriptedHome(t, onServer(url))
	h.must("run", "first words")
	if shown := h.must("store", "show"); !strings.Contains(shown, "postgresql") || !strings.Contains(shown, "synchronous_commit=on") {
		t.Errorf("it shows %q", shown)
	}
	kept := filepath.Join(h.dir, "kept.zip")
	h.must("backup", kept)
	h.must("run", "later words")
	r := h.run("restore", kept)
	if r.code != 0 || !strings.Contains(r.stderr, "_before_restore_") {
		t.Fatalf("restore: exit %d: %s", r.code, r.stderr)
	}
	if said := h.must("context", "log"); !strings.Contains(said, "first words") || strings.Contains(said, "later words") {
		t.Errorf("after it: %q", said)
	}
	before := h.must("context", "log", "--all", "--json")
	file := filepath.Join(h.dir, "fika.db")
	h.must("store", "move", file)
	h.one(h.run("context", "log"), 1, "was moved: what came later is in "+file)
	config := h.read("config.toml")
	h.write("config.toml", strings.ReplaceAll(config, onServer(url), ""))
	if in := h.must("context", "log", "--all", "--json"); in != before {
		t.Errorf("in a file: %s\non the server: %s", in, before)
	}
	// The way back, twice: where it was moved from there is a stale copy, which says so and
	// is set aside (row P11).
	for round, on := range []string{url, file, url} {
		h.must("run", "more words")
		before = h.must("context", "log", "--all", "--json")
		if moved := h.run("store", "move", on); moved.code != 0 || !strings.Contains(moved.stderr, "set aside: ") {
			t.Fatalf("round %d: exit %d: %s", round, moved.code, moved.stderr)
		}
		stale := h.run("context", "log")
		h.one(stale, 1, "was moved")
		if on == url {
			h.write("config.toml", config)
		} else {
			h.write("config.toml", strings.ReplaceAll(config, onServer(url), ""))
		}
		if now := h.must("context", "log", "--all", "--json"); now != before {
			t.Errorf("round %d: %s\nbefore: %s", round, now, before)
		}
	}
	h.write("config.toml", strings.ReplaceAll(config, onServer(url), ""))
	h.one(h.run("run", "on the stale file"), 1, "was moved")
	h.write("config.toml", config)
	h.must("store", "check")
	h.must("run", "on")
}

// TestRestoreElsewhereTouchesNothingThatLives: a backup of a home whose hub is up goes into
// a schema of its own when it is restored in another home, and what lives is neither set
// aside nor replaced; at home it is refused until the hub is down (rows P1, R1).
func TestRestoreElsewhereTouchesNothingThatLives(t *testing.T) {
	t.Parallel()
	one := scriptedHome(t, onServer(servers.URL(t)), autoCoder)
	one.must("up")
	one.must("ask", "coder", "hello")
	kept := filepath.Join(one.dir, "kept.zip")
	one.must("backup", kept)
	one.must("chat", "create", "later")
	two := newHome(t, "")
	r := two.run("restore", kept)
	if r.code != 0 || !strings.Contains(r.stderr, "belongs to another home") {
		t.Fatalf("restore elsewhere: exit %d: %s", r.code, r.stderr)
	}
	one.must("chat", "view", "later")
	if got := one.must("ask", "coder", "again"); got != "you said again" {
		t.Errorf("what lives answers %q", got)
	}
	if two.run("chat", "view", "later").code == 0 {
		t.Error("both homes have one database")
	}
	if list := two.must("context", "list"); !strings.Contains(list, "coder") {
		t.Errorf("the contexts of the other home: %q", list)
	}
	if said := two.must("context", "log", "coder"); !strings.Contains(said, "hello") {
		t.Errorf("the other home has %q", said)
	}
	one.one(one.run("restore", kept), 4, "a hub is already running")
	one.must("down")
	one.must("restore", kept)
	if one.run("chat", "view", "later").code == 0 {
		t.Error("nothing was restored at home")
	}
}

// ownServer starts a server that the test may end.
func ownServer(t *testing.T) *pgtest.Server {
	t.Helper()
	servers.Server(t) // or the test is skipped
	server, err := pgtest.Start(pgtest.Find())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// TestStatusWithoutDatabase: while the server of the database is away, status says which hub
// and agents run, and that it does not know what they do (row P18), and who waits for an answer
// is told, and gets it when the server is back. While that takes no writes, everybody says so.
func TestStatusWithoutDatabase(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	h := scriptedHome(t, onServer(server.URL()), autoCoder)
	h.must("up")
	h.must("ask", "coder", "hello")
	hub, coder := h.pid(hubWords), h.pid(agentWords("coder"))
	asked := h.start("", "ask", "coder", "gate")
	h.until("it is at work", func() bool { return strings.Contains(h.must("agent", "list"), "busy") })
	server.Kill()
	r := h.run("status")
	if r.code != 4 || !strings.Contains(r.stderr, "cannot be reached") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	for _, want := range []string{fmt.Sprintf("up (pid %d)", hub), "it cannot be used now", fmt.Sprintf("coder  running  %d", coder)} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("status lacks %q:\n%s", want, r.stdout)
		}
	}
	var st struct {
		Hub    struct{ PID int }
		Away   *string `json:"store_trouble"`
		Agents []struct {
			Name, Status string
			PID          int
		}
	}
	r = h.run("status", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &st); err != nil || r.code != 4 || st.Hub.PID != hub || st.Away == nil || len(st.Agents) != 1 || st.Agents[0].PID != coder || st.Agents[0].Status != "running" {
		t.Errorf("exit %d, %v: %s", r.code, err, r.stdout)
	}
	h.until("who waits for an answer is told", func() bool {
		return strings.Contains(asked.errOut.String(), "the database cannot be reached; what is stored is kept")
	})
	h.ok(server.Up())
	h.until("the database", func() bool { return h.run("status").code == 0 })
	server.Signal(syscall.SIGSTOP)
	if r := h.run("status"); r.code != 4 || !strings.Contains(r.stdout, "it cannot be used now") || strings.Contains(r.stderr, "deadline") {
		t.Errorf("of a database that does not answer: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	server.Signal(syscall.SIGCONT)
	h.opens("coder")
	if r := asked.wait(); r.code != 0 || !strings.HasSuffix(strings.TrimSpace(r.stdout), "the shell has spoken") {
		t.Errorf("who has waited hears %q, exit %d: %s", r.stdout, r.code, r.stderr)
	}

	for _, text := range []string{`ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`} {
		h.ok(server.Exec(t.Context(), text))
	}
	const why = "nobody writes on the server (default_transaction_read_only): ALTER SYSTEM RESET default_transaction_read_only"
	h.until("status says that nothing is written", func() bool { return strings.Contains(h.must("status"), "WARNING "+why) })
	if r := h.run("doctor"); r.code != 1 || !strings.Contains(r.stdout, "problem  store: "+why) {
		t.Errorf("doctor: exit %d: %s", r.code, r.stdout)
	}
	h.one(h.run("ask", "coder", "hello"), 1, "takes no writes now, and nothing was changed")
	for _, text := range []string{`ALTER SYSTEM RESET default_transaction_read_only`, `SELECT pg_reload_conf()`} {
		h.ok(server.Exec(t.Context(), text))
	}
	h.until("it answers again", func() bool { return h.run("ask", "coder", "hello").code == 0 })
}
