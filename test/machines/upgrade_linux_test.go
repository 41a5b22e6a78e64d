package machines

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fika/internal/store"
)

// TestRollingUpgrade: three hosts of an older version are upgraded one at a time while a chat
// goes on. Those that are upgraded wait, and say for what; the others work; when the last has
// left, the database is migrated, and everything that was said is there and settled. The older
// version is refused from then on.
func TestRollingUpgrade(t *testing.T) {
	older := os.Getenv("FIKA_OLD_BINARY")
	if older == "" {
		t.Skip("skipped: FIKA_OLD_BINARY names no program of an older version")
	}
	l := newLab(t, 3, "")
	schema := l.url[strings.LastIndex(l.url, "=")+1:]
	check(t, l.db.Close())
	check(t, servers.Server(t).Exec(t.Context(), `DROP SCHEMA `+schema+` CASCADE`))
	for _, h := range l.hosts {
		h.bin = older
		h.must("up")
	}
	before := l.find(`SELECT value FROM meta WHERE key = 'schema'`)[0]
	said := 0
	l.hosts[0].must("chat", "new", "room")
	say := func(h *host) {
		said++
		h.must("chat", "send", "room", fmt.Sprintf("@a1 @a2 @a3 hello %d", said))
	}
	answers := func(name string) int {
		return len(l.find(`SELECT e.id FROM entries e WHERE e.sender = '` + name + `' AND e.type = 'message'`))
	}
	say(l.hosts[0])
	for i, h := range l.hosts {
		if i > 0 {
			say(l.hosts[i])
		}
		h.begin("ask", h.agentName(), "tick 20")
		l.until(h.name+" is at work", func() bool { _, n := h.ticks(h.home, h.agentName()); return n > 2 })
		h.killOf(" ask ") // who waits for the answer uses the database, too
		h.must("down")
		h.bin = binary
		out, code := h.run(h.home, "up")
		if i == len(l.hosts)-1 {
			continue
		}
		if code == 0 || !strings.Contains(out, "the hub waits") || !strings.Contains(out, "version "+before) {
			t.Errorf("beside older hosts, up of %s: exit %d: %s", h.name, code, out)
		}
		if out, code := h.run(h.home, "status"); code == 0 || !strings.Contains(out, "schema "+before) {
			t.Errorf("meanwhile its status: exit %d: %s", code, out)
		}
		last := l.hosts[len(l.hosts)-1]
		had := answers("a3")
		say(last)
		l.until("a3, which is still older, answers", func() bool { return answers("a3") > had })
		if now := l.find(`SELECT value FROM meta WHERE key = 'schema'`)[0]; now != before {
			t.Errorf("with older hosts up, the schema is at %s", now)
		}
	}
	for _, h := range l.hosts {
		l.until(h.name+" works", func() bool { _, code := h.run(h.home, "ask", h.agentName(), "hello"); return code == 0 })
	}
	var err error
	l.db, err = store.Open(t.Context(), store.Options{URL: l.url})
	check(t, err)
	t.Cleanup(func() { l.db.Close() })
	l.until("everything has ended", func() bool {
		return len(l.find(never["a request has no outcome"]))+len(l.find(never["a notification is not settled"]))+len(l.find(never["an outcome was not published"])) == 0
	})
	for what, query := range never {
		for _, found := range l.find(query) {
			t.Errorf("%s: %s", what, found)
		}
	}
	if got := l.find(`SELECT e.id FROM entries e WHERE e.content LIKE '%@a3 hello%' AND e.type = 'message'`); len(got) != said {
		t.Errorf("%d of %d messages are there", len(got), said)
	}
	for _, bad := range l.find(`SELECT r.id || ' ' || r.state FROM requests r WHERE r.state <> 'done'`) {
		t.Errorf("not done: %s", bad)
	}
	last := l.hosts[2]
	last.must("down")
	last.bin = older
	if out, code := last.run(last.home, "up"); code == 0 || !strings.Contains(out, "use a newer fika") {
		t.Errorf("the older version comes back: exit %d: %s", code, out)
	}
	last.bin = binary
	last.must("up")
}

func (h *host) agentName() string { return "a" + h.name[1:] }
