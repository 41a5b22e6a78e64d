package main

import (
	"fmt"
	"strings"
)

// takers are settings of n agents that take tasks of the board.
func takers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[[agents]]\nid = \"taker-%d\"\nmodel = \"own\"\ntool_permissions = [\"bash\", \"read\", \"list\", \"edit\", \"create\", \"board\"]\nmax_idle_seconds = 3\nboard = true\n", i+1)
	}
	return b.String()
}

// addTask adds a task in which an agent has a job. A killed command is repeated with the
// same key.
func (r *run) addTask(needs []string, tools ...string) (number string) {
	return r.addTaskWith(needs, nil, tools...)
}

// addTaskWith is [run.addTask] with further flags.
func (r *run) addTaskWith(needs, flags []string, tools ...string) (number string) {
	j := r.new("task", hop{"taker", tools})
	args := []string{"board", "add", fmt.Sprintf("work %d", j.id), j.prompt(), "--key", fmt.Sprintf("task %d", j.id), "--priority", fmt.Sprint(j.id % 5)}
	args = append(args, flags...)
	if len(needs) > 0 {
		args = append(args, "--needs", strings.Join(needs, ","))
	}
	res := r.people(args...)
	r.judge(j, res, res.stdout != "")
	return res.stdout
}

// goingTasks waits until every task has ended, and starts the hub if need be.
func (r *run) goingTasks() {
	if !wait(patience, func() bool {
		if r.hubPID() == 0 && !r.start() {
			return true
		}
		n, err := r.number(`SELECT count(*) FROM tasks WHERE ended_at = 0`)
		return r.over() || err == nil && n == 0
	}) {
		r.bad("tasks of the board do not come to an end")
	}
}

// boarded is a person who keeps a board, from which two agents take.
func boarded(r *run) {
	r.configure(takers(2))
	first := r.addTask(nil, "bash")
	var needs []string
	if first != "" {
		needs = append(needs, first)
	}
	r.addTaskWith(needs, []string{"--check", "true"}, "read")
	r.addTask(nil, "await")
	spare := r.people("board", "add", "spare", "--agent", "arya", "--key", "spare").stdout
	if spare == "" {
		return
	}
	r.people("board", "edit", spare, "--title", "nothing")
	r.people("board", "assign", spare, "gendry")
	r.people("board", "note", spare, "not much")
	if db, err := r.query(); err == nil {
		if _, err := db.Exec(r.sql(`UPDATE tasks SET state = 'held' WHERE title IN ('spare', 'nothing')`)); err != nil {
			r.bad("held: %v", err)
		}
	}
	r.people("board", "release", spare)
	r.people("board", "close", spare)
	r.people("board", "reopen", spare)
	r.people("board", "close", spare, "--drop")
	r.people("board", "close", spare, "--drop") // even if the reopening was repeated
	r.goingTasks()
}

// takenTwice leaves a task open that an agent has taken.
func takenTwice(r *run) int {
	if !r.start() {
		return 0
	}
	for range 6 {
		r.addTask(nil, "bash")
	}
	wait(patience/8, func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE task > 0 AND finished_at > 0`)
		return err == nil && n > 12
	})
	return 1
}

// neverOnBoard lists queries that find something only when a promise about tasks is broken.
var neverOnBoard = [...]violation{
	{"a task of the board has not ended", `SELECT n || ' ' || state FROM tasks WHERE ended_at = 0`},
	{"doubled: a task was worked by two at once", `SELECT a.task || ' ' || a.id || ' ' || b.id FROM requests a JOIN requests b ON b.task = a.task AND b.n > a.n
WHERE a.task > 0 AND b.started_at > 0 AND b.started_at < a.finished_at`},
	{"doubled: a task was not done once", `SELECT t.n || ' ' || (SELECT count(*) FROM requests r WHERE r.task = t.n AND r.state = 'done') FROM tasks t
WHERE t.state = 'done' AND (SELECT count(*) FROM requests r WHERE r.task = t.n AND r.state = 'done') <> 1`},
	{"a task is done although its check has not passed", `SELECT t.n FROM tasks t WHERE t.check_cmd <> '' AND t.state = 'done'
AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.request = t.request AND s.tool = 'bash' AND s.effect = 'idempotent' AND s.state = 'done')`},
	{"a task is done although its reviewer has not called it good", `SELECT t.n FROM tasks t WHERE t.review_by <> '' AND t.state = 'done' AND t.review <> ''
AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = t.review AND r.state = 'done')`},
	{"a task was begun before what it needs was done", `SELECT d.task || ' before ' || d.needs FROM task_needs d JOIN tasks x ON x.n = d.needs
JOIN requests r ON r.task = d.task AND r.started_at > 0 WHERE x.ended_at = 0 OR r.started_at < x.ended_at`},
}
