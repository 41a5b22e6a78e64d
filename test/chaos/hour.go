package main

import (
	"sync"
	"syscall"

	"fika/internal/llm/llmtest"
)

// Each of these pauses a chain at a bad moment, lets an hour pass, and resumes. In
// that hour nobody asks a model; after it, every mention is answered once.

// pauseInModel pauses while a model answers.
func pauseInModel(r *run) int {
	var once sync.Once
	asking, gate := make(chan struct{}), make(chan struct{})
	r.model.fault = func(a asked) llmtest.Script {
		if a.hop != 1 {
			return nil
		}
		once.Do(func() { close(asking) })
		return append(llmtest.Script{llmtest.Comment("thinking"), llmtest.Wait(gate)}, r.model.script(a, r.planOf(a))...)
	}
	in := func() bool {
		select {
		case <-asking:
			return true
		default:
			return false
		}
	}
	return r.hour(in, func() { close(gate) }, hop{"arya", nil}, hop{"gendry", nil}, hop{"hotpie", []string{"bash"}})
}

// pauseInTool pauses while a command runs.
func pauseInTool(r *run) int {
	in := func() bool { return r.markers() > 0 }
	return r.hour(in, func() {}, hop{"arya", nil}, hop{"gendry", []string{"long", "read"}}, hop{"hotpie", nil})
}

// pauseUnpublished pauses after an answer is committed and before it is announced: the
// agent is halted at that point, and then killed or woken.
func pauseUnpublished(r *run) int {
	const point = "finish-request.after"
	_ = r.tell("plan", point+" 1 stop")
	how := [...]syscall.Signal{syscall.SIGCONT, syscall.SIGKILL}[r.rng.IntN(2)]
	in := func() bool { return r.passed(point) > 0 }
	return r.hour(in, func() { r.signal(agentWords("arya"), how) }, hop{"arya", nil}, hop{"gendry", []string{"bash"}}, hop{"hotpie", nil})
}

// pauseWithoutHub pauses when every process has been killed; the hour passes with or
// without a hub and agents.
func pauseWithoutHub(r *run) int {
	in := func() bool { return r.markers() > 0 && r.dark(func() {}) > 0 }
	after := func() {
		if r.rng.IntN(2) == 0 {
			r.start()
		}
	}
	return r.hour(in, after, hop{"arya", []string{"long"}}, hop{"gendry", nil}, hop{"hotpie", nil})
}

// hour begins a chain, pauses it once in reports true, calls pass, moves the clock on
// by an hour, and resumes.
func (r *run) hour(in func() bool, pass func(), plan ...hop) int {
	if !r.start() {
		return 0
	}
	j := r.chat(plan...)
	if !wait(patience/4, in) {
		return 0
	}
	r.people("chat", "pause", j.chat)
	before := r.calls(j.id)
	early := r.rng.IntN(2) == 0
	if early { // the hour passes within the step
		_ = r.tell("clock", "3600000")
	}
	pass()
	if !wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE state = 'running'`)
		return err == nil && n == 0 || r.hubPID() == 0
	}) {
		r.bad("the pause does not end the running turn: %s", r.openWork())
	}
	_ = r.tell("clock", "3600000")
	if r.hubPID() != 0 { // other processes would otherwise take over the held work
		r.follow("ask", "gendry", "list")
		r.follow("ask", "hotpie")
	}
	if n := r.calls(j.id); n != before {
		r.bad("job %d: the model was asked %d times more in a pause", j.id, n-before)
	}
	r.people("chat", "resume", j.chat)
	r.settle()
	r.rest()
	return 1
}

// calls returns how often the model was asked about a job.
func (r *run) calls(id int) (n int) {
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	for _, a := range r.model.log {
		if a.job == id {
			n++
		}
	}
	return n
}
