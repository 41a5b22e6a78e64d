package daemon

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/hub"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
)

// processes starts and watches agent processes of this program. They run in sessions of
// their own, so that they outlive the hub and the terminal.
type processes struct {
	home   folder.Home
	binary string
	env    []string
}

// notForAgents are variables that a hub's agents do not inherit, because their settings
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
	log, err := folder.OpenLog(p.home.LogFile(name))
	if err != nil {
		return fika.Process{}, fika.Wrap(fika.Storage, "agent log", err)
	}
	defer log.Close()
	folder.MarkStart(log, time.Now())
	cmd := exec.Command(p.binary, "agent", "run", "--by-hub", "--wait", "10s", string(name))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.home.Root, p.env, log, log
	cmd.SysProcAttr = process.OwnGroup()
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

// Holder returns the agent process that holds the context.
func (p *processes) Holder(name fika.AgentName) (fika.Process, time.Duration, bool) {
	state, err := p.home.Folder(name).Inspect()
	if err != nil || state.Status == folder.LockFree || state.Info.Kind != folder.LockAgent || !state.Held {
		return fika.Process{}, 0, false
	}
	return state.Info.Process(), state.Age, true
}

// Alive reports whether the process is still the same one.
func (p *processes) Alive(id fika.Process) bool { return process.Alive(id) }

// Terminate asks a process to leave. A process suspended by SIGSTOP is continued for
// this.
func (p *processes) Terminate(id fika.Process, how fika.Desired) {
	_ = process.SignalAwake(id, process.StopSignal(how))
}

// Kill ends a process together with everything that it has started.
func (p *processes) Kill(id fika.Process) { _ = process.EndTree(id) }

// LastLines returns the end of the agent's log since its last start, on one line.
func (p *processes) LastLines(name fika.AgentName, n int) string {
	return folder.LastLines(p.home.LogFile(name), n)
}
