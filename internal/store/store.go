package store

import (
	"context"
	"strings"
	"time"
)

// Store is an open database, with everything that can be done in it: a type
// per use. Consumers declare the few methods they need. Safe for concurrent use.
type Store struct {
	Agents
	Leases
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
	Ledger
	Watch
	db *db
}

// The types per use share the database.
type (
	// Agents keeps who exists.
	Agents struct{ *db }
	// Leases decides, with the folder's flock, who owns an agent.
	Leases struct{ *db }
	// Chats keeps conversations and who takes part in them.
	Chats struct{ *db }
	// Transcripts keeps what was said: it reads, appends and finds entries.
	Transcripts struct{ *db }
	// Pauses pauses, resumes and stops conversations.
	Pauses struct{ *db }
	// Queue is work, from acceptance to the claim.
	Queue struct{ *db }
	// Requests reads requests and changes them from outside their turn.
	Requests struct{ *db }
	// Turns is the only way to write steps, results and outcomes.
	Turns struct{ *db }
	// Flows keeps runs of workflows: what [workflow.NextPlan] works out is stored and
	// begun here.
	Flows struct{ *db }
	// Schedules keeps what was done about the schedules that settings define, and
	// begins what is due.
	Schedules struct{ *db }
	// Ledger tells how much of their limits chains and agents have used.
	//
	// That an agent's hour is used up stands in its row (fika.Agent.HeldUntil
	// and HeldReason): whoever wants to say why its work waits reads that.
	Ledger struct{ *db }
	// Watch looks at work from outside.
	Watch struct{ *db }
)

func newStore(d *db) *Store {
	return &Store{
		Agents: Agents{d}, Leases: Leases{d}, Chats: Chats{d}, Transcripts: Transcripts{d}, Pauses: Pauses{d},
		Queue: Queue{d}, Requests: Requests{d}, Turns: Turns{d}, Approvals: Approvals{d}, Executions: Executions{d}, Flows: Flows{d}, Schedules: Schedules{d}, Ledger: Ledger{d}, Watch: Watch{d}, db: d,
	}
}

// Meta is what a store knows of itself.
type Meta struct {
	StoreID string
	Schema  int64
	Engine  string // "sqlite 3.54.1", "postgresql 15.18"
	Path    string // file or URL without secrets
	Sync    string // how commits reach the disk
	Bytes   int64  // what a server's schema takes; 0 for a file
	// Of a server.
	Latency        time.Duration // of one round trip
	Connections    int           // to it, everybody's
	MaxConnections int
}

// Meta tells which database this is.
func (s *Store) Meta(ctx context.Context) (Meta, error) {
	const op = "read store"
	m := Meta{Schema: s.db.version, Engine: s.db.engine, Path: s.db.name()}
	id, _, err := one(ctx, s.db.r, scanText, `SELECT value FROM meta WHERE key = 'store_id'`)
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
		_, _, err = one(ctx, s.db.r, func(sc scanner) (bool, error) {
			return true, sc.Scan(&m.Sync, &m.Bytes, &m.Connections, &m.MaxConnections)
		}, describeServer)
	}
	return m, s.db.explain(op, err)
}

const describeServer = `SELECT 'fsync=' || current_setting('fsync') || ', synchronous_commit=' || current_setting('synchronous_commit')
  || ', full_page_writes=' || current_setting('full_page_writes'),
(SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace),
(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::bigint`

// Close gives connections and lock back. Writes that are under way finish
// first; later calls fail. It may be called again.
func (s *Store) Close() error { return s.db.shut() }
