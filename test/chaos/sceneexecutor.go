package main

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
)

// withExecutor is the setting for homes whose commands run in another process.
const withExecutor = "[[executors]]\nname = \"box\"\n[tools]\nexecutor = \"box\"\n"

const executorWords = "executor box --by-hub"

// executor restarts the home with commands that run in another process.
func (r *run) executor() {
	path := filepath.Join(r.root, "config.toml")
	text, err := os.ReadFile(path)
	if err == nil {
		r.people("down")
		err = os.WriteFile(path, append(text, withExecutor...), 0o600)
	}
	if err != nil {
		r.bad("%v", err)
	}
	r.start()
}

// handed is work whose commands an executor runs, for several agents and for a prompt
// in the foreground, until the executor has given a sign of life.
func handed(r *run) {
	r.executor()
	r.ask("ask", "arya", "bash", "read", "bash")
	r.ask("task", "gendry", "bash")
	r.once("notes", "bash")
	r.awake(func() bool { return r.passed("renew-executor.after") > 0 })
}

// recalled cancels a command while it runs, and one before it is claimed, which
// therefore never begins.
func recalled(r *run) {
	r.executor()
	first := r.ask("ask", "arya", "gate", "read")
	r.begun(first)
	r.recall(first)
	halted := r.awake(func() bool { return r.signal(executorWords, syscall.SIGSTOP) > 0 })
	second := r.ask("task", "gendry", "gate")
	if halted && r.awake(func() bool {
		n, err := r.number(`SELECT count(*) FROM executions WHERE state = 'offered'`)
		return err == nil && n > 0
	}) && r.recall(second) {
		r.mu.Lock()
		r.unbegun = append(r.unbegun, second.request)
		r.mu.Unlock()
	}
	r.signal(executorWords, syscall.SIGCONT)
	_ = os.WriteFile(r.marker+".gate", nil, 0o600) // for a command that was not cancelled
}

// recall cancels a job, and reports whether that succeeded.
func (r *run) recall(j *job) bool {
	j.may = []string{"cancelled", "done"}
	if j.request == "" {
		return false
	}
	r.people("request", "cancel", j.request)
	return r.awake(func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE id = ? AND state = 'cancelled'`, j.request)
		return err == nil && n == 1
	})
}

// replaced kills an executor in the middle of a command. Its successor ends the
// command, and the agent hears that nobody knows whether it happened.
func replaced(r *run) {
	r.executor()
	r.ask("ask", "arya", "long", "bash")
	r.awake(func() bool { return r.markers() > 0 })
	r.signal(executorWords, syscall.SIGKILL)
	r.ask("task", "gendry", "bash")
}

// awake is wait for something that needs a hub, which may have been killed.
func (r *run) awake(ready func() bool) bool {
	return wait(patience/4, func() bool {
		if r.hubPID() == 0 {
			r.start()
		}
		return ready()
	})
}

// killInExecutor kills an executor between the beginning and the end of an unsafe
// call.
func killInExecutor(r *run) int {
	if !r.start() {
		return 0
	}
	r.ask("ask", "arya", "long", "read")
	struck := 0
	if r.awake(func() bool { return r.markers() > 0 }) {
		struck = r.signal(executorWords, syscall.SIGKILL)
	}
	r.settle()
	return struck
}

// checkEnds checks what unsafe tools left behind: a call that counts as done has come
// to its end, and one cancelled before it was claimed has never begun.
func (r *run) checkEnds(db querier) {
	data, _ := os.ReadFile(r.marker)
	for _, id := range r.unbegun {
		if bytes.Contains(data, []byte("begin "+id+"/")) {
			r.bad("request %s was cancelled before its call was taken, and the call ran all the same", id)
		}
	}
	for _, step := range column(r, db, `SELECT request || '/' || n FROM steps WHERE kind = 'tool' AND state = 'done'`) {
		if bytes.Contains(data, []byte("begin "+step+"\n")) && !bytes.Contains(data, []byte("end "+step+"\n")) {
			r.bad("lost: the step %s counts as done and has not come to its end", step)
		}
	}
}
