package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"fika"
	"fika/internal/folder"
	"fika/internal/hub"
	"fika/internal/process"
)

// processes starts agent processes of this program and looks after them. They
// are in sessions of their own, so that they outlive the hub and the terminal.
type processes struct {
	home   folder.Home
	binary string
	env    []string
}

// notForAgents are variables a hub's agents do not take over: their settings
// come from files.
var notForAgents = []string{"FIKA_MODEL", "FIKA_USERNAME", "FIKA_BASE_URL", "FIKA_API_KEY_ENV", "FIKA_PROVIDER", "FIKA_CONTEXT", "FIKA_STEP", "FIKA_DEPTH"}

func newProcesses(h folder.Home) (*processes, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "start agents", err)
	}
	p := &processes{home: h, binary: binary}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(notForAgents, name) && name != "FIKA_HOME" {
			p.env = append(p.env, kv)
		}
	}
	p.env = append(p.env, "FIKA_HOME="+h.Root)
	return p, nil
}

// Spawn starts an agent with its output going to its log.
func (p *processes) Spawn(name fika.AgentName, exited func(hub.Exit)) (fika.Process, error) {
	if err := p.home.EnsureDir(p.home.LogsDir()); err != nil {
		return fika.Process{}, err
	}
	log, err := OpenLog(p.home.LogFile(name))
	if err != nil {
		return fika.Process{}, fika.Wrap(fika.Storage, "agent log", err)
	}
	defer log.Close()
	fmt.Fprintf(log, "%s%s]\n", startMark, time.Now().Format(time.DateTime))
	cmd := exec.Command(p.binary, "agent", "run", "--by-hub", "--wait", "10s", string(name))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.home.Root, p.env, log, log
	cmd.SysProcAttr = process.Group()
	if err := cmd.Start(); err != nil {
		return fika.Process{}, fika.Wrap(fika.Failed, "start agent "+string(name), err)
	}
	id, ok := process.Identify(cmd.Process.Pid)
	if !ok {
		id = fika.Process{PID: cmd.Process.Pid}
	}
	go func() { // ends with the child; the hub is told through its mailbox
		err := cmd.Wait()
		x := hub.Exit{Code: cmd.ProcessState.ExitCode(), Reason: cmd.ProcessState.String()}
		if err != nil && cmd.ProcessState == nil {
			x = hub.Exit{Code: 1, Reason: err.Error()}
		}
		exited(x)
	}()
	return id, nil
}

// startMark begins the line that a log has before each start.
const startMark = "[STARTED by the hub, "

const (
	maxLog  = 16 << 20
	tailLog = 8 << 10
)

// OpenLog opens a log for appending; one that has grown too long is set aside
// first, replacing the one set aside before.
func OpenLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// Holder tells which agent process holds the context.
func (p *processes) Holder(name fika.AgentName) (fika.Process, time.Duration, bool) {
	state, err := p.home.Folder(name).Inspect()
	if err != nil || state.Status == folder.LockFree || state.Info.Kind != folder.LockAgent || !state.Held {
		return fika.Process{}, 0, false
	}
	return state.Info.Process(), state.Age, true
}

// Alive tells whether the process is still the same one.
func (p *processes) Alive(id fika.Process) bool { return process.Alive(id) }

// Terminate asks it to leave; one that was stopped (SIGSTOP) goes on for that.
func (p *processes) Terminate(id fika.Process, how fika.Desired) {
	_ = process.Wake(id, StopSignal(how))
}

// StopSignal is the signal that ends a hub or an agent in one of the ways there
// are. It needs no bus.
func StopSignal(how fika.Desired) syscall.Signal {
	switch how {
	case fika.DesiredFinish:
		return syscall.SIGUSR1
	case fika.DesiredNow:
		return syscall.SIGUSR2
	}
	return syscall.SIGTERM
}

// Kill ends it with everything that it has started.
func (p *processes) Kill(id fika.Process) { _ = process.EndTree(id) }

// LastLines gives the end of the agent's log since its last start, on one line.
func (p *processes) LastLines(name fika.AgentName, n int) string {
	return lastWords(p.home.LogFile(name), n)
}

func lastWords(path string, n int) string {
	lines := Tail(path, n+1)
	for i, l := range slices.Backward(lines) {
		if strings.HasPrefix(l, startMark) {
			return strings.Join(lines[i+1:], " / ")
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}

// Tail reads the last n lines of a file.
func Tail(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-tailLog), io.SeekStart)
	}
	data, err := io.ReadAll(f)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	lines := strings.Split(string(bytes.TrimSpace(data)), "\n")
	return lines[max(0, len(lines)-n):]
}
