package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fika"
	"fika/internal/store"
	"fika/internal/store/storetest"
)

// asHost returns the URL of a schema for a host with a role of its own, which is made.
func asHost(t *testing.T, url, host string) string {
	t.Helper()
	open(t, store.Options{URL: url})
	if _, err := store.AddHostRole(t.Context(), store.Options{URL: url}, host, "fika_"+host); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(url, "postgres@", "fika_"+host+"@", 1)
}

// TestPostgresAsHost runs the contract's suite with the role of a host: it may do all that a
// host does.
func TestPostgresAsHost(t *testing.T) {
	servers.URL(t)
	if testing.Short() {
		t.Skip("skipped: it is TestPostgres once more")
	}
	storetest.Test(t, func(t *testing.T, clock *storetest.Clock) *store.Store {
		t.Helper()
		return open(t, store.Options{URL: asHost(t, servers.URL(t), "suite"), Now: clock.Now})
	})
}

// stolenWrites are what a client with the credentials of one host (thief) tries to do to what
// belongs to another (h1). Each is a write that the owner of the tables may make, except for
// those whose name says nobody.
var stolenWrites = []struct{ name, text string }{
	{"say for another host who may ask its agent", `UPDATE agent_defs SET body = '{"callable_by":null}' WHERE agent = 'a1'`},
	{"define an agent of another host as one's own", `UPDATE agent_defs SET host = 'thief' WHERE agent = 'a1'`},
	{"define an agent for a host that has not", `INSERT INTO agent_defs (agent, host, body) VALUES ('a2', 'h1', '{}')`},
	{"take an agent that others may go on with, while its host is up", `UPDATE agents SET home_id = 'thief' WHERE id = 'a5'`},
	{"take an agent of another host", `UPDATE agents SET home_id = 'thief' WHERE id = 'a1'`},
	{"take an agent of a host that is down, whose files are there", `UPDATE agents SET home_id = 'thief' WHERE id = 'a4'`},
	{"give an agent of a host that is down to a third one", `UPDATE agents SET home_id = 'h1' WHERE id = 'a3'`},
	{"rename one that it may take over", `UPDATE agents SET home_id = 'thief', name = 'other' WHERE id = 'a3'`},
	{"rename an agent of another host", `UPDATE agents SET name = 'other' WHERE id = 'a1'`},
	{"make an agent in the name of another host", `INSERT INTO agents (id, name, home_id, created_at) VALUES ('a9', 'a9', 'h1', 1)`},
	{"delete an agent of another host", `DELETE FROM agents WHERE id = 'a1'`},
	{"be another host", `UPDATE hosts SET session = 'mine', site = 'mine' WHERE id = 'h1'`},
	{"make another host one's own", `UPDATE hosts SET by_host = 'fika_thief' WHERE id = 'h1'`},
	{"make a host of another role", `INSERT INTO hosts (id, name, by_host) VALUES ('h9', 'h9', 'fika_h1')`},
	{"forget a host", `DELETE FROM hosts WHERE id = 'h1'`},
	{"change a schedule of another host", `UPDATE schedules SET body = 'other' WHERE name = 'daily'`},
	{"delete a schedule of another host", `DELETE FROM schedules WHERE name = 'daily'`},
	{"give a request more rights (nobody)", `UPDATE requests SET rights = '' WHERE id = 'r1'`},
	{"make a request forget what it has read (nobody)", `UPDATE requests SET taint = '' WHERE id = 'r1'`},
	{"write an entry as another host", `INSERT INTO entries (conversation, seq, id, at, sender, recipient, content, type, by_host) VALUES ('c1', 9, 'e9', 1, 'ann', '', 'x', 'message', 'fika_h1')`},
	{"change what somebody has said", `UPDATE entries SET content = 'other' WHERE id = 'e1'`},
	{"change who has said it", `UPDATE entries SET sender = 'bob' WHERE id = 'e1'`},
	{"change which host has written it", `UPDATE entries SET by_host = 'fika_thief' WHERE id = 'e1'`},
	{"ask as another host", `INSERT INTO requests (id, kind, origin, agent, conversation, chain, state, created_at, by_host) VALUES ('r9', 'ask', 'queued', 'a1', 'c1', 'r9', 'open', 1, 'fika_h1')`},
	{"change what was asked", `UPDATE requests SET payload = '{}' WHERE id = 'r1'`},
	{"change who has asked", `UPDATE requests SET asker = 'bob' WHERE id = 'r1'`},
	{"change which host has made a step", `UPDATE steps SET by_host = 'fika_h1' WHERE request = 'r1'`},
	{"change what a person is asked", `UPDATE approvals SET args = '{}' WHERE step = 1`},
	{"give an approval as another host", `UPDATE approvals SET state = 'given', by_host = 'fika_h1' WHERE step = 1`},
	{"change an answer that was given", `UPDATE approvals SET state = 'given' WHERE step = 2`},
	{"say that the database is of another version", `UPDATE meta SET value = '999' WHERE key = 'schema'`},
	{"say that the database is another", `DELETE FROM meta WHERE key = 'store_id'`},
}

// madeOfTables are changes of the tables themselves.
var madeOfTables = []struct{ name, text string }{
	{"make a table", `CREATE TABLE extra (id TEXT)`},
	{"change a table", `ALTER TABLE requests ADD COLUMN extra TEXT`},
	{"drop a table", `DROP TABLE tasks`},
	{"switch a trigger off", `ALTER TABLE requests DISABLE TRIGGER guard`},
	{"replace a trigger's function", `CREATE OR REPLACE FUNCTION fika_guard() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`},
	{"act as a replica, which fires no trigger", `SET session_replication_role = replica`},
	{"be another role", `SET SESSION AUTHORIZATION fika_h1`},
	{"remove a trigger", `DROP TRIGGER guard ON requests`},
}

// stolenQueue are what such a client can do: see the list in docs/guides/machines.md. what
// selects the role that the row names as its author afterwards.
var stolenQueue = []struct{ name, text, what string }{
	{"read everything", `SELECT content FROM entries WHERE id = 'e1'`, ""},
	{"ask an agent of another host", `INSERT INTO requests (id, kind, origin, agent, conversation, chain, state, created_at) VALUES ('r9', 'ask', 'queued', 'a1', 'c1', 'r9', 'open', 1)`, `SELECT by_host FROM requests WHERE id = 'r9'`},
	{"say something as anybody", `INSERT INTO entries (conversation, seq, id, at, sender, recipient, content, type) VALUES ('c1', 9, 'e9', 1, 'ann', '', 'x', 'message')`, `SELECT by_host FROM entries WHERE id = 'e9'`},
	{"approve", `UPDATE approvals SET state = 'given', answered_by = 'ann' WHERE step = 1`, `SELECT by_host FROM approvals WHERE step = 1`},
	{"end a request", `UPDATE requests SET state = 'cancelled', finished_at = 1 WHERE id = 'r1'`, ""},
	{"say that a request has read more", `UPDATE requests SET taint = 'a page, another page' WHERE id = 'r1'`, ""},
	{"take the lease of an agent", `UPDATE agents SET owner = 'me', epoch = epoch + 1, lease_until = 9999999999999 WHERE id = 'a1'`, ""},
	{"remove what was said", `DELETE FROM entries WHERE id = 'e1'`, ""},
	{"drain and label a host", `UPDATE hosts SET state = 'drained', labels = 'gpu' WHERE id = 'h1'`, ""},
	{"say where the files of an agent are", `INSERT INTO workspaces (agent, task, host, hash) VALUES ('a1', 0, 'h1', 'other')`, ""},
	{"take over an agent that others may go on with, while its host is down", `UPDATE agents SET home_id = 'thief' WHERE id = 'a3'`, ""},
	{"want an agent elsewhere", `INSERT INTO moves (agent, host, leaves) VALUES ('a1', 'thief', 1)`, ""},
	{"hold all work", `UPDATE meta SET value = '1' WHERE key = 'paused_all'`, ""},
	{"make a token for doors", `INSERT INTO tokens (name, hash, doors, agents, made_by, created_at, expires_at) VALUES ('t', 'h', '', '', 'x', 1, 1)`, ""},
	{"change figures of budgets", `UPDATE budgets SET money = 0`, ""},
}

// TestStolenHost: a client with the credentials of one host cannot change the definitions,
// the rights or the authorship of others' rows, nor the tables; it can write the queue, and
// each row names its role. With one role for all hosts nothing but the rights is kept.
func TestStolenHost(t *testing.T) {
	url := servers.URL(t)
	ctx := t.Context()
	h1 := openFrom(t, store.Options{URL: asHost(t, url, "h1")}, "h1", "disk")
	thief := openFrom(t, store.Options{URL: asHost(t, url, "thief")}, "thief", "disk")
	for _, s := range []*store.Store{h1, thief} {
		home := "h1"
		if s == thief {
			home = "thief"
		}
		if _, _, err := s.EnterHost(ctx, store.Site{Home: home, Copy: "disk"}, home, "v1", store.HostBus{}, time.Minute, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h1.Do(ctx, `INSERT INTO agents (id, name, home_id, created_at) VALUES ('a1', 'a1', 'h1', 1), ('a2', 'a2', 'h1', 1), ('a5', 'a5', 'h1', 1)`,
		`INSERT INTO agent_defs (agent, host, body) VALUES ('a1', 'h1', '{}')`,
		`INSERT INTO agent_defs (agent, host, body) VALUES ('a5', 'h1', '{"workspace_on":"git"}')`,
		`INSERT INTO conversations (id, name, kind, agent, last_seq, created_at, updated_at) VALUES ('c1', 'room', 'chat', '', 1, 1, 1)`,
		`INSERT INTO entries (conversation, seq, id, at, sender, recipient, content, type) VALUES ('c1', 1, 'e1', 1, 'ann', '', 'said', 'message')`,
		`INSERT INTO requests (id, kind, origin, agent, conversation, chain, state, created_at, rights, taint, asker) VALUES ('r1', 'ask', 'queued', 'a1', 'c1', 'r1', 'waiting', 1, '{"tools":[]}', 'a page', 'ann')`,
		`INSERT INTO steps (request, n, round, kind, state) VALUES ('r1', 1, 1, 'tool', 'planned')`,
		`INSERT INTO approvals (request, step, tool, args, bound, state, asked_at, expires_at) VALUES ('r1', 1, 'bash', '{"a":1}', '', 'open', 1, 9999999999999), ('r1', 2, 'bash', '{}', '', 'refused', 1, 1)`,
		`INSERT INTO schedules (name, home, timing, body, next_at) VALUES ('daily', 'h1', 'x', 'y', 1)`); err != nil {
		t.Fatal(err)
	}
	h2 := openFrom(t, store.Options{URL: asHost(t, url, "h2")}, "h2", "disk")
	down, _, err := h2.EnterHost(ctx, store.Site{Home: "h2", Copy: "disk"}, "h2", "v1", store.HostBus{}, time.Minute, time.Time{})
	if err == nil {
		err = h2.Do(ctx, `INSERT INTO agents (id, name, home_id, created_at) VALUES ('a3', 'a3', 'h2', 1), ('a4', 'a4', 'h2', 1)`,
			`INSERT INTO agent_defs (agent, host, body) VALUES ('a3', 'h2', '{"workspace_on":"git"}'), ('a4', 'h2', '{"workspace_on":""}')`)
	}
	if err == nil {
		err = h2.LeaveHost(ctx, down)
	}
	if err != nil {
		t.Fatal(err)
	}
	try := func(as, text, what string) (author string, err error) {
		t.Helper()
		c, err := pgx.Connect(ctx, strings.Replace(url, "postgres@", as+"@", 1))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		tx, err := c.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(ctx) }()
		if _, err = tx.Exec(ctx, text); err == nil && what != "" {
			err = tx.QueryRow(ctx, what).Scan(&author)
		}
		return author, err
	}
	for _, w := range stolenWrites {
		var said *pgconn.PgError
		if _, err := try("fika_thief", w.text, ""); !errors.As(err, &said) || said.Code != "42501" {
			t.Errorf("a stolen host can %s: %v", w.name, err)
		}
		if _, err := try("postgres", w.text, ""); (err != nil) != strings.Contains(w.name, "nobody") {
			t.Errorf("the owner of the tables, to %s: %v", w.name, err)
		}
	}
	for _, w := range madeOfTables {
		var said *pgconn.PgError
		if _, err := try("fika_thief", w.text, ""); !errors.As(err, &said) || said.Code != "42501" {
			t.Errorf("a stolen host can %s: %v", w.name, err)
		}
	}
	for _, w := range stolenQueue {
		author, err := try("fika_thief", w.text, w.what)
		if err != nil || w.what != "" && author != "fika_thief" {
			t.Errorf("a stolen host, to %s: author %q, %v", w.name, author, err)
		}
	}

	if _, err := thief.AnswerApproval(ctx, 1, store.ApprovalAnswer{Allow: true, By: "ann"}); err != nil {
		t.Error(err)
	}
	if a, err := h1.Approval(ctx, 1); err != nil || a.Answerer() != "ann (on thief)" {
		t.Errorf("the approval was given by %q, %v", a.Answerer(), err)
	}
	owner := open(t, store.Options{URL: url})
	if err := owner.ForgetHost(ctx, "thief", false); !fika.IsKind(err, fika.Locked) {
		t.Errorf("a host that is up is forgotten: %v", err)
	}
	if err := h1.ForgetHost(ctx, "thief", true); !fika.IsKind(err, fika.Denied) {
		t.Errorf("a host locks another out: %v", err)
	}
	if err := owner.ForgetHost(ctx, "thief", true); err != nil {
		t.Error(err)
	}
	if _, err := pgx.Connect(ctx, strings.Replace(url, "postgres@", "fika_thief@", 1)); err == nil || !strings.Contains(err.Error(), "not permitted to log in") {
		t.Errorf("the forgotten host logs in: %v", err)
	}
	if n, err := servers.Server(t).Number(ctx, `SELECT count(*) FROM pg_stat_activity WHERE usename = 'fika_thief'`); err != nil || n != 0 {
		t.Errorf("%d connections of the forgotten host are left, %v", n, err)
	}
}
