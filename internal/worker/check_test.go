package worker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fika/internal/app"
	"fika/internal/repository/worktree"
)

// A check is written by agents. Whatever it does, it ends, what is kept of it is small, and
// neither the repository nor a later check sees anything of it.
func TestAHostileCheckHarmsNothing(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	repo := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "maria")
	git("config", "user.email", "maria@example.org")
	if err := os.WriteFile(filepath.Join(repo, "base"), []byte("base\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", "-A")
	git("commit", "-qm", "first")
	at := git("rev-parse", "main")
	a := app.New(app.Options{Root: t.TempDir(), Getenv: os.Getenv, Dir: repo})
	t.Cleanup(func() { _ = a.Close() })
	c := Checks{App: a, Warn: func(s string) { t.Log(s) }}
	main := worktree.Target{Project: repo, Into: "main"}
	if green, output, err := c.Run(t.Context(), main, at, "test $$ -lt 100 && test ! -e /proc/"+strconv.Itoa(os.Getpid())+"/environ", "check", time.Minute); err != nil || !green {
		t.Skipf("commands see the processes of the machine here (%s, %v): some of these would end them", output, err)
	}
	for _, one := range []struct {
		name, command string
		longest       time.Duration
		green         bool
		says          string
	}{
		{"passes", "test -e base && test ! -e planted", time.Minute, true, ""},
		{"fails", "echo no good; exit 3", time.Minute, false, "no good"},
		{"hangs", "sleep 27182 & sleep 27182", time.Second, false, "27182"},
		{"ignores signals", "trap '' TERM INT HUP; while :; do sleep 27182; done", time.Second, false, ""},
		{"prints without end", "yes 0123456789 | head -c 200000000", time.Minute, true, "0123456789"},
		{"kills its parent", "kill -9 $PPID; sleep 0.1; kill -9 -1", time.Minute, false, ""},
		{"changes the tree", "echo x > base; echo x > planted; git add -A; git -c user.name=x -c user.email=x@y commit -qm x; git update-ref refs/heads/main HEAD", time.Minute, true, ""},
		{"removes all", "rm -rf .git * ../* ~/* " + repo + "/* " + repo + "/.git; exit 0", time.Minute, true, ""},
		{"leaves links", "ln -s " + repo + " out; echo x > out/base; true", time.Minute, true, ""},
	} {
		green, output, err := c.Run(t.Context(), main, at, one.command, "check", one.longest)
		if err != nil || green != one.green || !strings.Contains(output+one.command, one.says) {
			t.Errorf("%s: %v, %q, %v", one.name, green, output[:min(len(output), 300)], err)
		}
		if len(output) > 32<<10 {
			t.Errorf("%s: %d bytes are kept", one.name, len(output))
		}
		if now := git("rev-parse", "main") + git("status", "--porcelain"); now != at {
			t.Errorf("%s: the repository is at %s", one.name, now)
		}
		if left, _ := filepath.Glob("/proc/[0-9]*/cmdline"); one.longest == time.Second {
			for _, path := range left {
				if line, _ := os.ReadFile(path); strings.Contains(string(line), "27182") {
					t.Errorf("%s: %s goes on: %q", one.name, path, line)
				}
			}
		}
		if green, output, err = c.Run(t.Context(), main, at, "test -e base && test ! -e planted", "check", time.Minute); err != nil || !green {
			t.Errorf("after one that %s: %v, %q, %v", one.name, green, output, err)
		}
	}
	c.Clean("")
	if left, _ := filepath.Glob(filepath.Join(a.Dir(), "landing", "tree")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
