package main

import (
	"slices"
	"time"
)

// neverInRuns lists queries that find something only when a promise about runs of
// workflows is broken.
var neverInRuns = [...]violation{
	{"a run has no result", `SELECT id FROM flow_runs WHERE ended_at = 0`},
	{"a request is of two steps", `SELECT request FROM flow_steps WHERE request <> '' GROUP BY request HAVING count(*) > 1`},
	{"a step is done and its request is not", `SELECT s.path || ' is ' || s.state || ', request ' || r.id || ' is ' || r.state FROM flow_steps s JOIN requests r ON r.id = s.request
WHERE s.state = 'done' AND r.state <> 'done' OR s.state = 'running' AND r.finished_at > 0`},
	{"a step of a run that is over continues", `SELECT s.path || ' ' || s.state FROM flow_steps s JOIN flow_runs f ON f.id = s.run
WHERE f.ended_at > 0 AND s.live = 1 AND s.state NOT IN ('done', 'failed', 'cancelled', 'skipped', 'blocked')`},
	{"a run and its request differ", `SELECT f.id || ' ' || r.state FROM flow_runs f JOIN requests r ON r.id = f.request WHERE (f.ended_at = 0) <> (r.finished_at = 0)`},
}

// flowFound is what the database holds about a run.
type flowFound struct{ state, answer string }

// checkRuns compares runs of workflows with what the program said about them: each
// exists once, has the result of an undisturbed run, and asked no step again that had
// ended.
func (r *run) checkRuns(db querier) {
	found := map[int][]flowFound{}
	rows, err := db.Query(r.sql(`SELECT {prompt}, q.state, COALESCE(e.content, '') FROM requests q JOIN flow_runs f ON f.request = q.id
LEFT JOIN (SELECT request, content FROM entries WHERE type = 'message' AND {final}) AS e ON e.request = q.id`))
	if err != nil {
		r.bad("runs: %v", err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var title string
		var f flowFound
		if err := rows.Scan(&title, &f.state, &f.answer); err != nil {
			r.bad("runs: %v", err)
			return
		}
		found[jobOf(title)] = append(found[jobOf(title)], f)
	}
	if err := rows.Err(); err != nil {
		r.bad("runs: %v", err)
	}
	for _, j := range r.flows {
		r.checkFlow(j, found[j.id])
	}
	r.checkSteps(db)
}

// checkFlow compares one run with its job.
func (r *run) checkFlow(j *flowJob, found []flowFound) {
	switch n := len(found); {
	case n > 1:
		r.bad("doubled: run %d of %s is there %d times", j.id, j.name, n)
	case n == 0 && j.accepted:
		r.bad("lost: run %d of %s was accepted and is not there", j.id, j.name)
	case n == 1 && j.refused:
		r.bad("run %d of %s was refused and is there", j.id, j.name)
	}
	for _, f := range found {
		switch {
		case f.state != "done" && !slices.Contains(j.may, f.state):
			r.bad("run %d of %s is %s", j.id, j.name, f.state)
		case f.state == "done" && f.answer != results[j.name]:
			r.bad("lost: run %d of %s gave %q, not %q", j.id, j.name, f.answer, results[j.name])
		}
	}
}

// slack is the tolerance between the moment at which the model is asked and the times
// in rows.
const slack = 50 * time.Millisecond

// checkSteps finds steps for which the model was asked while no attempt was open, and
// attempts that were asked more often than something was killed.
func (r *run) checkSteps(db querier) {
	type attempt struct{ begun, ended time.Time }
	attempts := map[stepKey][]attempt{}
	// What was sent to a model when its request was cancelled may arrive later.
	rows, err := db.Query(r.sql(`SELECT {prompt}, a.name, q.created_at, CASE WHEN q.state = 'cancelled' THEN 0 ELSE q.finished_at END FROM flow_steps s JOIN requests q ON q.id = s.request JOIN agents a ON a.id = q.agent
UNION ALL SELECT e.content, '', s.begun_at, CASE WHEN s.state = 'cancelled' THEN 0 ELSE s.ended_at END FROM flow_steps s JOIN entries e ON e.conversation = s.conversation AND e.seq = 1 WHERE s.conversation <> ''`))
	if err != nil {
		r.bad("steps: %v", err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var k stepKey
		var prompt string
		var begun, ended int64
		if err := rows.Scan(&prompt, &k.agent, &begun, &ended); err != nil {
			r.bad("steps: %v", err)
			return
		}
		if m := stepAsked.FindStringSubmatch(prompt); m != nil {
			k.job, k.step = m[1], m[2]
			attempts[k] = append(attempts[k], attempt{time.UnixMilli(begun), time.UnixMilli(ended)})
		}
	}
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	count := map[stepKey]int{}
	for _, a := range r.model.steps {
		tries := append(attempts[a.stepKey], attempts[stepKey{job: a.job, step: a.step}]...) // in a chat, all are asked
		open := func(t attempt) bool {
			return a.at.Add(slack).After(t.begun) && (t.ended.UnixMilli() == 0 || a.at.Before(t.ended.Add(slack)))
		}
		if !slices.ContainsFunc(tries, open) {
			r.bad("run %s: %s was asked to do %s again, of which nothing was open", a.job, a.agent, a.step)
		}
		if count[a.stepKey]++; count[a.stepKey] == len(tries)+r.kills+1 {
			r.bad("run %s: %s was asked to do %s again, %d times, with %d kills", a.job, a.agent, a.step, count[a.stepKey], r.kills)
		}
	}
}
