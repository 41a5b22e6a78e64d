package child_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fika/internal/sandbox/child"
)

// TestPrograms: calls are made in order with their arguments, what fails ends the
// process unless it may, and a child's end is that of its parent.
func TestPrograms(t *testing.T) {
	say := func(p *child.Program, text string) {
		p.Call("speak", unix.SYS_WRITE, child.Number(1), p.Text(text), child.Number(len(text)))
	}
	fork := func(p *child.Program) { p.Fork("a process", unix.SYS_CLONE, child.Number(unix.SIGCHLD)) }
	sh := func(p *child.Program, script string) {
		p.Exec("/bin/sh", []string{"sh", "-c", script, "sh", "an argument"})
	}
	file := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		name   string
		build  func(p *child.Program)
		out    string
		status int
	}{
		{"a command", func(p *child.Program) { sh(p, `echo "$1, $MARK"; exit 3`) }, "an argument, kept\n", 3},
		{"in order", func(p *child.Program) { say(p, "a"); say(p, "b"); sh(p, "echo c") }, "abc\n", 0},
		{"what may fail", func(p *child.Program) { p.Try(unix.SYS_CLOSE, child.Number(99)); sh(p, "echo on") }, "on\n", 0},
		{"what may not", func(p *child.Program) { p.Call("close it", unix.SYS_CLOSE, child.Number(99)); sh(p, "echo on") },
			"fika: the command was not started, because it could not be confined: close it: error    9\n", child.NotConfined},
		{"no command", func(p *child.Program) { p.Exec("/nonexistent/x", []string{"x"}) }, "fika: /nonexistent/x cannot be started: error    2\n", child.NotStarted},
		{"a result", func(p *child.Program) {
			fd := p.Call("open", unix.SYS_OPENAT, child.Number(unix.AT_FDCWD), p.Text(file), child.Number(unix.O_CREAT|unix.O_WRONLY), child.Number(0o600))
			p.Call("write", unix.SYS_WRITE, fd, p.Text("through"), child.Number(7))
			p.Call("close", unix.SYS_CLOSE, fd)
			sh(p, "cat "+file)
		}, "through", 0},
		{"no result", func(p *child.Program) {
			fd := p.Call("open", unix.SYS_OPENAT, child.Number(unix.AT_FDCWD), p.Text("/dev/null"), child.Number(unix.O_RDONLY))
			p.Call("close", unix.SYS_CLOSE, fd)
			p.Call("close again", unix.SYS_CLOSE, fd)
			sh(p, "true")
		}, "fika: the command was not started, because it could not be confined: close again: error    9\n", child.NotConfined},
		{"a child", func(p *child.Program) { fork(p); sh(p, "exit 7") }, "", 7},
		{"a child's signal", func(p *child.Program) { fork(p); sh(p, "kill -TERM $$") }, "", 128 + 15},
		{"a child of a child", func(p *child.Program) { fork(p); fork(p); sh(p, "echo deep; exit 9") }, "deep\n", 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p child.Program
			c.build(&p)
			f, err := p.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd := exec.Command("/proc/self/fd/3")
			cmd.ExtraFiles, cmd.Env = []*os.File{f}, []string{"MARK=kept"}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if string(out) != c.out || cmd.ProcessState.ExitCode() != c.status {
				t.Errorf("%q, status %d instead of %q, %d", out, cmd.ProcessState.ExitCode(), c.out, c.status)
			}
		})
	}
}

// TestUnfinished: a list that does not end with a command is no program.
func TestUnfinished(t *testing.T) {
	var p child.Program
	p.Try(unix.SYS_GETPID)
	if _, err := p.Image(); err == nil || !strings.Contains(err.Error(), "command") {
		t.Error(err)
	}
}
