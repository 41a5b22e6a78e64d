package main

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// violation is a query that finds something only when a promise is broken.
type violation struct{ what, query string }

// never lists queries that find something only when a promise is broken. Each returns
// its findings in words.
var never = [...]violation{
	{"a request has no outcome", `SELECT id || ' ' || kind || ' ' || state FROM requests WHERE finished_at = 0 OR state NOT IN ('done', 'failed', 'cancelled', 'interrupted', 'dead')`},
	{"a notification is not settled", `SELECT id || ' ' || state FROM notifications WHERE state IN ('pending', 'claimed')`},
	{"an outcome was not published", `SELECT id FROM requests WHERE announced_at = 0 AND origin = 'queued'`},
	{"a finished request does not have one answer", `SELECT r.id || ' ' || r.state || ' has ' || x.answers FROM requests r
JOIN (SELECT request, sum(CASE WHEN type = 'message' AND {final} THEN 1 ELSE 0 END) AS answers FROM entries WHERE request <> '' GROUP BY request) AS x
ON x.request = r.id WHERE x.answers <> CASE WHEN r.state = 'done' THEN 1 ELSE 0 END`},
	{"a tool call does not have one result", `SELECT c.id || ' of ' || c.request || ' has ' || coalesce(t.results, 0) FROM entries c
LEFT JOIN (SELECT conversation, reply_to, count(*) AS results FROM entries WHERE type = 'tool_result' GROUP BY conversation, reply_to) AS t
ON t.conversation = c.conversation AND t.reply_to = c.id WHERE c.type = 'tool_call' AND coalesce(t.results, 0) <> 1`},
	{"a step is not settled", `SELECT request || '/' || n || ' ' || state FROM steps WHERE state IN ('planned', 'started')`},
	{"a model call was stored twice", `SELECT request || ' round ' || round FROM steps WHERE kind = 'model' GROUP BY request, round HAVING count(*) > 1`},
	{"usage and model steps differ", `SELECT s.request || '/' || s.n FROM steps s LEFT JOIN usage u ON u.request = s.request AND u.n = s.n WHERE s.kind = 'model' AND u.n IS NULL`},
	{"a conversation has gaps", `SELECT c.name || ' has ' || count(e.n) || ' entries and ends at ' || c.last_seq FROM conversations c JOIN entries e ON e.conversation = c.id
WHERE c.kind <> 'chat' OR c.name LIKE 'table%' GROUP BY c.id HAVING count(e.n) <> c.last_seq OR max(e.seq) <> c.last_seq`},
	{"an answer was given twice", `SELECT substr(content, 1, 24) || ' by ' || min(sender) FROM entries WHERE type = 'message' AND content LIKE 'answer %' GROUP BY conversation, content HAVING count(*) > 1`},
	{"a finished request has money set aside", `SELECT v.request FROM reservations v JOIN requests r ON r.id = v.request WHERE r.finished_at <> 0`},
	{"a finished request has a call that an executor runs", `SELECT x.request || '/' || x.n FROM executions x JOIN requests r ON r.id = x.request WHERE r.finished_at <> 0 AND x.state = 'claimed'`},
	{"two turns of an agent overlapped", `SELECT id || ' and one before it' FROM (
SELECT r.id, x.lo, max(x.hi) OVER (PARTITION BY r.conversation, r.agent ORDER BY x.lo ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
FROM requests r JOIN (SELECT request, min(seq) lo, max(seq) hi FROM entries WHERE request <> '' AND type <> 'notice' GROUP BY request) x ON x.request = r.id
WHERE r.retry_of = '') AS turns WHERE lo < before`},
}

// verdict checks the home, at rest, against the promises.
func (r *run) verdict() {
	db, err := r.query()
	if err != nil {
		r.bad("no database: %v", err)
		return
	}
	r.look(db)
}

// querier is a database, or a transaction in one.
type querier interface {
	Query(text string, args ...any) (*sql.Rows, error)
}

// look is verdict on what a querier sees.
func (r *run) look(db querier) {
	for _, q := range slices.Concat(never[:], neverInRuns[:], neverOnBoard[:], r.soundness()) {
		for _, found := range column(r, db, q.query) {
			r.bad("%s: %s", q.what, found)
		}
	}
	found, ends := r.traces(db), r.badEnds(db)
	for _, j := range r.jobs {
		r.checkJob(found[j.id], ends[j.chat], j)
	}
	r.checkModel()
	r.checkRuns(db)
	r.checkMarkers()
	r.checkEnds(db)
	r.checkApprovals(db)
}

// column returns the texts that a query selects.
func column(r *run, db querier, query string, args ...any) []string {
	rows, err := db.Query(r.sql(query), args...)
	if err != nil {
		r.bad("%v in %s", err, query)
		return nil
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			r.bad("%v in %s", err, query)
			return all
		}
		all = append(all, s)
	}
	return all
}

// trace is what the database holds about one job.
type trace struct {
	asked   int      // messages that ask for it
	answers []string // in order
	states  []string // of its requests, without retries
}

var (
	askedFor = regexp.MustCompile(`job (\d+) hop 0 plan `)
	answered = regexp.MustCompile(`^answer (\d+) hop `)
)

// traces reads all jobs at once, because after a soak there are thousands.
func (r *run) traces(db querier) map[int]trace {
	all := map[int]trace{}
	note := func(pattern *regexp.Regexp, text string, add func(*trace)) bool {
		if isReview(text) { // it names what it is about
			return true
		}
		m := pattern.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		id, _ := strconv.Atoi(m[1])
		t := all[id]
		add(&t)
		all[id] = t
		return true
	}
	for _, text := range column(r, db, `SELECT content FROM entries WHERE type = 'message' ORDER BY conversation, seq`) {
		if !note(answered, text, func(t *trace) { t.answers = append(t.answers, text) }) {
			note(askedFor, text, func(t *trace) { t.asked++ })
		}
	}
	for _, text := range column(r, db, `SELECT state || ' ' || COALESCE({prompt}, '') FROM requests WHERE retry_of = '' AND kind <> 'notify'`) {
		state, _, _ := strings.Cut(text, " ")
		note(askedFor, text, func(t *trace) { t.states = append(t.states, state) })
	}
	return all
}

// checkJob compares what became of a job with what the program said about it.
func (r *run) checkJob(found trace, ends []string, j *job) {
	states := found.states
	if j.kind == "chat" {
		states = ends
	}
	switch n := max(found.asked, len(states)); {
	case n > 1 && j.kind != "board": // a task may be worked again: see neverOnBoard
		r.bad("doubled: job %d (%s) is there %d times, %v", j.id, j.kind, n, states)
	case j.accepted && (n == 0 || j.kind != "chat" && len(states) == 0):
		r.bad("lost: job %d (%s) was accepted and is not there", j.id, j.kind)
	case j.refused && n > 0:
		r.bad("job %d (%s) was refused and is there", j.id, j.kind)
	}
	for _, s := range states {
		if s != "done" && !slices.Contains(j.may, s) {
			r.bad("job %d (%s) is %s", j.id, j.kind, s)
		}
	}
	r.checkExit(j, states)
	if found.asked != 1 || len(j.may) > 0 {
		return
	}
	answers := found.answers
	for i := range j.plan {
		want := fmt.Sprintf("answer %d hop %d", j.id, i)
		if i >= len(answers) || answers[i] != want && !strings.HasPrefix(answers[i], want+":") {
			r.bad("lost: job %d (%s) has %q, not every answer in order", j.id, j.kind, answers)
			return
		}
	}
	if len(answers) > len(j.plan) {
		r.bad("doubled: job %d (%s) has %d answers, not %d", j.id, j.kind, len(answers), len(j.plan))
	}
}

// checkExit compares the exit status of a command that waited for an outcome with the
// outcome. The status of a command that was killed, or only stopped waiting, says
// nothing about it.
func (r *run) checkExit(j *job, states []string) {
	done := slices.Contains(states, "done")
	switch {
	case !j.waited:
	case j.exit == 0 && !done, slices.Contains([]int{1, 5, 6, 8}, j.exit) && done:
		r.bad("job %d (%s): exit %d, but the request is %v", j.id, j.kind, j.exit, states)
	}
}

// badEnds returns, by chat, the ways other than well in which its turns ended.
func (r *run) badEnds(db querier) map[string][]string {
	all := map[string][]string{}
	for _, text := range column(r, db, `SELECT DISTINCT c.name || ' ' || q.state FROM requests q JOIN conversations c ON c.id = q.conversation
WHERE c.kind = 'chat' AND q.state <> 'done' AND q.retry_of = ''`) {
		name, state, _ := strings.Cut(text, " ")
		all[name] = append(all[name], state)
	}
	return all
}

// checkModel checks the requests to the model server: the conversations are valid, and
// no earlier round comes after a later one.
func (r *run) checkModel() {
	m := r.model
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, bad := range m.invalid {
		r.bad("the model was sent an invalid conversation: %s", bad)
	}
	last, again := map[[2]int]int{}, map[asked]int{}
	for _, a := range m.log {
		key := [2]int{a.job, a.hop}
		if a.round < last[key] {
			r.bad("job %d hop %d: the model was asked for round %d after round %d: a finished step ran again", a.job, a.hop, a.round, last[key])
		}
		last[key] = max(last[key], a.round)
		if again[a]++; again[a] > 1+r.kills {
			r.bad("job %d hop %d round %d was asked of the model %d times, with %d kills", a.job, a.hop, a.round, again[a], r.kills)
		}
	}
}

// markers returns how often an unsafe tool has begun.
func (r *run) markers() int {
	data, _ := os.ReadFile(r.marker)
	return strings.Count(string(data), "begin ")
}

// checkMarkers checks what unsafe tools left behind: none began twice.
func (r *run) checkMarkers() {
	data, err := os.ReadFile(r.marker)
	if err != nil {
		return // no tool ran
	}
	began := map[string]int{}
	for line := range strings.Lines(string(data)) {
		if step, ok := strings.CutPrefix(strings.TrimSpace(line), "begin "); ok {
			if began[step]++; began[step] == 2 {
				r.bad("doubled: the unsafe step %s ran twice", step)
			}
		}
	}
}

// counts is the result of a run: operations accepted, requests done, losses and
// duplicates found.
type counts struct {
	strikes                                         int // of faults, in all runs
	runs, fired, accepted, done, lost, doubled, red int
}

func (c *counts) add(o counts) {
	c.runs += o.runs
	c.fired += o.fired
	c.accepted += o.accepted
	c.done += o.done
	c.lost += o.lost
	c.doubled += o.doubled
	c.red += o.red
}

func (r *run) counts() counts {
	c := counts{runs: 1}
	for _, j := range r.jobs {
		if j.accepted {
			c.accepted++
		}
	}
	for _, j := range r.flows {
		if j.accepted {
			c.accepted++
		}
	}
	c.done, _ = r.number(`SELECT count(*) FROM requests WHERE state = 'done'`)
	for _, w := range r.wrong {
		switch {
		case strings.HasPrefix(w, "lost"):
			c.lost++
		case strings.HasPrefix(w, "doubled"), strings.Contains(w, "twice"), strings.Contains(w, "again"):
			c.doubled++
		}
	}
	if len(r.wrong) > 0 {
		c.red = 1
	}
	return c
}
