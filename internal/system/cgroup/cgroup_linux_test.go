package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fika"
	"fika/internal/system/process"
)

// groups are those of this test; it is skipped where none can be made.
func groups(t *testing.T) *Groups {
	t.Helper()
	r, err := FindRoot("")
	if err != nil {
		t.Skip("no limits here: " + err.Error())
	}
	g := r.GroupsFor("test-" + strings.ToLower(t.Name()))
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(r.dir, g.home)); !os.IsNotExist(err) {
			t.Errorf("folders of groups are left: %v", err)
		}
	})
	return g
}

// start starts a shell script in the group of a call.
func start(t *testing.T, c *Call, script string) *exec.Cmd {
	t.Helper()
	dir, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = process.StartWithin(&syscall.SysProcAttr{Setpgid: true}, dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A call that comes to a limit fails and says which; nothing of it is left.
func TestLimitsOfCalls(t *testing.T) {
	g := groups(t)
	for _, c := range []struct {
		name   string
		limits Limits
		script string
		says   string
	}{
		{"4 GiB of memory", Limits{Memory: 64 << 20}, `x=0123456789abcdef; i=0; while [ $i -lt 28 ]; do x=$x$x; i=$((i+1)); done; exit 1`, "memory limit of its agent: 64 MiB"},
		{"a fork bomb", Limits{PIDs: 24}, `b() { b | b & }; b; sleep 1; exit 1`, "limit of its agent of 24 processes"},
		{"within both", Limits{Memory: 64 << 20, PIDs: 24, CPU: 0.5}, `true | true; exit 1`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			call, err := g.Begin("a", c.limits)
			if err != nil {
				t.Skip(err)
			}
			cmd := start(t, call, c.script)
			if cmd.Wait() == nil {
				t.Error("it worked")
			}
			if said := strings.Join(call.End(), "\n"); !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
				t.Errorf("it said %q instead of %q", said, c.says)
			}
			if _, err := os.Stat(call.dir); !os.IsNotExist(err) {
				t.Errorf("its folder is left: %v", err)
			}
		})
	}
}

// What a killed process of fika has left is ended and removed; a call that runs is
// not touched.
func TestSweep(t *testing.T) {
	g := groups(t)
	mine, err := g.Begin("a", Limits{PIDs: 24})
	if err != nil {
		t.Skip(err)
	}
	running := start(t, mine, "sleep 300")
	left := &Call{dir: filepath.Join(filepath.Dir(mine.dir), "call-1-1-1"), limits: mine.limits} // pid 1 has begun at another time
	if err := os.Mkdir(left.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lost := start(t, left, "sleep 300")
	g.Sweep()
	if err := lost.Wait(); err == nil {
		t.Error("what was left still ran")
	}
	if _, err := os.Stat(left.dir); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
	if p, ok := process.Identify(running.Process.Pid); !ok || !process.Alive(p) {
		t.Error("a call that runs was ended")
	}
	mine.End()
	_ = running.Wait()
}

// All that is said about a machine without groups of version 2 says what is missing.
func TestNoGroups(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := mountPoint(file("30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("got %v", err)
	}
	at, err := mountPoint(file("25 1 8:1 / / rw - ext4 /dev/sda rw\n30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"))
	if err != nil || at != "/sys/fs/cgroup" {
		t.Errorf("got %q, %v", at, err)
	}
	mount := t.TempDir()
	if _, err := ownGroup(file("0::/gone\n"), mount); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := ownGroup(file("9:memory:/x\n"), mount); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("got %v", err)
	}
	// A folder with controllers that cannot be written: nobody has given it away.
	dir := t.TempDir()
	for name, text := range map[string]string{"cgroup.controllers": "cpu memory pids\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := divide(dir, false); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := divide(t.TempDir(), true); err == nil || !strings.Contains(err.Error(), "Delegate=yes") {
		t.Errorf("got %v", err)
	}
}
