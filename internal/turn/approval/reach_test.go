package approval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/tool"
)

func bash(t *testing.T, dir, command string, hosts ...string) tool.Call {
	t.Helper()
	args, err := json.Marshal(map[string]any{"command": command, "hosts": strings.Join(hosts, " ")})
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{Name: "bash", Args: args, Workspace: dir}
}

// TestHostsAreAskedAbout: a command without the network asks once, with all hosts that it
// names or that its programs need, and a yes opens these alone.
func TestHostsAreAskedAbout(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".git/config": "[remote \"origin\"]\n\turl = https://forge.test/a/b\n[remote \"old\"]\n\turl = git@forge.test:a/b\n", ".npmrc": "registry=http://npm.test:8080/\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j := Judge{ByHost: func() bool { return true }, Hosts: []string{"*.known.test", "pinned.test=127.0.0.1:9"}, Rules: []guard.Rule{
		{Tool: "bash", Host: "*.ruled.test", Do: guard.Allow}, {Tool: "bash", Host: "evil.test", Do: guard.Deny}, {Tool: "fetch", Host: "fetched.test", Do: guard.Allow},
		{Tool: "bash", Host: "pinned.test", Do: guard.Ask},
	}}
	for _, c := range []struct {
		command, hosts string
		do             guard.Action
		reaches        string
	}{
		{"go build ./...", "", guard.Allow, ""},
		{"go mod download", "", guard.Ask, "proxy.golang.org sum.golang.org"},
		{"cd x && go get example.com/m@v1", "", guard.Ask, "proxy.golang.org sum.golang.org"},
		{"npm install left-pad", "", guard.Ask, "npm.test:8080"},
		{"GOPROXY=http://mods.test,direct go get example.com/m", "", guard.Ask, "mods.test:80"},
		{"npm ci --registry=https://other.test/", "", guard.Ask, "other.test"},
		{"npx tsc", "", guard.Allow, ""}, // it may well be installed
		{"pip install x", "", guard.Ask, "pypi.org files.pythonhosted.org"},
		{"git -C . push", "", guard.Ask, "forge.test"},
		{"git push origin main", "", guard.Ask, "forge.test"},
		{"git push old", "", guard.Allow, ""}, // over ssh: no proxy helps
		{"git clone https://a.ruled.test/x", "", guard.Allow, "a.ruled.test"},
		{"make", "a.known.test b.test", guard.Ask, "b.test"},
		{"make", "pinned.test", guard.Ask, "pinned.test"},
		{"make", "fetched.test", guard.Ask, "fetched.test"},
		{"make", "b.test=10.0.0.1:80 *.test http://c.test/", guard.Allow, ""},
		{"make", "evil.test b.test", guard.Deny, ""},
		{"sh ./x.sh", "b.test:22", guard.Ask, "b.test:22"},
	} {
		call := bash(t, dir, c.command, strings.Fields(c.hosts)...)
		v := j.Judge(call)
		if v.Do != c.do || c.do != guard.Deny && strings.Join(v.Reaches, " ") != c.reaches {
			t.Errorf("%s (%s): %s, %q", c.command, c.hosts, v.Do, v.Reaches)
		}
		if c.do == guard.Ask && !strings.Contains(v.Rule, "it needs the network: "+strings.ReplaceAll(c.reaches, " ", ", ")) {
			t.Errorf("%s: %s", c.command, v.Rule)
		}
	}
	// A yes is bound to the hosts.
	one, two := j.Judge(bash(t, dir, "make", "b.test")), j.Judge(bash(t, dir, "make", "b.test", "c.test"))
	if len(two.Bound.Differences(one.Bound)) == 0 || len(one.Bound.Differences(j.Judge(bash(t, dir, "make", "b.test")).Bound)) != 0 {
		t.Error("a yes does not hold for its hosts alone")
	}
	// Whoever has read text from outside is told so, and nobody is asked.
	tainted := bash(t, dir, "make", "b.test")
	tainted.Taint = "https://x.test"
	if v := j.Judge(tainted); v.Do != guard.Deny || !strings.Contains(v.Rule, "text from outside") {
		t.Errorf("tainted: %+v", v)
	}
	tainted = bash(t, dir, "git push")
	tainted.Taint = "https://x.test"
	if v := j.Judge(tainted); v.Do != guard.Allow || len(v.Reaches) > 0 {
		t.Errorf("tainted, of a known program: %+v", v)
	}
	// In plan mode, and with the network, there is nothing to ask.
	plan := bash(t, dir, "make", "b.test")
	plan.Mode = fika.PlanMode
	if v := j.Judge(plan); v.Do != guard.Deny || len(v.Reaches) > 0 {
		t.Errorf("in plan mode: %+v", v)
	}
	open := bash(t, dir, "make", "b.test")
	open.Rights = &fika.Rights{Tools: []string{"bash"}, Network: true}
	if v := j.Judge(open); v.Do != guard.Allow {
		t.Errorf("with the network: %+v", v)
	}
	for command, want := range map[string]string{"go get x": "*.golang.org", "npm install": "npm.test", "pip install x": "", "git push": "forge.test"} {
		call := guard.Call{Tool: "bash", Workspace: dir}
		call.Read(bash(t, dir, command).Args)
		if got, ok := ReachingRule(j.Rules, j.Hosts, call); got.Host != want || ok != (want != "") || ok && got.Check() != nil {
			t.Errorf("always, for %s: %+v, %v", command, got, ok)
		}
	}
}

// TestALoginIsLentInTheSameQuestion: a command that pushes, or calls gh, asks for the stored
// login that there is and that nobody lends, together with its host.
func TestALoginIsLentInTheSameQuestion(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{dir + "/.git/config": "[remote \"origin\"]\n\turl = https://forge.test/a/b\n", home + "/.git-credentials": "https://a:b@forge.test\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j := Judge{Home: home, ByHost: func() bool { return true }, Hosts: []string{"known.test"}}
	for _, c := range []struct {
		command string
		do      guard.Action
		lends   string
		text    string
	}{
		{"git push", guard.Ask, "git-credentials", "it needs the network: forge.test and the stored login of git (~/.git-credentials); yes lets this call alone reach that and read that login"},
		{"git push https://known.test/x", guard.Ask, "git-credentials", "the stored login of git (~/.git-credentials); yes lets this call alone read that login"},
		{"git fetch", guard.Ask, "git-credentials", "it needs the network: forge.test and the stored login of git"},
		{"git fetch https://known.test/x", guard.Allow, "", ""},
		{"git push git@forge.test:a/b", guard.Allow, "", ""},
		{"gh pr list", guard.Ask, "", "it needs the network: github.com, api.github.com; yes"}, // nobody is logged in there
		{"git status", guard.Allow, "", ""},
	} {
		v := j.Judge(bash(t, dir, c.command))
		if v.Do != c.do || strings.Join(v.Lends, " ") != c.lends || !strings.Contains(v.Rule, c.text) {
			t.Errorf("%s: %s, lends %v: %s", c.command, v.Do, v.Lends, v.Rule)
		}
	}
	call := bash(t, dir, "git push")
	if call.Taint = "fetch x"; len(j.Judge(call).Lends) > 0 {
		t.Error("a turn that has read text from outside is lent a login")
	}
	call.Taint, j.Lend = "", []string{guard.GitCredentials}
	if v := j.Judge(call); len(v.Lends) > 0 || v.Do != guard.Ask {
		t.Errorf("what is lent already is asked about: %+v", v)
	}
	j.Lend = nil
	first := j.Judge(call).Bound
	if err := os.WriteFile(home+"/.git-credentials", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if second := j.Judge(call).Bound; len(second.Differences(first)) != 0 {
		t.Errorf("%v", second.Differences(first))
	}
}
