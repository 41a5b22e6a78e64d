package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/rights/guard"
	"fika/internal/sandbox"
)

// TestOpened: a call for which .git/config is open may name a remote there, also
// from a worktree; what it sets that git would run is put back and said, and
// hooks stay closed.
func TestOpened(t *testing.T) {
	for _, tier := range []sandbox.Tier{sandbox.Full, sandbox.Landlock} {
		t.Run(string(tier), func(t *testing.T) {
			person, err := os.MkdirTemp(os.Getenv("HOME"), "fika-opened-") // a sandbox replaces /tmp
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(person) })
			repo, tree := filepath.Join(person, "repo"), filepath.Join(person, "tree")
			must(t, os.Mkdir(repo, 0o700))
			runGit(t, repo, "init", "-q")
			runGit(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
			runGit(t, repo, "worktree", "add", "-q", tree)
			if tier == sandbox.Landlock {
				withoutBubblewrap(t)
			}
			o := Options{Probe: &Probe{}, Mode: sandbox.Best, Paths: guard.Paths{Persons: []string{person}}, Temp: filepath.Join(person, "tmp"), Aside: filepath.Join(person, "aside"), Calls: filepath.Join(person, "calls"), Getenv: os.Getenv}
			if found, err := o.Probe.Open(sandbox.Best); err != nil || found.Tier() != tier {
				t.Skipf("tier %s does not work here", tier)
			}
			config := filepath.Join(repo, ".git", "config")
			for _, workspace := range []string{repo, tree} {
				name := filepath.Base(workspace)
				said := runConfined(t, New(o), workspace, `git remote add `+name+` /somewhere && git config core.fsmonitor evil && git config alias.st '!evil' && git config include.path /evil
echo evil > "$(git rev-parse --git-common-dir)/hooks/pre-commit"`, filepath.Join(workspace, ".git", "config"))
				if !strings.Contains(said, "alias.st, core.fsmonitor, include.path") {
					t.Errorf("%s: what was put back is %q", name, said)
				}
				text, err := os.ReadFile(config)
				must(t, err)
				if strings.Contains(string(text), "evil") || !strings.Contains(string(text), `[remote "`+name+`"]`) {
					t.Errorf("%s: the config is\n%s", name, text)
				}
				if _, err := os.Stat(filepath.Join(repo, ".git", "hooks", "pre-commit")); err == nil {
					t.Errorf("%s: there is a hook", name)
				}
			}
			before, err := os.ReadFile(config)
			must(t, err)
			runConfined(t, New(o), repo, `git config user.name evil; rm -f .git/config; echo evil > .git/config`) // not open
			said := runConfined(t, New(o), repo, `rm -f .git/config; ln -s /etc/passwd .git/config`, config)
			if after, err := os.ReadFile(config); err != nil || string(after) != string(before) || !strings.Contains(said, "put back") {
				t.Errorf("the config is\n%s\n%v, and %q was said", after, err, said)
			}
		})
	}
}

// withoutBubblewrap leaves of PATH what the built-in tier is tried with.
func withoutBubblewrap(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"true", "git"} {
		path, err := exec.LookPath(name)
		must(t, err)
		must(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	t.Setenv("PATH", dir)
}

// runConfined runs a script and gives what had to be undone.
func runConfined(t *testing.T, a *Agent, workspace, script string, opened ...string) string {
	t.Helper()
	c, err := a.Tools(workspace, opened...).Confine("/bin/sh", []string{"-c", script})
	must(t, err)
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.ExtraFiles = workspace, c.Files
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Dir(workspace)}, c.Env...)
	out, _ := cmd.CombinedOutput()
	said := strings.Join(c.Ended(), "; ")
	t.Logf("%s\n%s", out, said)
	return said
}
