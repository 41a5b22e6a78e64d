package store

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// NewServerTexts is [NewTexts] for stores on a server.
func NewServerTexts() *texts { return &texts{dialect: &pgDialect{}, all: map[string]bool{}} }

// ListenOnServer makes d record the queries of s, which is on a server, from now on.
func (d *texts) ListenOnServer(s *Store) { s.db.d, s.db.e.(*postgres).d = d, d }

// grown fills the tables as a year of use would, on a small scale, so that the server
// plans by its statistics and not for empty tables.
var grown = [...]string{
	`INSERT INTO agents (id, name, created_at) SELECT 'a' || i, 'agent' || i, i FROM generate_series(1, 40) i`,
	`INSERT INTO conversations (id, name, kind, agent, created_at, updated_at) SELECT 'c' || i, 'chat' || i, CASE WHEN i % 2 = 0 THEN 'chat' ELSE 'ask' END,
CASE WHEN i % 2 = 0 THEN '' ELSE 'a' || i % 40 + 1 END, i, i FROM generate_series(1, 300) i`,
	`INSERT INTO participants (conversation, agent, person, joined_at) SELECT 'c' || i % 300 + 1, 'a' || i / 300 + 1, '', 1 FROM generate_series(0, 2999) i`,
	`INSERT INTO entries (conversation, seq, id, at, sender, recipient, content, type, request, chain, words) SELECT 'c' || i % 300 + 1, i / 300 + 1, 'e' || i, i, 'x', '', 'word' || i % 1000,
CASE i % 3 WHEN 0 THEN 'message' WHEN 1 THEN 'tool_call' ELSE 'tool_result' END, 'r' || i / 4, 'r' || i / 40, to_tsvector('simple', 'word' || i % 1000) FROM generate_series(0, 39999) i`,
	`INSERT INTO chains (root, started_at, conversation) SELECT 'r' || i, i, 'c' || i % 300 + 1 FROM generate_series(0, 3999) i`,
	`INSERT INTO notifications (conversation, seq, agent, chain, depth, state, request, created_at) SELECT 'c' || i % 300 + 1, i / 300 + 1, 'a' || i % 40 + 1, 'r' || i / 10, 0,
CASE WHEN i % 500 = 0 THEN 'pending' ELSE 'done' END, 'r' || i, i FROM generate_series(0, 14999) i`,
	`INSERT INTO requests (id, kind, origin, agent, conversation, chain, state, created_at, finished_at, announced_at) SELECT 'r' || i, CASE WHEN i % 2 = 0 THEN 'notify' ELSE 'ask' END, 'queued',
'a' || i % 40 + 1, 'c' || i % 300 + 1, 'r' || i / 10, CASE WHEN i % 500 = 0 THEN 'queued' WHEN i % 97 = 0 THEN 'failed' ELSE 'done' END, i, CASE WHEN i % 500 = 0 THEN 0 ELSE i END, i FROM generate_series(0, 14999) i`,
	`INSERT INTO agents (id, name, created_at) VALUES ('seldom', 'seldom', 1)`,
	`INSERT INTO requests (id, kind, origin, agent, conversation, chain, state, created_at, finished_at, announced_at)
SELECT 'rs' || i, 'ask', 'queued', 'seldom', 'c1', 'rs' || i, 'done', i, i, i FROM generate_series(1, 20) i`,
	`INSERT INTO steps (request, n, round, kind, state) SELECT 'r' || i / 2, i % 2 + 1, 1, CASE WHEN i % 2 = 0 THEN 'model' ELSE 'tool' END, 'done' FROM generate_series(0, 29999) i`,
	`INSERT INTO usage (request, n, agent, model, input, output, cached, reasoning, cost, at) SELECT 'r' || i, 1, 'a' || i % 40 + 1, 'm', 1, 1, 0, 0, 0, i FROM generate_series(0, 14999) i`,
	`INSERT INTO approvals (request, step, tool, args, bound, state, asked_at, expires_at) SELECT 'r' || i, 1, 'bash', '{}', '', CASE WHEN i % 500 = 0 THEN 'open' ELSE 'yes' END, i, i FROM generate_series(0, 4999) i`,
	`INSERT INTO inputs (id, conversation, agent, sender, writer, content, attachments, ttl, state, created_at) SELECT 'i' || i, 'c' || i % 300 + 1, 'a' || i % 40 + 1, 'x', 'x', '', '', 0,
CASE WHEN i % 500 = 0 THEN 'queued' ELSE 'taken' END, i FROM generate_series(0, 4999) i`,
	`INSERT INTO jobs (id, agent, conversation, request, step, command, description, cwd, profile, taint, log, lease, state, started_at)
SELECT 'j' || i, 'a' || i % 40 + 1, 'c' || i % 300 + 1, 'r', 1, 'x', '', '', '', '', '', '', CASE WHEN i % 500 = 0 THEN 'running' ELSE 'ended' END, i FROM generate_series(0, 4999) i`,
	`INSERT INTO guest_sessions (agent, conversation, program, session, seen_seq, upto_seq, request, prompt, settled, cost, at)
SELECT 'a' || i / 300 + 1, 'c' || i % 300 + 1, 'p', 's', 0, 0, 'r' || i, '', 1, 0, i FROM generate_series(0, 2999) i`,
	`INSERT INTO writers (id, op, at) SELECT 'w' || i, 1, i FROM generate_series(0, 4999) i`,
	`INSERT INTO conversations (id, name, kind, created_at, updated_at) SELECT 'f' || i, 'flow' || i, 'task', i, i FROM generate_series(1, 3000) i`,
	`INSERT INTO flow_runs (id, request, conversation, name, definition, inputs, begun_at, ended_at) SELECT 'run' || i, 'fr' || i, 'f' || i, 'w', '{}', '{}', i, i FROM generate_series(1, 3000) i`,
	`INSERT INTO budgets (owner, per, begins, scope, money, tokens) SELECT CASE i % 3 WHEN 0 THEN 'home:h' WHEN 1 THEN 'chain:r' || i ELSE 'agent:a' || i % 40 END,
'hour', i, CASE i % 3 WHEN 0 THEN 'home' WHEN 1 THEN 'chain' ELSE 'agent:agent' || i % 40 END, i, i FROM generate_series(0, 8999) i`,
	`INSERT INTO events (at, kind, conversation, request, chain, agent, seq, state, data) SELECT i, 'entry', 'c' || i % 300 + 1, '', '', '', i / 300 + 1, 'message', '' FROM generate_series(0, 39999) i`,
	`INSERT INTO keys (id, verb, body_hash, results, at) SELECT 'k' || i, 'v', '', '[]', i FROM generate_series(0, 9999) i`,
	`INSERT INTO tasks (n, title, body, state, priority, worker, created_by, writer, chain, parent, created_at, updated_at, ended_at) SELECT i, 't', 'b',
CASE WHEN i % 500 = 0 THEN 'open' WHEN i % 499 = 0 THEN 'claimed' ELSE 'done' END, 2, 'a' || i % 40 + 1, 'x', 'human', 'c' || i / 10, i / 20, i, i, CASE WHEN i % 500 = 0 OR i % 499 = 0 THEN 0 ELSE i END FROM generate_series(1, 10000) i`,
	`INSERT INTO task_needs (task, needs) SELECT i, i - 1 FROM generate_series(2, 10000) i`,
	`INSERT INTO task_log (task, n, at, who, what, text) SELECT i / 3 + 1, i % 3 + 1, i, 'x', 'added', '' FROM generate_series(0, 29999) i`,
	`INSERT INTO offers (n, source, agent, request, tip, target, created_by, state, created_at, updated_at, ended_at) SELECT i, 's', 'agent' || i % 400, 'r' || i, 't' || i, 'main', 'x',
CASE WHEN i % 500 = 0 THEN 'waiting' ELSE 'landed' END, i, i, CASE WHEN i % 500 = 0 THEN 0 ELSE i END FROM generate_series(1, 10000) i`,
	`UPDATE conversations SET messages = 134`,
	`ANALYZE`,
}

// step is a node of a plan.
type step struct {
	Type  string `json:"Node Type"`
	Table string `json:"Relation Name"`
	Index string `json:"Index Name"`
	Cond  string `json:"Index Cond"`
	Plans []step
}

// scans calls fn with each step that finds rows of a table.
func (s step) scans(fn func(step)) {
	if strings.HasSuffix(s.Type, "Scan") && (s.Index != "" || s.Type == "Seq Scan") {
		fn(s)
	}
	for _, p := range s.Plans {
		p.scans(fn)
	}
}

func (s step) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", s.Type, s.Table, s.Index, s.Cond))
}

var (
	// small matches tables that stay small, and indexes that hold few rows.
	small = regexp.MustCompile(`^(agents|agent_defs|moves|workspaces|hosts|duties|on_demand|bindings|schedules|executors|executions|conversations|brakes|meta|parked|reservations|tokens|figures|places|webhooks|deliveries|board_waits|texts|text_conflicts|requests_(active|busy|children|deadline|unannounced)|notifications_(pending|live|dropped)|approvals_open|inputs_queued|jobs_running|offers_going|tasks_(open|going|listed|claimed)|conversations_\w+|agents_\w+|brakes_\w+)$`)
	// broad matches conditions that every row of a conversation, or of an agent,
	// fulfils.
	broad = regexp.MustCompile(`^\((\w+\.)?\(?(conversation|agent)\)? = [^()]*\)$`)
	// byOwner matches the indexes in which such rows are many.
	byOwner = regexp.MustCompile(`^(entries_conversation_(seq|id)_key|notifications_conversation_seq_agent_key|requests_conversation|requests_agent|usage_agent)$`)
)

// wide reports whether a step reads the whole of a growing table or of a
// conversation, or everything that an agent ever did.
func (s step) wide() bool {
	switch {
	case small.MatchString(s.Table) || small.MatchString(s.Index):
		return false
	case s.Cond == "":
		return true
	}
	return byOwner.MatchString(s.Index) && broad.MatchString(s.Cond)
}

// serverWalks lists the texts that may be wide on a server that does not know their
// arguments, and why. Those with args are planned for their arguments, and are not
// wide with these.
var serverWalks = []struct{ text, step, why, args string }{
	{"SELECT 'a token' FROM tokens", "participants", "a person makes a token, seldom, and participants are few", ""},
	{"DELETE FROM participants WHERE agent", "participants", "agents are deleted by hand, and seldom, and participants are few", ""},
	{"UPDATE flow_steps AS s SET", "flow_steps", "agents and chats are deleted by hand, and seldom", ""},
	{"UPDATE flow_steps AS s SET", "requests", "the same", ""},
	{"FROM participants p WHERE p.conversation = c.id AND p.agent", "participants", "read once for all conversations: participants are few", ""},
	{"c.messages = 0", "(conversation = c.id)", "of a chat that has no messages", ""},
	{"SELECT depth FROM entries", "(conversation = $1)", "for a person who asks why a chat has stopped", ""},
	{"WHERE n.conversation = $1 ORDER BY n.seq, n.id", "(conversation = $1)", "all of them are asked for", ""},
	{"ORDER BY r.n DESC LIMIT 1", "requests_conversation", "the last", ""},
	{"r.state IN ($1,$2) AND r.n IN", "requests_pkey", "those that are open are few", "'queued', 'running', 50"},
	{"WHERE r.agent = $1 ORDER BY r.n DESC LIMIT", "requests_pkey", "backwards, until enough are found, if the agent has many", "'seldom', 50"},
	{"ORDER BY r.n DESC LIMIT", "requests_pkey", "backwards, until enough are found", ""},
	{"INSERT INTO budgets", "requests", "once in a window: what was spent in it before there was the budget", ""},
	{"INSERT INTO budgets", "chains", "the same", ""},
	{"u.at / $1 AS part", "requests", "a report of all that was spent; of what was spent lately it asks for the few", "900000, 9000000000000"},
	{"u.at / $1 AS part", "chains", "the same", "900000, 9000000000000"},
	{"SELECT n FROM events ORDER BY n DESC LIMIT 1", "events_pkey", "the last", ""},
	{"SELECT n, at FROM events ORDER BY n", "events_pkey", "the first thousand, or the last", ""},
	{"SELECT t.state, count(*) FROM tasks t", "tasks", "all are counted", ""},
	{"SELECT COALESCE(max(n), 0) FROM tasks", "tasks_pkey", "the last", ""},
	{"SELECT COALESCE(max(n), 0) FROM offers", "offers", "the last", ""},
	{"ORDER BY j.n DESC LIMIT", "jobs_pkey", "backwards, until enough are found", ""},
	{"DELETE FROM jobs WHERE agent", "jobs_pkey", "backwards, until as many are found as are kept", ""},
	{"FROM pg_locks", "pg_database", "databases are few", ""},
	{"e.words @@", "entries_pkey", "backwards, if the words are in many", "'word7', 4000000000000, 0, '', '', '', '', '', 50"},
}

// ServerPlans is [texts.Plans] for a server with statistics.
func (d *texts) ServerPlans(t *testing.T, opt Options) {
	all := d.statements()
	if len(all) < 100 {
		t.Skipf("only part of the suite ran: %d texts", len(all))
	}
	s := openAt(t, opt)
	c, err := s.db.e.(*postgres).pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	for _, text := range grown {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	for i, text := range all {
		prepare(t, c, i, text)
		for _, found := range wideSteps(t, c, i, nulls(text), "generic") {
			k := slices.IndexFunc(serverWalks, func(w struct{ text, step, why, args string }) bool {
				return strings.Contains(text, w.text) && strings.Contains(found.String(), w.step)
			})
			if k < 0 {
				t.Errorf("%s: %s", found, text)
			} else if args := serverWalks[k].args; args != "" {
				if !strings.HasPrefix(text, byArguments) {
					t.Errorf("does not begin with %s: %s", byArguments, text)
				}
				for _, found := range wideSteps(t, c, i, args, "custom") {
					if strings.Contains(found.String(), serverWalks[k].step) {
						t.Errorf("with %s: %s: %s", args, found, text)
					}
				}
			}
		}
	}
}

// prepare prepares a text on the server, under the name plan and its number.
func prepare(t *testing.T, c *pgxpool.Conn, n int, text string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), fmt.Sprintf("PREPARE plan%d AS %s", n, text), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// nulls returns as many null arguments as a text has.
func nulls(text string) string {
	most := 0
	for _, a := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(text, -1) {
		i, _ := strconv.Atoi(a[1])
		most = max(most, i)
	}
	return strings.TrimSuffix(strings.Repeat("NULL, ", most), ", ")
}

// wideSteps asks the server how it would find the rows of a text, in generic mode
// whatever its arguments, or in custom mode with the given ones, and returns the wide
// steps.
func wideSteps(t *testing.T, c *pgxpool.Conn, n int, args, mode string) (found []step) {
	t.Helper()
	if args != "" {
		args = "(" + args + ")"
	}
	if _, err := c.Exec(t.Context(), `SET plan_cache_mode = force_`+mode+`_plan`); err != nil {
		t.Fatal(err)
	}
	var text string
	if err := c.QueryRow(t.Context(), fmt.Sprintf("EXPLAIN (FORMAT JSON) EXECUTE plan%d%s", n, args), pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var out []struct{ Plan step }
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	for _, p := range out {
		p.Plan.scans(func(s step) {
			if s.wide() {
				found = append(found, s)
			}
		})
	}
	return found
}
