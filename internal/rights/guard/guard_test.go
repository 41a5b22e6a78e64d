package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

func rules() []Rule {
	var out []Rule
	for _, r := range [...][2]string{
		{"allow", "ls *"}, {"allow", "echo *"}, {"allow", "git status *"}, {"allow", "git log *"}, {"allow", "git diff *"}, {"allow", "go test *"},
		{"allow", "npm test *"}, {"allow", "npm run *"}, {"allow", "make *"}, {"allow", "cargo *"}, {"allow", "cat *"}, {"allow", "find *"},
		{"allow", "trap *"}, {"allow", "cd *"}, {"allow", "test *"}, {"allow", "[ *"}, {"allow", "tee *"}, {"allow", "grep *"}, {"allow", "sed *"},
		{"allow", "awk *"}, {"allow", "sort *"}, {"allow", "head *"}, {"allow", "python3 -m pytest *"}, {"allow", "./gradlew *"},
		{"allow", "sh ./deploy.sh"}, {"allow", "npx jest *"}, {"allow", "wc *"}, {"allow", "node build.js *"}, {"allow", "git -C sub log *"},
		{"allow", "sudo ls *"}, {"allow", "mkdir *"},
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
	if len(out) < 400 {
		t.Fatalf("only %d scripts", len(out))
	}
	return out
}

func TestDecisions(t *testing.T) {
	for _, l := range lines(t) {
		t.Run(l[1], func(t *testing.T) {
			d := Decide(Call{Tool: "bash", Command: l[1], Workspace: "/work/shop"}, rules(), Facts{Default: Ask})
			if string(d.Do) != l[0] {
				t.Errorf("%q: %s because of %q, want %s", l[1], d.Do, d.What, l[0])
			}
		})
	}
}

// realPrograms run in TestBashAgrees as they are installed, because they run others.
const realPrograms = "env timeout nice nohup setsid stdbuf ionice xargs find flock setpriv prlimit taskset chrt setarch linux32 linux64 numactl script time choom sh bash dash busybox sed awk"

// TestBashAgrees runs every script with bash and the real programs that run others, among
// programs that only write down how they were called: each call has to be one that was
// foreseen, and what was foreseen has to be called.
func TestBashAgrees(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	stubs := t.TempDir()
	stub := "#!" + bash + "\nt=$(printf '%s\\2' \"${0##*/}\" \"$@\"); printf '%s\\1' \"$t\" >>\"$CALLS\"\n"
	program := func(name string) bool { // whether it only writes down
		file := filepath.Join(stubs, name)
		if has(realPrograms, name) {
			if real, err := exec.LookPath(name); err == nil {
				os.Symlink(real, file)
				return false
			}
		}
		if strings.Contains(name, "/") || isBuiltin(name) {
			return false
		}
		if err := os.WriteFile(file, []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
		return true
	}
	all := lines(t)
	expected := make([]bool, len(all)) // something has to be called
	for i, l := range all {
		for _, c := range SimpleCommands(l[1], "") {
			if name := c.name(); name != "" && program(name) && len(c.Words[0].Text) == len(name) {
				expected[i] = expected[i] || !c.Unsure && !c.Altered
			}
		}
	}
	var silent atomic.Int32
	t.Run("each", func(t *testing.T) {
		for i, l := range all {
			if testing.Short() && i%4 != 0 {
				continue
			}
			t.Run(l[1], func(t *testing.T) {
				t.Parallel()
				calls := callsOf(t, bash, stubs, l[1])
				foreseen := SimpleCommands(l[1], "")
				for _, argv := range calls {
					if !slices.ContainsFunc(foreseen, func(c SimpleCommand) bool { return c.Unsure || c.Script || covers(c, argv) }) {
						t.Errorf("bash called %q, foreseen were %v", argv, foreseen)
					}
				}
				if len(calls) == 0 && expected[i] {
					silent.Add(1)
				}
			})
		}
	})
	if n := silent.Load(); n > 40 { // functions that nobody calls, options that need root
		t.Errorf("%d scripts called nothing: they fail before they come to it", n)
	}
}

// isBuiltin reports whether bash has a command itself.
func isBuiltin(name string) bool {
	return has("cd pushd popd echo printf test [ true false : eval source . alias hash enable shopt bind complete compgen let read mapfile readarray getopts unset wait "+
		"declare typeset local export readonly exec command builtin trap set type umask fc", name)
}

// callsOf runs a script in a folder of its own and returns what it called.
func callsOf(t *testing.T, bash, stubs, script string) (out [][]string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(t.TempDir(), "calls")
	for _, file := range []string{"sub/x", "dir/x", "evil/x", "x/x", "f"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(bash, "--norc", "-c", strings.ReplaceAll(script, "/work/shop", dir)+"\nwait")
	cmd.Stdin = strings.NewReader("a\n")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + stubs, "HOME=" + dir, "CALLS=" + log}
	_ = cmd.Run() // many scripts end with an error, of what they call
	text, _ := os.ReadFile(log)
	for call := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x01"), "\x01") {
		if call != "" {
			out = append(out, strings.Split(strings.TrimSuffix(call, "\x02"), "\x02"))
		}
	}
	return out
}

// covers reports whether a command may become argv.
func covers(c SimpleCommand, argv []string) bool {
	return slices.ContainsFunc(append(c.Also, c.Words), func(words []Word) bool {
		if len(words) > 0 && words[0].Known {
			words = append([]Word{{filepath.Base(words[0].Text), true}}, words[1:]...)
		}
		return mayBecome(words, argv)
	})
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

// FuzzCommands: no text that cannot be known is allowed, none panics, and what is denied
// stays denied wherever a text may stand.
func FuzzCommands(f *testing.F) {
	for _, l := range lines(f) {
		f.Add(l[1])
	}
	f.Add("\v")
	decide := func(text string) Decision {
		return Decide(Call{Tool: "bash", Command: text, Workspace: "/work/shop"}, rules(), Facts{Default: Ask})
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range SimpleCommands(text, "/work/shop") {
			if c.Unsure && c.surelyMatches("ls *") {
				t.Errorf("%q is allowed", text)
			}
		}
		RedirectTargets(text, "")
		d := decide(text)
		if r, ok := d.AllowingRule(Call{Tool: "bash", Command: text, Workspace: "/work/shop"}); ok && d.Do == Ask {
			again := Decide(Call{Tool: "bash", Command: text, Workspace: "/work/shop"}, append(rules(), r), Facts{Default: Ask})
			if r.Check() != nil || again.Do == Ask && again.What == d.What {
				t.Errorf("%q is said to be allowed by %+v", text, r)
			}
		}
		quoted, err := syntax.Quote(text, syntax.LangBash)
		if d.Do != Deny || err != nil {
			return
		}
		for _, around := range []string{"bash -c " + quoted, "timeout 5 sh -ec " + quoted, "ls; " + text, "find . -exec sh -c " + quoted + " \\;", "git rebase -x " + quoted} {
			if got := decide(around); got.Do != Deny {
				t.Errorf("%q: %s, but %q is denied", around, got.Do, text)
			}
		}
	})
}
