package machines

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// landed is what fika land list --json says of an offer.
type landed struct {
	Number  int
	State   string
	Host    string
	Waits   string
	Reason  string
	Source  string
	Push    struct{ State, Reason string }
	EndedAt string `json:"ended_at"`
}

// offers returns what a host says of all offers, by the branch or agent that they come from.
func (h *host) offers() map[string]landed {
	h.Helper()
	out := map[string]landed{}
	for line := range strings.Lines(h.must("land", "list", "--all", "--json")) {
		var o landed
		check(h.T, json.Unmarshal([]byte(line), &o))
		out[o.Source] = o
	}
	return out
}

// repo is the clone of a host.
func (h *host) repo() string { return filepath.Join(h.dir, h.name, "shop") }

// branch makes a branch with one file in the clone of a host.
func (h *host) branch(name string) {
	h.Helper()
	git(h.T, h.repo(), "switch", "-qc", name, "main")
	check(h.T, os.WriteFile(filepath.Join(h.repo(), name), []byte(name+"\n"), 0o644))
	git(h.T, h.repo(), "add", name)
	git(h.T, h.repo(), "commit", "-qm", name)
	git(h.T, h.repo(), "switch", "-q", "main")
}

// has reports whether a commit of a repository has a file.
func has(t *testing.T, repo, commit, file string) bool {
	t.Helper()
	return strings.Contains("\n"+git(t, repo, "ls-tree", "--name-only", commit)+"\n", "\n"+file+"\n")
}

// TestLandingOnTwoHosts: each host lands what was offered there, so that one that goes in the
// middle of a check keeps nothing of the other back; what an agent has offered goes along when
// it is taken over. All say for which host an offer waits. It lands there, in its order, when
// that is back. What two hosts push to one branch is never forced.
func TestLandingOnTwoHosts(t *testing.T) {
	long(t)
	l, remote := onGit(t, "workspace_on = \"git\"\ntool_permissions = [\"bash\", \"offer\"]\n")
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	open := filepath.Join(l.dir, "open")
	for _, h := range l.hosts[:2] {
		data, err := os.ReadFile(filepath.Join(h.home, "config.toml"))
		check(t, err)
		check := "true"
		if h == h1 {
			check = "until test -e " + open + "; do sleep 0.1; done"
		}
		h.write("config.toml", strings.Replace(string(data), "[landing]\ncheck = \"true\"\n", "[board]\ntainted = \"allow\"\n[landing]\nmode = \"push\"\ncheck = \""+check+"\"\n", 1))
		h.add("rules.toml", "[[rule]]\nmatch = \"^offer it$\"\ntool_calls = [{name = \"bash\", args = {command = \"echo mine > mine\"}}]\n[[rule]]\nafter_tool = \"offer\"\nreply = \"offered\"\n")
		rules, err := os.ReadFile(filepath.Join(h.home, "rules.toml"))
		if err == nil {
			h.write("rules.toml", strings.Replace(string(rules), "[[rule]]\nafter_tool = \"bash\"\nreply = \"it ticked\"\n", "[[rule]]\nafter_tool = \"bash\"\nmatch = \"offer it\"\ntool_calls = [{name = \"offer\", args = {summary = \"mine\"}}]\n[[rule]]\nafter_tool = \"bash\"\nreply = \"it ticked\"\n", 1))
		}
	}
	h1.must("up")
	h3.must("up")
	for _, name := range []string{"first", "second"} {
		h1.branch(name)
		h1.must("land", name)
	}
	if got := h3.must("ask", "roamer", "offer it"); !strings.HasSuffix(got, "offered") {
		t.Fatalf("it says %q", got)
	}
	l.until("the first is being checked", func() bool { return h3.offers()["first"].State == "trying" })
	if o := h3.offers()["@roamer"]; o.State != "waiting" || o.Host != "h1" || o.Waits != "" {
		t.Errorf("what the agent has offered: %+v", o)
	}
	before := l.agent("roamer")
	h1.kill()
	h2.must("up")
	h2.branch("third")
	if out := h2.must("land", "third", "--wait"); !strings.Contains(out, "has landed") {
		t.Errorf("behind what waits for h1, h2 lands: %q", out)
	}
	l.until("h1 counts as down", func() bool { return !h2.shows("h1").Up })
	if out := h2.must("land", "list"); !strings.Contains(out, "HOST") || strings.Count(out, "waits for the host h1, which is down") < 2 {
		t.Errorf("the list does not say what waits:\n%s", out)
	}
	if out := h3.must("land", "show", "1"); !strings.Contains(out, "waits for the host h1, which is down (last seen ") {
		t.Errorf("show does not say it:\n%s", out)
	}
	if out := h3.must("status"); !strings.Contains(out, "offer 1 waits for the host h1, which is down") {
		t.Errorf("status does not say it:\n%s", out)
	}
	if out, _ := h2.run(h2.home, "doctor"); !strings.Contains(out, "offer 1 waits for the host h1, which is down") {
		t.Errorf("doctor does not say it:\n%s", out)
	}
	l.until("h2 has the agent", func() bool { return l.agent("roamer").HomeID != before.HomeID })
	l.until("its offer lands on h2", func() bool { o := h3.offers()["@roamer"]; return o.State == "landed" && o.Host == "h2" })
	if !has(t, h2.repo(), "fika/landing/main", "mine") || has(t, h2.repo(), "fika/landing/main", "first") {
		t.Error("h2 has not landed what it has to")
	}
	if o := h2.offers()["first"]; o.Host != "h1" || o.State != "trying" {
		t.Errorf("what waits for h1: %+v", o)
	}
	l.until("h2 has pushed it", func() bool { return h2.offers()["@roamer"].Push.State == "done" })

	check(t, os.WriteFile(open, nil, 0o644))
	h1.boot()
	h1.must("up")
	l.until("h1 lands its own", func() bool { return h2.offers()["first"].State == "landed" && h2.offers()["second"].State == "landed" })
	all := h2.offers()
	if all["first"].EndedAt > all["second"].EndedAt || all["first"].Waits != "" {
		t.Errorf("%+v", all)
	}
	if has(t, h1.repo(), "fika/landing/main", "mine") || !has(t, h1.repo(), "fika/landing/main", "second") {
		t.Error("h1 has not landed what it has to")
	}
	theirs := git(t, remote, "rev-parse", "fika/landing/main")
	l.until("h1 says why it is not pushed", func() bool { return strings.Contains(h2.offers()["second"].Push.Reason, "has commits that") })
	if now := git(t, remote, "rev-parse", "fika/landing/main"); now != theirs {
		t.Errorf("what h2 has pushed was %s and is %s", theirs, now)
	}
	git(t, h1.repo(), "pull", "-q", "--rebase", "origin", "fika/landing/main")
	h1.branch("fourth")
	if out := h1.must("land", "fourth", "--wait"); !strings.Contains(out, "has landed") {
		t.Errorf("with what h2 has landed, h1 lands: %q", out)
	}
	l.until("h1 has pushed all", func() bool { return h2.offers()["fourth"].Push.State == "done" })
	for _, file := range []string{"first", "second", "third", "mine", "fourth"} {
		if !has(t, remote, "fika/landing/main", file) {
			t.Errorf("the remote does not have %s", file)
		}
	}
}
