package machines

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRolesOfHosts: hosts with roles of their own work as those with one role do: asks, chats
// and approvals over hosts, moving, a schedule. An approval says on which host it was given,
// a host can neither forget another nor change the tables, and one that is stolen is locked
// out while it is up.
func TestRolesOfHosts(t *testing.T) {
	l := newLab(t, 3, "[[agents]]\nid = \"mover\"\nwake = true\n")
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	h2.add("config.toml", "[[agents]]\nid = \"careful\"\nwake = true\nrules = [{tool = \"bash\", do = \"ask\"}]\n[[schedules]]\nname = \"daily\"\ncron = \"@daily\"\nagent = \"a2\"\nprompt = \"hello\"\n")
	h1.must("up")
	for _, h := range l.hosts[1:] {
		out := h1.must("host", "add", h.name)
		if !regexp.MustCompile(`(?m)^echo '\*:\*:\*:fika_h\d:\w{20,}' >> ~/\.pgpass; chmod 600 ~/\.pgpass$`).MatchString(out) || !strings.Contains(out, "fika store join 'postgres://fika_"+h.name+"@127.0.0.1:5432/") {
			t.Errorf("host add says %q", out)
		}
		path := filepath.Join(h.home, "config.toml")
		config, err := os.ReadFile(path)
		check(t, err)
		h.write("config.toml", strings.Replace(string(config), "postgres@", "fika_"+h.name+"@", 1))
		if out, _ := h.run(h.home, "up"); !strings.Contains(out, "hub up") || !strings.Contains(out, "@a"+h.name[1:]+" started") {
			t.Fatalf("up of %s: %s", h.name, out)
		}
		h.must("host", "show", h.name)
	}
	for _, ask := range []struct {
		from *host
		to   string
		want string
	}{{h1, "a2", "hello from h2"}, {h2, "a3", "hello from h3"}, {h3, "a1", "hello from h1"}} {
		if got := ask.from.must("ask", ask.to, "hello"); !strings.HasSuffix(got, ask.want) {
			t.Errorf("%s asks %s: %q", ask.from.name, ask.to, got)
		}
	}
	h2.must("chat", "create", "room")
	h3.must("chat", "send", "room", "@a1 @a2 @a3 hello")
	h2.must("chat", "wait", "room")
	if said := h1.must("chat", "view", "room"); strings.Count(said, "hello from h") != 3 {
		t.Errorf("the chat over three hosts: %s", said)
	}
	if got := l.find(`SELECT DISTINCT a.name || ' by ' || s.by_host FROM steps s JOIN requests r ON r.id = s.request JOIN agents a ON a.id = r.agent ORDER BY 1`); strings.Join(got, ", ") != "a1 by postgres, a2 by fika_h2, a3 by fika_h3" {
		t.Errorf("steps: %v", got)
	}

	answer := h1.begin("ask", "careful", "tick 3")
	l.until("careful asks", func() bool {
		return strings.Contains(h3.must("approve"), "tick") || strings.Contains(h3.must("approve"), "ticks")
	})
	h3.must("approve", "1")
	if got := answer(); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("approved, it says %q", got)
	}
	if out, code := h1.run(h1.home, "approve", "1"); code == 0 || !strings.Contains(out, "(on h3) already") {
		t.Errorf("a second answer: %q", out)
	}

	h3.must("agent", "move", "mover", "h2")
	if got := h3.must("ask", "mover", "hello"); !strings.HasSuffix(got, "hello from h2") {
		t.Errorf("moved, it says %q", got)
	}
	for _, refused := range [][]string{{"host", "forget", "h2", "--stolen", "--yes"}, {"host", "add", "h4"}} {
		if out, code := h3.run(h3.home, refused...); code == 0 {
			t.Errorf("a host may %v: %s", refused, out)
		}
	}
	if out, code := h1.run(h1.home, "host", "forget", "h2", "--yes"); code == 0 || !strings.Contains(out, "--stolen") {
		t.Errorf("a host that is up is forgotten: %s", out)
	}
	h1.must("host", "forget", "h2", "--stolen", "--yes")
	if out, code := h2.run(h2.home, "ask", "a1", "hello"); code == 0 || !strings.Contains(out, "not permitted to log in") {
		t.Errorf("locked out, h2 asks: %q", out)
	}
	if got := h3.must("ask", "a1", "hello"); !strings.HasSuffix(got, "hello from h1") {
		t.Errorf("without h2, a1 says %q", got)
	}
}
