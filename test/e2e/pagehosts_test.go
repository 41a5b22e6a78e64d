package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/store/pgtest"
)

// TestPageOfHosts: with two hosts, the page says on which each agent is and that one of them is
// down; what waits for that, an offer included, stands once where the person looks first, and
// is gone when the host is back. An agent that starts when there is work is idle, as it is for
// the command line.
func TestPageOfHosts(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := servers.URL(t)
	here := scriptedHome(t, onServer(url), autoCoder, "id = \"lazy\"")
	away := scriptedHome(t, onServer(url)+"\n[landing]\ncheck = \"sleep 600\"", "id = \"writer\"\nauto_start = true\npersistent = true", "id = \"tester\"")
	repo := filepath.Join(t.TempDir(), "shop")
	away.ok(os.MkdirAll(repo, 0o700))
	for _, args := range [][]string{{"init", "-qb", "main"}, {"commit", "-q", "--allow-empty", "-m", "first"}, {"branch", "tax"}, {"switch", "-q", "tax"}, {"commit", "-q", "--allow-empty", "-m", "tax"}, {"switch", "-q", "main"}} {
		c := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	away.write("project.json", fmt.Sprintf(`{"id":"shop","root":%q}`, repo))
	here.must("up")
	away.must("up")
	away.must("ask", "writer", "hello")
	away.must("land", "tax")
	here.until("the offer is tried", func() bool { return strings.Contains(here.must("land", "list"), "trying") })

	p := b.open(strings.TrimSpace(here.must("web", "--print")), 1200, "light")
	p.until(`document.querySelectorAll(".hosts .up").length === 2`)
	p.until(`document.querySelector("#agent-lazy").innerText.includes("starts on demand") && !document.body.innerText.includes("stopped")`)
	other := ""
	for line := range strings.Lines(here.must("host", "list", "--json")) {
		var h struct {
			Name string
			Here bool
		}
		here.ok(json.Unmarshal([]byte(line), &h))
		if !h.Here {
			other = h.Name
		}
	}
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
}

// TestPageWithoutDatabase: a page that is opened while the database is gone says so, and shows
// what it has to once that is back.
func TestPageWithoutDatabase(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	servers.Server(t) // or the test is skipped
	server, err := pgtest.Start(pgtest.Find())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
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
