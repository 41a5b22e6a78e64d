package machines

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cloud is what the commands of a host on demand have asked for, in order: they write it down,
// and the test does it.
func (l *lab) cloud() string {
	data, _ := os.ReadFile(filepath.Join(l.dir, "cloud"))
	return strings.Join(strings.Fields(string(data)), " ")
}

// TestHostOnDemand: a host that is down is started for work that only it can do, by its agents or its label, by one of two
// hubs whose settings say how, although that one is killed meanwhile; when it is idle it is
// drained and stopped, and the next work brings it back. A command that fails is said, and run
// again. By hand it is stopped, and stays so.
func TestHostOnDemand(t *testing.T) {
	const entry = "\n[hosts.h3]\nstart = \"echo start-$FIKA_HOST >> ../../cloud; sleep 2\"\nstop = \"echo stop-$FIKA_HOST >> ../../cloud\"\nidle_for = \"10s\"\nstart_within = \"2m\"\n"
	const painter = "\n[[agents]]\nid = \"painter\"\nwake = true\nrun_on = [\"gpu\"]\n"
	l := newLabOn(t, servers.URL(t), 3, func(i int) string { return map[int]string{1: entry + painter, 2: entry, 3: painter}[i] })
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	for _, h := range l.hosts {
		h.must("up")
	}
	lists := func(word string) func() bool {
		return func() bool {
			for line := range strings.Lines(h2.must("host", "list")) {
				if strings.HasPrefix(line, "h3 ") {
					return strings.Contains(line, " "+word+" ")
				}
			}
			return false
		}
	}
	off := func() { h3.must("down"); h3.kill() }
	on := func() { h3.boot(); h3.must("up") }
	l.until("the hubs know of it", func() bool { return strings.Contains(h2.must("host", "show", "h3"), "on demand, by h1") })
	off()
	l.until("it is asleep", lists("asleep"))
	if a := h2.agents()["a3"]; a.Code != "agent.host_asleep" {
		t.Errorf("its agent: %+v", a)
	}

	said := h2.overhear("ask", "a3", "hello")
	l.until("it is being started", lists("starting"))
	l.until("the command has run", func() bool { return l.cloud() == "start-h3" })
	l.until("who asks is told", func() bool { return strings.Contains(said(), "the host h3 is being started") })
	on()
	l.until("its agent answers", func() bool { return strings.Contains(said(), "hello from h3") })

	l.until("it is stopped when it is idle", func() bool { return l.cloud() == "start-h3 stop-h3" })
	if a := l.agent("a3"); a.Owner != "" {
		t.Errorf("it is stopped while %+v", a)
	}
	off()
	l.until("it is asleep again", lists("asleep"))

	h1.must("host", "label", "h3", "gpu") // so that an agent that h1 defines can run there alone
	answer := h2.begin("ask", "painter", "hello")
	l.until("it is started again", func() bool { return l.cloud() == "start-h3 stop-h3 start-h3" })
	h1.killOf("up --foreground")
	l.until("the other hub looks after it", func() bool { return strings.Contains(h2.must("host", "show", "h2"), "start h3") })
	until := time.Now().Add(5 * time.Second)
	l.until("it has looked twice", func() bool { return time.Now().After(until) })
	if got := l.cloud(); got != "start-h3 stop-h3 start-h3" {
		t.Errorf("with one hub killed and the other in its place, the cloud was told %q", got)
	}
	on()
	if got := answer(); !strings.HasSuffix(got, "hello from h3") || !strings.Contains(got, "the host h3 is being started") {
		t.Errorf("the agent that h1 has defined says %q", got)
	}
	h1.must("up")

	h1.must("host", "stop", "h3")
	l.until("it is stopped by hand", func() bool {
		return strings.HasSuffix(l.cloud(), "start-h3 stop-h3") && strings.Count(l.cloud(), "stop") == 2
	})
	off()
	l.until("it stays so", lists("stopped"))
	said = h2.overhear("ask", "a3", "hello")
	l.until("who asks is told of that", func() bool {
		return strings.Contains(said(), "h3, which was stopped by hand (fika store host start h3)")
	})

	for _, h := range l.hosts[:2] {
		data, err := os.ReadFile(filepath.Join(h.home, "config.toml"))
		check(t, err)
		h.write("config.toml", strings.Replace(string(data), "sleep 2", "echo no quota >&2; exit 3", 1))
	}
	h1.must("host", "start", "h3")
	const why = "the command that starts it has failed (exit status 3): no quota"
	l.until("the failure is listed", lists("start failed"))
	for _, args := range [][]string{{"host", "show", "h3"}, {"status"}, {"doctor"}} {
		if out, _ := h1.run(h1.home, args...); !strings.Contains(out, why) {
			t.Errorf("fika %v does not say why:\n%s", args, out)
		}
	}
	tried := strings.Count(l.cloud(), "start")
	l.until("it is tried again by itself", func() bool { return strings.Count(l.cloud(), "start") > tried })
	on()
	l.until("its agent answers at last", func() bool { return strings.Contains(said(), "hello from h3") })
	l.until("the failure is over", func() bool { return !strings.Contains(h2.must("host", "show", "h3"), "no quota") })
}
