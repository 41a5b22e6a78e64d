package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"fika"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
)

// Call is the group of one call's processes.
type Call struct {
	dir    string
	limits Limits
	before int64 // refused forks in the agent's group when the call began
}

// Groups makes groups for the calls of this process.
type Groups struct {
	root *Root
	home string       // shared by the agents of one home
	made atomic.Int64 // makes the names of this process's groups unique
}

// GroupsFor returns the Groups for the agents of one home; id distinguishes homes.
func (r *Root) GroupsFor(id string) *Groups { return &Groups{root: r, home: "fika-" + id} }

// CanLimit returns an error that says why limits cannot be kept, or nil if they can.
func (g *Groups) CanLimit(l Limits) error {
	if missing := without(l.controllers(), g.root.controllers); len(missing) > 0 {
		return fika.Errorf(fika.Denied, "", "the control group %s has no controller %s", g.root.dir, strings.Join(missing, ", "))
	}
	return nil
}

// Begin makes the group of a call. Error kind: Denied, with a message for a person.
func (g *Groups) Begin(agent fika.AgentName, l Limits) (*Call, error) {
	if err := g.CanLimit(l); err != nil {
		return nil, err
	}
	home := filepath.Join(g.root.dir, g.home)
	of := filepath.Join(home, string(agent))
	g.sweepAgent(of)
	self := process.IdentifySelf()
	leaf := filepath.Join(of, fmt.Sprintf("call-%d-%d-%d", self.PID, self.Start, g.made.Add(1)))
	var err error
	for range 5 { // the end of another call may remove the parent folders
		if err = g.make(home, of, leaf, l); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, fika.Errorf(fika.Denied, "", "its limits cannot be set: %v", err)
	}
	_ = set(leaf, "memory.oom.group", "1") // a call ends as a whole: half of one only confuses
	return &Call{dir: leaf, limits: l, before: event(of, "pids.events", "max")}, nil
}

func (g *Groups) make(home, of, leaf string, l Limits) error {
	for _, dir := range []string{home, of} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := enable(dir, g.root.controllers); err != nil {
			return err
		}
	}
	if err := l.write(of); err != nil {
		return err
	}
	return os.Mkdir(leaf, 0o755)
}

// write sets the limits of a group, and lifts those that no longer apply.
func (l Limits) write(dir string) error {
	memory, swap, cpu, pids := "max", "max", "max", "max"
	if l.Memory > 0 {
		memory, swap = strconv.FormatInt(l.Memory, 10), "0"
	}
	if l.CPU > 0 {
		cpu = fmt.Sprintf("%d 100000", int64(l.CPU*100000))
	}
	if l.PIDs > 0 {
		pids = strconv.FormatInt(l.PIDs, 10)
	}
	for _, one := range []struct{ file, value string }{
		{"memory.swap.max", swap}, {"memory.max", memory}, {"cpu.max", cpu}, {"pids.max", pids},
	} {
		err := set(dir, one.file, one.value)
		if errors.Is(err, fs.ErrNotExist) && (one.value == "max" || one.file == "memory.swap.max") {
			continue // the controller, or swap, is not there
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Open opens the group's folder for a process that is to begin in it.
func (c *Call) Open() (*os.File, error) { return os.Open(c.dir) }

// End kills what still runs in the group, removes the group, and returns a line about
// each limit that the call reached.
func (c *Call) End() []string {
	_ = set(c.dir, "cgroup.kill", "1")
	of := filepath.Dir(c.dir)
	var lines []string
	if n := event(c.dir, "memory.events", "oom_kill"); n > 0 && c.limits.Memory > 0 {
		lines = append(lines, fmt.Sprintf("it was ended because it came to the memory limit of its agent: %s (limits, memory)", SizeText(c.limits.Memory)))
	}
	if c.limits.PIDs > 0 && event(c.dir, "pids.events", "max")+event(of, "pids.events", "max")-c.before > 0 {
		lines = append(lines, fmt.Sprintf("it came to the limit of its agent of %d processes and threads: no more could be started (limits, pids)", c.limits.PIDs))
	}
	remove(c.dir)
	_ = os.Remove(of) // fails while another call is in it
	_ = os.Remove(filepath.Dir(of))
	return lines
}

// remove removes a group as soon as its processes are gone; it kills those that are left,
// and gives up after about 2 s.
func remove(dir string) {
	for wait := time.Millisecond; wait < 2*time.Second; wait *= 2 {
		if err := os.Remove(dir); !errors.Is(err, syscall.EBUSY) {
			return
		}
		_ = set(dir, "cgroup.kill", "1")
		_ = sleep.For(context.Background(), wait)
	}
}

// event reads a counter of a group; 0 if it does not exist.
func event(dir, file, name string) int64 {
	data, _ := os.ReadFile(filepath.Join(dir, file))
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// Sweep ends and removes the groups of calls, of all agents of the home, whose fika
// process is gone.
func (g *Groups) Sweep() {
	home := filepath.Join(g.root.dir, g.home)
	agents, _ := os.ReadDir(home)
	for _, a := range agents {
		if a.IsDir() {
			g.sweepAgent(filepath.Join(home, a.Name()))
			_ = os.Remove(filepath.Join(home, a.Name()))
		}
	}
	_ = os.Remove(home)
}

func (g *Groups) sweepAgent(of string) {
	list, _ := os.ReadDir(of)
	for _, d := range list {
		var p fika.Process
		var n int64
		if _, err := fmt.Sscanf(d.Name(), "call-%d-%d-%d", &p.PID, &p.Start, &n); err != nil {
			continue
		}
		if now, ok := process.Identify(p.PID); ok && now.Start == p.Start && process.Alive(now) {
			continue
		}
		dir := filepath.Join(of, d.Name())
		_ = set(dir, "cgroup.kill", "1")
		remove(dir)
	}
}
