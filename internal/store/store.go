package store

import (
	"context"
	"strings"
	"time"
)

// Store is an open database with everything that can be done in it, one type per use.
// Consumers declare the few methods they need. A Store is safe for concurrent use.
type Store struct {
	Agents
	Leases
	Hosts
	Texts
	Workspaces
	Chats
	Transcripts
	Pauses
	Queue
	Requests
	Turns
	Approvals
	Executions
	Flows
	Schedules
	Board
	Offers
	Jobs
	Ledger
	Watch
	Events
	Retention
	Tokens
	Figures
	Webhooks
	db *db
}

// Now returns the present time of the database, by which rows are stamped and everything in them
// that ends is judged, as closely as it is known without asking. It is the same for all hosts,
// however wrong the clock of this one is.
func (s *Store) Now() time.Time { return at(s.db.nowMS()) }

// The types per use share the database.
type (
	// Agents keeps the agents that exist.
	Agents struct{ *db }
	// Leases decides, together with the folder's flock, who owns an agent.
	Leases struct{ *db }
	// Chats keeps conversations and their participants.
	Chats struct{ *db }
	// Transcripts keeps the entries of conversations: it reads, appends and finds
	// them.
	Transcripts struct{ *db }
	// Pauses pauses, resumes and stops conversations.
	Pauses struct{ *db }
	// Queue keeps work, from acceptance to the claim.
	Queue struct{ *db }
	// Requests reads requests and changes them from outside their turn.
	Requests struct{ *db }
	// Turns is the only way for a turn to write steps, results and outcomes.
	Turns struct{ *db }
	// Flows keeps runs of workflows: it stores what [workflow.NextPlan] works out,
	// and begins the work.
	Flows struct{ *db }
	// Schedules keeps the state of the schedules that settings define, and begins
	// what is due.
	Schedules struct{ *db }
	// Ledger reads how much of their limits chains and agents have used.
	//
	// An agent whose hour is used up has that in its row (fika.Agent.HeldUntil and
	// HeldReason): read the row to say why its work waits.
	Ledger struct{ *db }
	// Watch reads the work under way, from outside.
	Watch struct{ *db }
)

func newStore(d *db) *Store {
	return &Store{
		Agents: Agents{d}, Leases: Leases{d}, Hosts: Hosts{d}, Workspaces: Workspaces{d}, Texts: Texts{d}, Chats: Chats{d}, Transcripts: Transcripts{d}, Pauses: Pauses{d},
		Queue: Queue{d}, Requests: Requests{d}, Turns: Turns{d}, Approvals: Approvals{d}, Executions: Executions{d}, Flows: Flows{d}, Schedules: Schedules{d}, Board: Board{d}, Offers: Offers{d}, Jobs: Jobs{d}, Ledger: Ledger{d}, Watch: Watch{d}, Events: Events{d}, Retention: Retention{d}, Tokens: Tokens{d}, Figures: Figures{d}, Webhooks: Webhooks{d}, db: d,
	}
}

// Distant reports whether the database is on a server, which other machines may use.
func (s *Store) Distant() bool { return s.db.file == nil }

// Meta describes a store.
type Meta struct {
	StoreID string
	Schema  int64
	Engine  string // "sqlite 3.54.1", "postgresql 15.18"
	Path    string // file or URL without secrets
	Sync    string // how commits reach the disk
	Bytes   int64  // size of a server's schema; 0 for a file
	// The rest is set for a server only.
	Latency        time.Duration // all connections to it, not only this process's
	Connections    int           // to it, everybody's
	MaxConnections int
	NoWrites       string // why it takes no writes, and what helps; empty: it takes them
}

// Meta returns a description of the database.
func (s *Store) Meta(ctx context.Context) (Meta, error) {
	const op = "read store"
	m := Meta{Schema: s.db.version, Engine: s.db.engine, Path: s.db.name()}
	id, _, err := one(ctx, s.db.r, scanText, selectStoreID)
	m.StoreID = strings.TrimSpace(id)
	if err != nil {
		return m, s.db.explain(op, err)
	}
	if s.db.file != nil {
		m.Sync = "synchronous=FULL, WAL"
		return m, nil
	}
	began := time.Now()
	_, _, err = one(ctx, s.db.r, scanInt, `SELECT 1`)
	m.Latency = time.Since(began)
	if err == nil {
		var w writable
		_, _, err = one(ctx, s.db.r, func(sc scanner) (bool, error) {
			return true, sc.Scan(append([]any{&m.Sync, &m.Bytes, &m.Connections, &m.MaxConnections}, w.columns()...)...)
		}, describeServer)
		m.NoWrites = w.trouble()
	}
	return m, s.db.explain(op, err)
}

const describeServer = `SELECT 'fsync=' || current_setting('fsync') || ', synchronous_commit=' || current_setting('synchronous_commit')
  || ', full_page_writes=' || current_setting('full_page_writes'),
(SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace),
(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::bigint, ` + readWritable

// OnEvents has ring called after each commit that wrote events, by the goroutine that
// committed: it must not wait. Only the last function given is called.
func (s *Store) OnEvents(ring func()) { s.db.bell.Store(&ring) }

// Close releases the connections and the lock. Writes that are under way finish
// first; later calls fail. Close may be called again.
func (s *Store) Close() error { return s.db.shut() }
