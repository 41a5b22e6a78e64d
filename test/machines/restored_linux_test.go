package machines

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDatabaseComesBack: the database is gone for a while and comes back with everything: the
// hosts go on without help. Then it comes back as a backup has it, without what was done since:
// each host says so and ends, and begun again it goes on with what is there.
func TestDatabaseComesBack(t *testing.T) {
	long(t)
	l := newLab(t, 2, "")
	server := servers.Server(t)
	works := func(h *host) func() bool {
		return func() bool { _, code := h.run(h.home, "ask", h.agentName(), "hello"); return code == 0 }
	}
	for _, h := range l.hosts {
		h.must("up")
		l.until(h.name+" works", works(h))
	}
	server.Kill()
	check(t, server.Save())
	asked := make(chan bool)
	go func() { asked <- works(l.hosts[1])() }()
	check(t, server.Up())
	if !<-asked {
		t.Error("what was asked without the database failed")
	}
	l.hosts[0].must("chat", "create", "since")
	saved := time.Now()
	l.until("both hosts were seen since", func() bool {
		return len(l.find(fmt.Sprintf(`SELECT name FROM hosts WHERE seen_at > %d`, saved.Add(15*time.Second).UnixMilli()))) == 2
	})
	server.Kill()
	check(t, server.Restore())
	check(t, server.Up())
	for _, h := range l.hosts {
		l.until("the hub of "+h.name+" has ended", func() bool { return len(h.processes("--foreground")) == 0 })
		log, err := os.ReadFile(filepath.Join(h.home, "run", "logs", "hub.log"))
		check(t, err)
		if !strings.Contains(string(log), "is an older copy of the database") {
			t.Errorf("the log of %s does not say it: %s", h.name, log)
		}
	}
	for _, h := range l.hosts {
		h.must("up")
		l.until(h.name+" works again", works(h))
		if out, code := h.run(h.home, "chat", "view", "since"); code == 0 {
			t.Errorf("what was done since is there: %s", out)
		}
	}
}
