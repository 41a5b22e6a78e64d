package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func rules() []Rule {
	var out []Rule
	for _, r := range [...][2]string{
		{"allow", "ls *"}, {"allow", "echo *"}, {"allow", "git status"}, {"allow", "git log *"}, {"allow", "go test *"},
		{"allow", "cat *"}, {"allow", "find *"}, {"allow", "trap *"}, {"allow", "cd *"}, {"allow", "test *"}, {"allow", "[ *"},
		{"ask", "git *"}, {"deny", "rm *"}, {"deny", "git push *"},
	} {
		out = append(out, Rule{Tool: "bash", Match: r[1], Do: Action(r[0]), Where: "config.toml:1"})
	}
	return out
}

// lines reads a corpus: an expectation, a tab, a script.
func lines(t testing.TB) (out [][2]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		want, script, ok := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
		if ok && !strings.HasPrefix(l, "#") {
			out = append(out, [2]string{want, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(script)})
		}
	}
	if len(out) < 200 {
		t.Fatalf("only %d scripts", len(out))
	}
	return out
}

func TestDecisions(t *testing.T) {
	for _, l := range lines(t) {
		d := Decide(Call{Tool: "bash", Command: l[1]}, rules(), Facts{Default: Ask})
		if string(d.Do) != l[0] {
			t.Errorf("%q: %s because of %q, want %s", l[1], d.Do, d.What, l[0])
		}
	}
}

// TestBashAgrees runs every script with bash among programs that only write
// down how they were called: each call has to be one that was foreseen.
func TestBashAgrees(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	stubs := t.TempDir()
	log := filepath.Join(stubs, "log")
	stub := "#!" + bash + "\nt=$(printf '%s\\2' \"${0##*/}\" \"$@\"); printf '%s\\1' \"$t\" >>" + log + "\n"
	for _, name := range strings.Fields("ls rm git curl go cat env sudo doas nohup setsid stdbuf timeout nice ionice xargs find strace node python3 lsof sh") {
		if err := os.WriteFile(filepath.Join(stubs, name), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range lines(t) {
		os.Remove(log)
		cmd := exec.Command(bash, "--norc", "-c", l[1]+"\nwait")
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + stubs, "HOME=" + t.TempDir()}
		_ = cmd.Run()
		called, _ := os.ReadFile(log)
		foreseen := SimpleCommands(l[1])
		for call := range strings.SplitSeq(strings.TrimSuffix(string(called), "\x01"), "\x01") {
			if call == "" {
				continue
			}
			argv := strings.Split(strings.TrimSuffix(call, "\x02"), "\x02")
			var words []Word
			for _, a := range argv {
				words = append(words, Word{a, true})
			}
			plain := SimpleCommand{Words: words}.withoutGitOptions().Words
			argv = argv[:0]
			for _, w := range plain {
				argv = append(argv, w.Text)
			}
			if !slices.ContainsFunc(foreseen, func(c SimpleCommand) bool { return c.Unsure || covers(c.Words, argv) }) {
				t.Errorf("%q: bash called %q, foreseen were %v", l[1], argv, foreseen)
			}
		}
	}
}

// covers reports whether words may become argv.
func covers(words []Word, argv []string) bool {
	if len(words) > 0 && words[0].Known {
		words = append([]Word{{filepath.Base(words[0].Text), true}}, words[1:]...)
	}
	return mayBecome(words, argv)
}

func TestPaths(t *testing.T) {
	rules := []Rule{
		{Tool: "*", Path: "docs/**", Do: Allow}, {Tool: "*", Path: "docs/secret.md", Do: Ask}, {Tool: "*", Path: "~/.netrc", Do: Deny},
		{Tool: "*", Path: "/etc/*", Do: Deny},
	}
	for _, c := range []struct {
		call Call
		want Action
	}{
		{Call{Tool: "read", Paths: []string{"docs/a/b.md"}}, Allow},
		{Call{Tool: "read", Paths: []string{"docs/../src/x"}}, Ask},
		{Call{Tool: "read", Paths: []string{"docs/secret.md"}}, Ask},
		{Call{Tool: "read", Paths: []string{"/home/me/.netrc"}}, Deny},
		{Call{Tool: "bash", Command: "echo x > /etc/passwd"}, Deny},
		{Call{Tool: "bash", Command: "echo x > ~/.netrc"}, Deny},
		{Call{Tool: "bash", Command: "echo x > $f"}, Deny},
		{Call{Tool: "bash", Command: "echo x"}, Ask},
	} {
		c.call.Workspace, c.call.Home = "/work/shop", "/home/me"
		if d := Decide(c.call, rules, Facts{Default: Ask}); d.Do != c.want {
			t.Errorf("%+v: %s because of %q, want %s", c.call, d.Do, d.What, c.want)
		}
	}
}

func TestHosts(t *testing.T) {
	rules := []Rule{{Tool: "fetch", Host: "*.example.org", Do: Allow}, {Tool: "fetch", Host: "evil.example.org", Do: Deny}, {Tool: "fetch", Tainted: true, Do: Ask}}
	for _, c := range []struct {
		host    string
		tainted bool
		want    Action
	}{
		{"www.example.org", false, Allow}, {"EVIL.example.org.", false, Deny}, {"example.org", false, Deny}, {"other.net", true, Ask},
	} {
		if d := Decide(Call{Tool: "fetch", Host: c.host}, rules, Facts{Default: Deny, Tainted: c.tainted}); d.Do != c.want {
			t.Errorf("%s: %s, want %s", c.host, d.Do, c.want)
		}
	}
}

func TestCheckRule(t *testing.T) {
	for _, r := range []Rule{
		{Tool: "bash"}, {Do: Allow}, {Tool: "bash", Do: "permit"}, {Tool: "[", Do: Ask}, {Tool: "read", Match: "ls", Do: Ask},
		{Tool: "bash", Match: "ls * x", Do: Ask}, {Tool: "bash", Match: "l*", Do: Ask}, {Tool: "read", Path: "[", Do: Ask},
	} {
		if r.Check() == nil {
			t.Errorf("%+v passes", r)
		}
	}
}

// FuzzCommands: no text that cannot be parsed is allowed, and none panics.
func FuzzCommands(f *testing.F) {
	for _, l := range lines(f) {
		f.Add(l[1])
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range SimpleCommands(text) {
			if c.Unsure && c.surelyMatches("ls *") {
				t.Errorf("%q is allowed", text)
			}
		}
		RedirectTargets(text)
	})
}
