package machines

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// heard records all that passes over the bus.
func (l *lab) heard() func() string {
	l.Helper()
	nc, err := nats.Connect(l.bus.ClientURL())
	check(l.T, err)
	l.Cleanup(nc.Close)
	var mu sync.Mutex
	var all bytes.Buffer
	_, err = nc.Subscribe(">", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&all, m.Subject, m.Header, string(m.Data))
	})
	check(l.T, err)
	check(l.T, nc.Flush())
	return func() string { mu.Lock(); defer mu.Unlock(); return all.String() }
}

// dump returns all rows of all tables.
func (l *lab) dump() string {
	l.Helper()
	var out []string
	for _, table := range l.find(`SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = current_schema()`) {
		out = append(out, l.find(`SELECT CAST(t AS TEXT) FROM "`+table+`" t`)...)
	}
	return strings.Join(out, "\n")
}

// disk returns what all files of a folder hold.
func disk(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			out.Write(data)
		}
		return nil
	})
	return out.String()
}

// environments returns the environments and arguments of all processes of a host.
func (h *host) environments() string {
	h.Helper()
	var out strings.Builder
	for _, pid := range h.processes("") {
		for _, file := range []string{"environ", "cmdline"} {
			data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			out.Write(append(data, '\n'))
		}
	}
	return out.String()
}

// TestGuestElsewhere: an agent of h1 asks a guest of h2, which works there with the login and the
// key that h2 has for it. Neither is on h1, in the database or on the bus.
func TestGuestElsewhere(t *testing.T) {
	long(t)
	const key, login, stored = "marker-of-the-key-7f3a", "marker-of-the-login-91bc", "marker-of-a-stored-key-44de"
	l := newLab(t, 2, "")
	h1, h2 := l.hosts[0], l.hosts[1]
	program := filepath.Join(l.dir, "guestprog")
	if out, err := exec.Command("go", "build", "-o", program, "fika/internal/extension/guest/guesttest/guestprog").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	for dir, text := range map[string]string{"agents/guest.md": "---\ndescription: a guest\nengine: acp\nwake: true\ncommand: [\"" + program + "\"]\nenv: {TOKEN: " + key + "}\n---\n", "guests/guest/login": login} {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(h2.home, dir)), 0o700))
		h2.write(dir, text)
	}
	c := h2.command(t.Context(), h2.home, "key", "set", "OPENAI_API_KEY")
	c.Stdin = strings.NewReader(stored)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("key set: %v: %s", err, out)
	}
	h1.add("rules.toml", "[[rule]]\nmatch = \"ask the guest\"\nreply = \"@guest guest: do printf %s \\\"$TOKEN\\\" | sha256sum; sha256sum < $HOME/login; uname -n\"\n")
	heard := l.heard()
	h1.must("up")
	h2.must("up")
	h1.must("chat", "create", "room")
	h1.must("chat", "send", "room", "@a1 ask the guest")
	h1.must("chat", "wait", "room")
	said := h1.must("chat", "view", "room")
	hash := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) }
	if !strings.Contains(said, hash(key)) || !strings.Contains(said, hash(login)) || !strings.Contains(said, "h2") {
		t.Fatalf("the guest does not work with what h2 has:\n%s", said)
	}
	if a := h1.agents()["guest"]; a.Host != "h2" {
		t.Errorf("the guest is on %q", a.Host)
	}
	places := map[string]string{"the database": l.dump(), "the bus": heard() + disk(t, filepath.Join(l.dir, "js")), "the disk of h1": disk(t, filepath.Join(l.dir, "h1")), "the processes of h1": h1.environments()}
	for where, text := range places {
		for _, secret := range []string{key, login, stored} {
			if strings.Contains(text, secret) || strings.Contains(text, hex.EncodeToString([]byte(secret))) {
				t.Errorf("%s has %s", where, secret)
			}
		}
	}
	if !strings.Contains(places["the database"], hash(key)) || !strings.Contains(places["the bus"], "fika.") || !strings.Contains(places["the processes of h1"], "FIKA_HOME") {
		t.Error("it has not looked where it has to")
	}
	if own := disk(t, filepath.Join(l.dir, "h2")); !strings.Contains(own, key) || !strings.Contains(own, login) || !strings.Contains(own, stored) {
		t.Error("h2 does not have its own secrets")
	}
}

// TestExecutorElsewhere: the commands of an agent of h1 run on h2, by an executor of it. One is
// run once, whether the link of h2 is cut, or its executor is killed, while it runs.
func TestExecutorElsewhere(t *testing.T) {
	long(t)
	l := newLab(t, 2, "")
	h1, h2 := l.hosts[0], l.hosts[1]
	work := filepath.Join(l.dir, "work")
	check(t, os.Mkdir(work, 0o755))
	for _, h := range l.hosts {
		h.add("config.toml", "[[executors]]\nname = \"box\"\nhost = \"h2\"\n[[agents]]\nid = \"coder\"\nwake = true\nrun_on = [\"h1\"]\nexecutor = \"box\"\nworkspace = \""+work+"\"\n")
		h.add("rules.toml", "[[rule]]\nmatch = \"^where$\"\ntool_calls = [{name = \"bash\", args = {command = \"uname -n > where\"}}]\n")
	}
	h2.must("up")
	h2.must("down")
	h1.must("up")
	waiting := h1.begin("ask", "coder", "where")
	l.until("it waits", func() bool { return len(l.find(`SELECT executor FROM executions WHERE state = 'offered'`)) == 1 })
	if out, _ := h1.run(h1.home, "status"); !strings.Contains(out, "box of h2: not running (start it there: fika up, or fika executor box)") {
		t.Errorf("status does not say where it has to be started:\n%s", out)
	}
	if out, code := h1.run(h1.home, "executor", "box"); code == 0 || !strings.Contains(out, "the executor box runs on the host h2") {
		t.Errorf("on h1 it says %q", out)
	}
	h2.must("up")
	if got := waiting(); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("it says %q", got)
	}
	if data, _ := os.ReadFile(filepath.Join(work, "where")); string(data) != "h2\n" {
		t.Errorf("it has run on %q", data)
	}
	if out, _ := h1.run(h1.home, "status"); !strings.Contains(out, "box of h2: running") {
		t.Errorf("status does not say that it runs:\n%s", out)
	}

	cutOff := h1.begin("ask", "coder", "tick 40")
	l.until("it ticks", func() bool { return lines(filepath.Join(work, "ticks")) > 2 })
	cut(t, h2.pg)
	l.until("it has ended, unseen", func() bool { return lines(filepath.Join(work, "ticks")) == 40 })
	heal(t, h2.pg)
	if got := cutOff(); !strings.HasSuffix(got, "it ticked") || lines(filepath.Join(work, "ticks")) != 40 {
		t.Errorf("cut off, it says %q after %d ticks", got, lines(filepath.Join(work, "ticks")))
	}

	killed := h1.begin("ask", "coder", "once")
	l.until("it is in its tool", func() bool { return lines(filepath.Join(work, "once")) == 1 })
	h2.killOf("executor box")
	if got := killed(); !strings.HasSuffix(got, "it may have run") || lines(filepath.Join(work, "once")) != 1 {
		t.Errorf("killed, it says %q after %d runs", got, lines(filepath.Join(work, "once")))
	}
	if left := h2.processes("sleep 1000"); len(left) > 0 || len(h1.processes("executor box")) > 0 {
		t.Errorf("left on h2: %v, or an executor on h1", left)
	}
}
