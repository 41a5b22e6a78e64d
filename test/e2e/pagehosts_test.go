package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shop gives the home a project, a repository with a branch tax that can land.
func (h *home) shop() {
	h.Helper()
	repo := filepath.Join(h.TempDir(), "shop")
	h.ok(os.MkdirAll(repo, 0o700))
	for _, args := range [][]string{{"init", "-qb", "main"}, {"config", "user.name", "Ann"}, {"config", "user.email", "ann@example.org"}, {"commit", "-q", "--allow-empty", "-m", "first"}, {"switch", "-qc", "tax"}, {"commit", "-q", "--allow-empty", "-m", "tax"}, {"switch", "-q", "main"}} {
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			h.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	h.write("project.json", fmt.Sprintf(`{"id":"shop","root":%q}`, repo))
}

// other returns the name of the other one of two hosts.
func (h *home) other() (name string) {
	h.Helper()
	for line := range strings.Lines(h.must("host", "list", "--json")) {
		var x struct {
			Name string
			Here bool
		}
		h.ok(json.Unmarshal([]byte(line), &x))
		if !x.Here {
			name = x.Name
		}
	}
	return name
}

// TestPageOfHosts: with two hosts, the page says on which each agent is and that one of them is
// down; what waits for that, an offer included, stands once where the person looks first, and
// is gone when the host is back. One that starts on demand is asleep. An agent that starts when
// there is work is idle, as it is for the command line.
func TestPageOfHosts(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := servers.URL(t)
	here := scriptedHome(t, onServer(url), autoCoder, "id = \"lazy\"")
	away := scriptedHome(t, onServer(url)+"\n[landing]\ncheck = \"sleep 600\"", "id = \"writer\"\nauto_start = true\npersistent = true", "id = \"tester\"")
	away.shop()
	here.must("up")
	away.must("up")
	away.must("ask", "writer", "hello")
	away.must("land", "tax")
	here.until("the offer is tried", func() bool { return strings.Contains(here.must("land", "list"), "trying") })

	p := b.open(strings.TrimSpace(here.must("web", "--print")), 1200, "light")
	p.until(`document.querySelectorAll(".hosts .up").length === 2`)
	p.until(`document.querySelector("#agent-lazy").innerText.includes("starts on demand") && !document.body.innerText.includes("stopped")`)
	other := here.other()
	p.until(fmt.Sprintf(`document.querySelector("#agent-writer").innerText.includes("on %s")`, other))

	away.must("down", "--now")
	here.must("chat", "create", "room")
	here.must("chat", "send", "room", "@writer hello")
	p.until(fmt.Sprintf(`document.querySelector(".hosts .down").innerText.includes("%s is down")`, other))
	p.until(`document.querySelectorAll("#needs .card").length === 1 && document.title.startsWith("(1) ")`)
	p.until(fmt.Sprintf(`document.querySelector("#down-%s").innerText.includes("@writer (1), offer 1")`, other))
	p.picture("a host is down")
	p.eval(`location.href = "/landing"`, nil)
	p.until(fmt.Sprintf(`document.querySelector("#offer-1").innerText.includes("on %s") && document.querySelector("#offer-1 .waits").innerText.includes("waits for the host %s, which is down")`, other, other))
	p.picture("an offer waits for a host")
	p.eval(`location.href = "/agents/writer"`, nil)
	p.until(fmt.Sprintf(`[...document.querySelectorAll("dt")].some((d) => d.innerText === "host" && d.nextElementSibling.innerText === %q)`, other))
	p.picture("an agent of a host that is down")
	p.eval(`location.href = "/"`, nil)

	away.must("up")
	p.until(`document.querySelectorAll(".hosts .up").length === 2 && document.querySelector("#needs").innerText.includes("Nothing.")`)

	away.must("chat", "wait", "room")
	here.write("config.toml", here.read("config.toml")+fmt.Sprintf("[hosts.%s]\nstart = \"false\"\n", other))
	away.must("down", "--now")
	p.until(fmt.Sprintf(`document.querySelector("#host-%s").innerText.includes("%s is asleep") && document.querySelector("#down-%s").innerText.includes("is asleep")`, other, other, other)) // the offer does not start it
	if r := here.run("agent", "start", "tester"); r.code == 0 || !strings.Contains(r.stderr, "which is asleep: it is started when there is work") || !strings.Contains(r.stderr, "fika store host start "+other) {
		t.Errorf("an agent of a host that is asleep: exit %d: %s", r.code, r.stderr)
	}
}

// TestForgottenHost: a host that left is forgotten, and what it leaves is said: its agents are on
// no host, and an offer waits for a clone that has its commits. When its home comes up again, it
// is a host with all of it.
func TestForgottenHost(t *testing.T) {
	t.Parallel()
	url := servers.URL(t)
	here := scriptedHome(t, onServer(url), autoCoder)
	away := scriptedHome(t, onServer(url)+"\n[landing]\ncheck = \"sleep 600\"", "id = \"writer\"\nauto_start = true\npersistent = true")
	away.shop()
	here.must("up")
	away.must("up")
	away.must("ask", "writer", "hello")
	away.must("land", "tax")
	name := here.other()
	here.one(here.run("host", "forget", name), 4, name+" is up")
	away.must("down", "--now")
	here.must("chat", "create", "room")
	here.must("chat", "send", "room", "@writer hello")
	r := here.run("host", "forget", name)
	const waits = "waits for a host whose clone has its commits: the one where it was offered is forgotten"
	if r.code != 0 || !strings.Contains(r.stderr, "its agents (writer) and what waits for them go to the hosts that next define them") || !strings.Contains(r.stderr, "offer 1 "+waits) {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	for what, said := range map[string]string{"agent list": here.must("agent", "list"), "status": here.must("status"), "inbox": here.run("inbox").stdout} {
		if !strings.Contains(said, "on no host") {
			t.Errorf("%s does not say where the agent is:\n%s", what, said)
		}
	}
	if said := here.must("land", "list"); !strings.Contains(said, waits) {
		t.Errorf("what is to land: %s", said)
	}
	here.one(here.run("ask", "writer", "hello"), 6, "@writer is on no host")

	away.must("up")
	away.must("chat", "wait", "room")
	if got := here.must("ask", "writer", "again"); got != "you said again" {
		t.Errorf("its host is back, and it says %q", got)
	}
	if said := here.must("land", "list"); strings.Contains(said, "waits") || !strings.Contains(said, name) {
		t.Errorf("what is to land: %s", said)
	}
}

// TestPageWithoutDatabase: a page that is opened while the database is gone says so, and shows
// what it has to once that is back.
func TestPageWithoutDatabase(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	server := ownServer(t)
	h := scriptedHome(t, onServer(server.URL()), autoCoder)
	h.must("up")
	url := strings.TrimSpace(h.must("web", "--print"))
	server.Kill()
	p := b.open(url, 1200, "light")
	p.shows("cannot be reached")
	p.picture("no database")
	h.ok(server.Up())
	p.until(`document.querySelector("#agent-coder")`)
}
