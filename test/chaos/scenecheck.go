package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// checkKilled kills an agent and the hub while the check of a task runs, and its reviewer and
// the hub while that looks at it; all the time another agent sleeps until the task is done,
// and a second task waits for it.
func checkKilled(r *run) int {
	r.configure(takers(2) + "[[agents]]\nid = \"critic\"\nmodel = \"own\"\nmax_idle_seconds = 3\n")
	review := make(chan struct{})
	r.model.mu.Lock()
	r.model.review = review
	r.model.mu.Unlock()
	answered := false
	defer func() {
		if !answered {
			close(review)
		}
	}()
	if !r.start() {
		return 0
	}
	checks, gate := r.marker+".checks", r.marker+".gate"
	check := fmt.Sprintf("echo begin >> %s; while [ ! -e %s ]; do sleep 0.02; done; echo end >> %s", checks, gate, checks)
	first := r.addTaskWith(nil, []string{"--agent", "taker-1", "--review", "critic", "--check", check}, "read")
	if first == "" {
		r.bad("no task was added")
		return 0
	}
	r.addTaskWith(nil, []string{"--agent", "taker-2"}, "await")
	r.addTask([]string{first}, "read")
	begun := func() int {
		text, _ := os.ReadFile(checks)
		return strings.Count(string(text), "begin")
	}
	looks := func() int {
		r.model.mu.Lock()
		defer r.model.mu.Unlock()
		return r.model.looks
	}
	// until waits with the hub up; a check that is not run at all lets the tasks end.
	until := func(what string, ready func() bool) bool {
		ok := wait(patience, func() bool {
			if r.hubPID() == 0 && !r.start() {
				return true
			}
			n, err := r.number(`SELECT count(*) FROM tasks WHERE ended_at = 0`)
			return ready() || r.over() || err == nil && n == 0
		})
		if !ok {
			r.bad("%s", what)
		}
		return ok
	}
	struck := 0
	kill := func(words string) {
		struck += r.signal(words, syscall.SIGKILL)
		r.kills++
	}
	sleeps := func() bool {
		n, err := r.number(`SELECT count(*) FROM board_waits`)
		return err == nil && n > 0
	}
	until("the check does not begin, or nobody waits", func() bool { return begun() > 0 && sleeps() || looks() > 0 })
	kill(hubWords)
	kill(agentWords("taker-1"))
	until("a check that was killed does not begin again", func() bool { return begun() > 1 || looks() > 0 })
	kill(agentWords("taker-1"))
	kill(hubWords)
	until("a check that was killed twice does not begin again", func() bool { return begun() > 2 || looks() > 0 })
	if n, err := r.number(`SELECT count(*) FROM tasks WHERE ended_at > 0`); err != nil || n > 0 {
		r.bad("%d tasks have ended before the check has: %v", n, err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		r.bad("%v", err)
	}
	until("nobody reviews what was checked", func() bool { return looks() > 0 })
	kill(agentWords("critic"))
	kill(hubWords)
	until("a review that was killed does not begin again", func() bool { return looks() > 1 })
	if n, err := r.number(`SELECT count(*) FROM tasks WHERE ended_at > 0`); err != nil || n > 0 {
		r.bad("%d tasks have ended before the review has: %v", n, err)
	}
	close(review)
	answered = true
	r.goingTasks()
	r.settle()
	if n, err := r.number(`SELECT count(*) FROM tasks WHERE state = 'done'`); err != nil || n != 3 {
		r.bad("%d of 3 tasks are done: %v", n, err)
	}
	if text, _ := os.ReadFile(checks); strings.Count(string(text), "end") != 1 {
		r.bad("the check has ended %d times", strings.Count(string(text), "end"))
	}
	return struck
}
