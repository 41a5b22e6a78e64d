package machines

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika"
)

// never lists queries that find something only when a promise is broken.
var never = map[string]string{
	"a request has no outcome":              `SELECT id || ' ' || kind || ' ' || state || ' ' || reason FROM requests WHERE finished_at = 0`,
	"a notification is not settled":         `SELECT id || ' ' || state FROM notifications WHERE state IN ('pending', 'claimed')`,
	"a task of the board has not ended":     `SELECT n || ' ' || state FROM tasks WHERE ended_at = 0`,
	"an outcome was not published":          `SELECT id FROM requests WHERE announced_at = 0 AND origin = 'queued'`,
	"an offer has no end":                   `SELECT n || ' ' || state || ' ' || reason FROM offers WHERE ended_at = 0`,
	"a run has no result":                   `SELECT id FROM flow_runs WHERE ended_at = 0`,
	"a step is not settled":                 `SELECT request || '/' || n || ' ' || state FROM steps WHERE state IN ('planned', 'started')`,
	"a model call was stored twice":         `SELECT request || ' round ' || round FROM steps WHERE kind = 'model' GROUP BY request, round HAVING count(*) > 1`,
	"usage and model steps differ":          `SELECT s.request || '/' || s.n FROM steps s LEFT JOIN usage u ON u.request = s.request AND u.n = s.n WHERE s.kind = 'model' AND u.n IS NULL`,
	"a message was taken twice by an agent": `SELECT conversation || ' ' || seq || ' ' || agent FROM notifications GROUP BY conversation, seq, agent HAVING count(*) > 1`,
	"a tool call does not have one result":  `SELECT c.id FROM entries c LEFT JOIN (SELECT conversation, reply_to, count(*) AS results FROM entries WHERE type = 'tool_result' GROUP BY conversation, reply_to) t ON t.conversation = c.conversation AND t.reply_to = c.id WHERE c.type = 'tool_call' AND coalesce(t.results, 0) <> 1`,
	"a request that is done does not have one answer": `SELECT r.id || ' has ' || count(e.id) FROM requests r LEFT JOIN entries e ON e.request = r.id AND e.type = 'message' AND (CAST(nullif(e.metadata, '') AS json) ->> 'final') = 'true'
WHERE r.state = 'done' AND r.kind <> 'workflow' GROUP BY r.id HAVING count(e.id) <> 1`,
	"a request that is not done has an answer": `SELECT r.id FROM requests r JOIN entries e ON e.request = r.id AND e.type = 'message' AND (CAST(nullif(e.metadata, '') AS json) ->> 'final') = 'true' WHERE r.state <> 'done' AND r.finished_at <> 0`,
	"a request has offered twice":              `SELECT request FROM offers WHERE request <> '' GROUP BY request HAVING count(*) > 1`,
	"a request is of two steps of runs":        `SELECT request FROM flow_steps WHERE request <> '' GROUP BY request HAVING count(*) > 1`,
	"a run and its request differ":             `SELECT f.id || ' ' || r.state FROM flow_runs f JOIN requests r ON r.id = f.request WHERE (f.ended_at = 0) <> (r.finished_at = 0)`,
	"a step of a run and its request differ": `SELECT s.path || ' is ' || s.state || ', request ' || r.id || ' is ' || r.state FROM flow_steps s JOIN requests r ON r.id = s.request
WHERE s.state = 'done' AND r.state <> 'done' OR s.state = 'running' AND r.finished_at > 0`,
	"a step of a run that is over continues": `SELECT s.path || ' ' || s.state FROM flow_steps s JOIN flow_runs f ON f.id = s.run
WHERE f.ended_at > 0 AND s.live = 1 AND s.state NOT IN ('done', 'failed', 'cancelled', 'skipped', 'blocked')`,
}

// unfinished are those of never that find something while work is under way.
var unfinished = []string{"a request has no outcome", "a notification is not settled", "a task of the board has not ended", "an outcome was not published", "an offer has no end", "a run has no result"}

// verdict looks for broken promises.
func (s *soak) verdict(took time.Duration) {
	for what, query := range never {
		for _, found := range s.find(query) {
			s.bad("%s: %s", what, found)
		}
	}
	for _, id := range s.asked {
		if r, err := s.db.Request(s.Context(), id); err != nil || !r.State.Terminal() {
			s.bad("lost: %s: %s, %v", id, r.State, err)
		}
	}
	if n := len(s.find(`SELECT id FROM flow_runs`)); n != s.counts["runs"] {
		s.bad("%d runs were begun, and there are %d", s.counts["runs"], n)
	}
	lines := s.effects()
	landed := s.landed()
	list := func(query string) string { return strings.Join(s.find(query), ", ") }
	s.Logf("%s: %v, %d lines written by tools, %d leases, %d of them on another host than the one before", took.Round(time.Second), s.counts, lines, s.leases(), s.moves())
	s.Logf("ended: %s; offers: %s; landed: %d", list(`SELECT kind || ' ' || state || ' ' || count(*) FROM requests GROUP BY kind, state ORDER BY 1`),
		list(`SELECT state || ' ' || count(*) FROM offers GROUP BY state ORDER BY 1`), landed)
	for _, bad := range s.find(`SELECT id || ' ' || state || ': ' || coalesce(outcome, '') FROM requests WHERE state NOT IN ('done')`) {
		s.Logf("not done: %.300s", bad)
	}
	for _, bad := range s.find(`SELECT n || ' ' || state || ': ' || reason FROM offers WHERE state <> 'landed'`) {
		s.Logf("not landed: %.300s", bad)
	}
	s.figures()
}

// figures holds that what fika shows of usage is what the ledger has.
func (s *soak) figures() {
	sum, ledger := 0, s.ledger()
	for line := range strings.Lines(s.desk.must("usage", "--by", "agent", "--json")) {
		var u struct {
			Usage struct{ Input, Output int }
		}
		check(s.T, json.Unmarshal([]byte(line), &u))
		sum += u.Usage.Input + u.Usage.Output
	}
	if sum != ledger {
		s.bad("fika usage comes to %d tokens, the ledger to %d", sum, ledger)
	}
}

func (s *soak) ledger() int {
	n, err := strconv.Atoi(s.find(`SELECT CAST(coalesce(sum(input + output), 0) AS TEXT) FROM usage`)[0])
	check(s.T, err)
	return n
}

func (s *soak) leases() (n int) {
	for _, list := range s.taken {
		n += len(list)
	}
	return n
}

func (s *soak) moves() (n int) {
	for _, list := range s.moved {
		n += len(list) - 1
	}
	return n
}

// effects checks what the tools have written, on all hosts together: nothing more than once, and
// nothing for an ask after another lease of its agent had begun than the one in which the tool
// was started. It returns how many lines there are.
func (s *soak) effects() (lines int) {
	for name := range s.taken {
		written := map[string][]time.Time{}
		for _, h := range s.hosts[:3] {
			for key, times := range s.written(h, name) {
				written[key] = append(written[key], times...)
				lines += len(times)
			}
		}
		for key, times := range written {
			most := shortTool
			if slices.Contains(s.longAsks, key) {
				most = longTool
			}
			if len(times) > most {
				s.bad("doubled: %s has written %d lines for %s", name, len(times), key)
			}
			s.checkFence(name, key, times)
		}
	}
	return lines
}

func (s *soak) checkFence(name fika.AgentName, key string, times []time.Time) {
	if !slices.Contains(s.asked, fika.RequestID(key)) {
		return
	}
	steps, err := s.db.Steps(s.Context(), fika.RequestID(key))
	check(s.T, err)
	for _, st := range steps {
		if st.Tool != "bash" {
			continue
		}
		for _, lease := range s.taken[name] {
			late := 0
			var last time.Time
			for _, at := range times {
				if lease.After(st.StartedAt) && at.After(lease.Add(200*time.Millisecond)) {
					late, last = late+1, at
				}
			}
			if late > 0 {
				s.bad("fenced: the tool of %s, started at %s, wrote %d lines, the last at %s, after a new lease of %s had begun at %s",
					key, st.StartedAt.Format(time.StampMilli), late, last.Format(time.StampMilli), name, lease.Format(time.StampMilli))
			}
		}
	}
}

// landed checks the branches of what has landed. Each host has one, in its clone, and an agent
// takes along what it has made, so that work may be on several; but no branch has it twice, each
// offer that has landed is one commit of one branch, or none if that had all of it, no other is there, and what an agent said
// that it has offered is somewhere. It returns how many commits there are.
func (s *soak) landed() (commits int) {
	of := map[string][]string{}  // the commits of each offer
	files := map[string]string{} // that were added, and by which commit last
	for _, h := range s.hosts[:3] {
		repo, here := h.repository(), map[string]string{}
		if git(s.T, repo, "for-each-ref", "refs/remotes/fika/landing/main") == "" {
			continue // nothing has landed here
		}
		for line := range strings.Lines(git(s.T, repo, "log", "--format=%H %(trailers:key=Fika-Offer,valueonly,separator=%x2C)", "fika/landing/main")) {
			hash, offer, _ := strings.Cut(strings.TrimSpace(line), " ")
			if offer == "" {
				continue
			}
			commits++
			of[offer] = append(of[offer], hash[:8]+" on "+h.name)
			for _, name := range strings.Fields(git(s.T, repo, "show", "--format=", "--name-only", hash)) {
				if before := here[name]; before != "" {
					s.bad("doubled: %s is in %.8s and %.8s on %s", name, before, hash, h.name)
				}
				if text := git(s.T, repo, "show", hash+":"+name); strings.Contains(text, "\n") {
					s.bad("doubled: %s is %q", name, text)
				}
				here[name], files[name] = hash, hash
			}
		}
	}
	landed := s.find(`SELECT n || ' ' || reason FROM offers WHERE state = 'landed'`)
	for _, row := range landed {
		offer, reason, _ := strings.Cut(row, " ")
		if want := map[bool]int{false: 1, true: 0}[strings.HasSuffix(reason, "has all of it already")]; len(of[offer]) != want {
			s.bad("offer %s has landed (%s) in the commits %v", offer, reason, of[offer])
		}
		delete(of, offer)
	}
	for offer, hashes := range of {
		s.bad("offer %s has not landed, and is in %v", offer, hashes)
	}
	if len(landed) == len(s.find(`SELECT n || '' FROM offers`)) {
		for _, id := range s.find(`SELECT r.id FROM requests r JOIN entries e ON e.request = r.id AND e.type = 'message' AND e.content = 'offered' WHERE r.id LIKE 'land-%'`) {
			if files[id+".txt"] == "" {
				s.bad("lost: %s was offered, and has not landed", id)
			}
		}
	}
	return commits
}
