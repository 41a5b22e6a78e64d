package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// askRule asks a person about commands of the tool "asked".
const askRule = "[[rules]]\ntool = \"bash\"\nmatch = \"date *\"\ndo = \"ask\"\n"

// approve is work that asks a person before a call: one is approved, one denied. The
// agents may be killed while they wait, and the person's command while it answers.
func approve(r *run) {
	yes := r.ask("task", "arya", "asked", "bash")
	no := r.ask("task", "gendry", "asked")
	r.answer(yes, "approve")
	r.answer(no, "approve", "--deny", "not today")
}

// answer answers the questions of a job, as they arrive, until it is over.
func (r *run) answer(j *job, args ...string) {
	id := r.requestOf(j)
	if id == "" {
		return
	}
	if !wait(patience, func() bool {
		if r.hubPID() == 0 {
			r.start()
		}
		db, err := r.query()
		if err != nil {
			return false
		}
		for _, n := range column(r, db, `SELECT '' || n FROM approvals WHERE state = 'open' AND request = ?`, id) {
			r.people(append(slices.Clone(args), n)...)
		}
		n, err := r.number(`SELECT count(*) FROM requests WHERE id = ? AND finished_at > 0`, id)
		return err == nil && n == 1
	}) {
		r.bad("job %d still waits, though it was answered: %s", j.id, r.openWork())
	}
}

// requestOf returns the id of a job's request, even one that was stored although the
// command was killed before it could print the id; "" when there is none.
func (r *run) requestOf(j *job) string {
	if j.request != "" {
		return j.request
	}
	db, err := r.query()
	if err != nil {
		return ""
	}
	for _, id := range column(r, db, `SELECT id FROM requests WHERE {prompt} = ?`, j.prompt()) {
		return id
	}
	return ""
}

// unanswered is a question whose day passes: the call is denied, and the work
// continues without it.
func unanswered(r *run) {
	j := r.ask("task", "arya", "asked", "read")
	r.asked(j)
	_ = r.tell("clock", "90000000")
	r.settle()
	_ = r.tell("clock", "0")
}

// withdrawn is a question that is open when its request is cancelled.
func withdrawn(r *run) {
	j := r.ask("task", "gendry", "asked")
	j.may = []string{"cancelled", "done"}
	r.asked(j)
	if j.request != "" {
		r.people("request", "cancel", j.request)
		r.answer(j, "approve") // in case it was not cancelled
	}
}

// asked waits until a job asks a question.
func (r *run) asked(j *job) {
	wait(patience/4, func() bool {
		if r.hubPID() == 0 {
			r.start()
		}
		n, err := r.number(`SELECT count(*) FROM approvals WHERE request = ?`, j.request)
		return err == nil && n > 0
	})
}

// trespass is a confined call that plants a file which other programs obey. It is
// removed after the call, or by the successor of a killed agent: otherwise leftovers
// finds it.
func trespass(r *run) {
	r.ask("ask", "arya", "plant", "bash")
}

// checkApprovals finds calls that ran although nobody allowed them.
func (r *run) checkApprovals(db querier) {
	data, _ := os.ReadFile(r.marker)
	for _, step := range column(r, db, `SELECT DISTINCT p.request || '/' || p.step FROM approvals p
WHERE NOT EXISTS (SELECT 1 FROM approvals q WHERE q.request = p.request AND q.step = p.step AND q.state = 'given')`) {
		if bytes.Contains(data, []byte("begin "+step+"\n")) {
			r.bad("doubled: the step %s ran, and nobody has allowed it", step)
		}
	}
}

// mounts lists what is mounted below the home's folder: a confined call has a mount
// namespace of its own, so nothing may remain.
func (h *home) mounts() []string {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	var found []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, " "+h.dir) {
			found = append(found, fmt.Sprintf("%q", strings.TrimSpace(line)))
		}
	}
	return found
}
