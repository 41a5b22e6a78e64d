package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopAgent halts an agent for longer than its lease. In a single home nobody takes
// over: the hub ends the hung process and starts the agent again.
func stopAgent(r *run) int {
	hub := r.command(context.Background(), "up", "--foreground", "--hung", "1500ms")
	if err := hub.Start(); err != nil {
		r.bad("%v", err)
		return 0
	}
	defer func() { _ = hub.Wait() }()
	defer func() { r.fika("down") }()
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM agents WHERE state = 'idle'`)
		return err == nil && n >= 2
	})
	n := 0
	if r.rng.IntN(2) == 0 { // while it holds the database's write lock
		_ = r.tell("plan", "commit-tool-step.before 1 stop")
		r.ask("ask", "arya", "bash", "long", "read")
		if wait(patience/4, func() bool { return r.passed("commit-tool-step.before") > 0 }) {
			n = 1
		}
	} else {
		r.begun(r.ask("ask", "arya", "bash", "long", "read"))
		r.pause(400 * time.Millisecond)
		n = r.signal(agentWords("arya"), syscall.SIGSTOP)
	}
	_ = r.tell("clock", "60000")
	r.ask("task", "gendry", "bash")
	r.settle()
	return n
}

// stopOwner halts one owner of an agent at a random step, lets a second take over (the
// flock is left out and the lease has expired), and wakes the first while the second
// works, or later. Only the fence keeps them apart.
func stopOwner(r *run) int {
	// Between transactions: inside one it would keep the database locked.
	all := []string{"claim.after", "commit-model-step.after", "begin-tool-step.after", "tool-start.before", "tool-exit", "commit-tool-step.after"}
	return r.twoOwners(all[r.rng.IntN(len(all))], "", func(first *exec.Cmd) {
		if r.rng.IntN(2) == 0 {
			wait(patience/4, func() bool {
				n, err := r.number(`SELECT count(*) FROM agents WHERE name = 'arya' AND epoch > 1`)
				return err == nil && n > 0
			})
			r.pause(150 * time.Millisecond)
		} else {
			r.quiet()
		}
		_ = first.Process.Signal(syscall.SIGCONT)
	})
}

// withoutFence is the same without the fence, and with nothing left to chance: the
// first owner is halted when it has begun a call; the second, which has ended that
// call as interrupted, is halted when it has stored the next one; then the first
// continues and writes what it should not, until the turn has ended.
func withoutFence(r *run) int {
	const ended = "commit-tool-step.after"
	return r.twoOwners("begin-tool-step.after", "fence", func(first *exec.Cmd) {
		if !wait(patience/4, func() bool { return r.passed(ended) > 0 }) {
			r.bad("the second owner ends no call")
		}
		_ = first.Process.Signal(syscall.SIGCONT)
		wait(patience/4, func() bool {
			n, err := r.number(`SELECT count(*) FROM requests WHERE kind = 'ask' AND finished_at > 0`)
			return err == nil && n > 0
		})
		r.signal("agent run arya", syscall.SIGCONT)
	}, ended)
}

// twoOwners starts an owner that is halted at a point and, when its lease has expired,
// a second one, which is halted at another point if one is named. wake decides when
// the first continues.
func (r *run) twoOwners(point, without string, wake func(first *exec.Cmd), then ...string) int {
	r.folderShared = true
	_ = r.tell("without", "flock "+without)
	_ = r.tell("plan", point+" 1 stop")
	r.fika("context", "new", "arya")
	first := r.command(context.Background(), "agent", "run", "arya")
	if err := first.Start(); err != nil {
		r.bad("%v", err)
		return 0
	}
	r.start0()
	r.ask("ask", "arya", "bash", "list", "long")
	r.ask("task", "arya", "bash")
	struck := 0
	if wait(patience/4, func() bool { return r.passed(point) > 0 && halted(first.Process.Pid) }) {
		struck = 1
	}
	for _, point := range then {
		_ = r.tell("plan", point+" 1 stop")
	}
	_ = r.tell("clock", "60000")
	second := r.command(context.Background(), "agent", "run", "arya")
	if err := second.Start(); err != nil {
		r.bad("%v", err)
	}
	wake(first)
	_ = r.tell("plan", "")
	r.quiet()
	end(first)
	end(second)
	_ = r.tell("without", without) // one owner again, and a hub that announces the outcome
	r.start()
	r.settle()
	return struck
}

// end ends an owner, which may be halted or may still become halted.
func end(owner *exec.Cmd) {
	late := time.AfterFunc(patience/2, func() { _ = owner.Process.Kill() })
	defer late.Stop()
	_ = owner.Process.Signal(syscall.SIGTERM)
	_ = owner.Process.Signal(syscall.SIGCONT)
	_ = owner.Wait()
}

// start0 records the home without chats as started: its database exists.
func (r *run) start0() {
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM agents WHERE state = 'idle'`)
		return err == nil && n > 0
	})
}

// quiet waits, without starting anything, until nothing is open.
func (r *run) quiet() {
	if !wait(patience/2, func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE finished_at = 0`)
		return err == nil && n == 0
	}) {
		r.bad("still open: %s", r.openWork())
	}
}

// halted reports whether a process is stopped.
func halted(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := string(data)[strings.LastIndex(string(data), ")")+1:]
	return strings.HasPrefix(strings.TrimSpace(rest), "T")
}
