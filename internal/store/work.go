package store

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/rights/limit"
)

// Work is an agent that has something to claim now.
type Work struct {
	Agent  fika.AgentName
	ID     fika.AgentID
	Open   int       // number of requests and chats that it can claim
	Oldest time.Time // when the oldest of them was created
}

// idleHere is true if the agent of r has no turn under way in r's conversation.
const idleHere = `NOT EXISTS (SELECT 1 FROM requests b WHERE b.conversation = r.conversation AND b.agent = r.agent
  AND b.finished_at = 0 AND b.state IN ('running', 'waiting'))`

// runGoes is true if nothing holds the run that conversation c is part of.
const runGoes = `(c.run = '' OR EXISTS (SELECT 1 FROM flow_runs f WHERE f.id = c.run AND f.paused_at = 0 AND f.stop = ''))`

// batchable is true if notification r of an agent in conversation c may begin a turn.
const batchable = `r.state = 'pending' AND c.paused = 0 AND ` + runGoes + ` AND ` + idleHere

// claimable is the one condition under which request r of agent a in conversation c
// may be taken; its argument is the present time. A foreground request is taken up
// again only by the process that began it.
const claimable = `r.finished_at = 0 AND c.paused = 0 AND ` + runGoes + ` AND (r.origin = 'queued' OR (r.owner_epoch = a.epoch AND r.owner_lease = a.lease AND r.owner_epoch > 0)) AND (
  (r.state = 'open' AND ` + idleHere + `)
  OR (r.state = 'waiting' AND (r.reason = 'pause' OR (r.wait_until > 0 AND r.wait_until <= ?)
    OR (r.reason = 'approval' AND NOT EXISTS (SELECT 1 FROM approvals p WHERE p.request = r.id AND p.state = 'open'))
    OR (r.reason = 'board' AND NOT EXISTS (SELECT 1 FROM board_waits w JOIN tasks t ON t.n = w.task WHERE w.request = r.id AND ` + tasksGo + `))
    OR (r.reason = 'child' AND NOT EXISTS (SELECT 1 FROM requests k WHERE k.parent = r.id AND k.parent <> '' AND k.finished_at = 0)))
    AND NOT EXISTS (SELECT 1 FROM requests b WHERE b.conversation = r.conversation AND b.agent = r.agent
      AND b.finished_at = 0 AND b.state = 'running')))`

// The classes of work, in order: prompts; batches that were begun before; batches
// (all notifications that wait for the agent in the conversation with the oldest
// pending one); tasks.
const classBatch = 2

const (
	fromRequests = ` FROM requests r JOIN conversations c ON c.id = r.conversation JOIN agents a ON a.id = r.agent WHERE r.agent = ? AND `
	// ofKind compares the kind in a way that keeps the index on kinds from being
	// used: that index lists every request there ever was of a kind, while the one on
	// open requests is short.
	ofKind     = `'' || r.kind = `
	nextPrompt = `SELECT 0 AS class, r.id` + fromRequests + `r.kind IN ('ask', 'run') AND ` + claimable + ` ORDER BY r.n LIMIT 1`
	nextNotify = `SELECT 1, r.id` + fromRequests + ofKind + `'notify' AND ` + claimable + ` ORDER BY r.n LIMIT 1`
	nextBatch  = `SELECT 2, c.id FROM notifications r JOIN conversations c ON c.id = r.conversation
WHERE r.agent = ? AND ` + batchable + ` ORDER BY r.id LIMIT 1`
	nextTask = `SELECT 3, r.id` + fromRequests + ofKind + `'task' AND ` + claimable + ` ORDER BY r.n LIMIT 1`
	// nextWork combines all four into one query, for a server that is far away.
	nextWork = `SELECT * FROM (` + nextPrompt + `) next0 UNION ALL SELECT * FROM (` + nextNotify + `) next1
UNION ALL SELECT * FROM (` + nextBatch + `) next2 UNION ALL SELECT * FROM (` + nextTask + `) next3 ORDER BY 1 LIMIT 1`
	// nextBegun selects the oldest request that has had its first claim and may go
	// on.
	nextBegun = `SELECT 0, r.id` + fromRequests + `r.upto_seq > 0 AND ` + claimable + ` ORDER BY r.n LIMIT 1`
)

// candidate is a piece of work that may be taken: the id of a request, or that of a
// batch's conversation.
type candidate struct {
	class int
	id    string
}

func scanCandidate(s scanner) (c candidate, err error) { err = s.Scan(&c.class, &c.id); return c, err }

// seek returns the oldest piece of work of the first class that has any.
func (s *db) seek(ctx context.Context, q querier, a owned, now int64) (c candidate, found bool, err error) {
	if s.file == nil {
		return one(ctx, q, scanCandidate, nextWork, a.ID, now, a.ID, now, a.ID, a.ID, now)
	}
	for class, text := range []string{nextPrompt, nextNotify, nextBatch, nextTask} {
		args := []any{a.ID, now}
		if class == classBatch {
			args = args[:1]
		}
		if class == classBatch && !a.pending || class != classBatch && !a.requests {
			continue
		}
		if c, found, err = one(ctx, q, scanCandidate, text, args...); err != nil || found {
			return c, found, err
		}
	}
	return c, false, nil
}

// guess holds the answers to what a server is asked together with the lease, using
// the clock as it is known by then, so that the search needs no round trip of its
// own.
type guess struct {
	sought bool // candidate and found answer the first search
	candidate
	found bool
	quota limit.Quota // of no hour if it was not asked for
}

// guess returns the statements that ask a server ahead of time. A file is asked only
// when the answer is needed.
func (k *claim) guess(l Lease) []statement {
	if !k.c.distant() {
		return nil
	}
	now := k.db.nowMS()
	k.guessed = guess{sought: true}
	return append(askQuota(&k.guessed.quota, l.Agent, k.limits, now), first(&k.guessed.candidate, &k.guessed.found, scanCandidate, nextWork,
		l.Agent, now, l.Agent, now, l.Agent, l.Agent, now))
}

// search returns the next piece of work, which may have been asked for already.
func (k *claim) search(ctx context.Context) (candidate, bool, error) {
	if g := k.guessed; g.sought {
		k.guessed.sought = false
		return g.candidate, g.found, nil
	}
	return k.db.seek(ctx, k.tx, k.agent, k.now)
}

// runningWith returns the statement that reads the queued requests running with a
// lease.
func runningWith(l Lease, ids *[]fika.RequestID) statement {
	*ids = nil
	return all(ids, func(s scanner) (id fika.RequestID, err error) { err = s.Scan(&id); return id, err }, selectRunning, l.Agent, l.Epoch, l.ID)
}

const selectRunning = `SELECT r.id FROM requests r WHERE r.agent = ? AND r.finished_at = 0 AND r.state = 'running'
AND r.owner_epoch = ? AND r.owner_lease = ? AND r.origin = 'queued' ORDER BY r.n`

// takeUnworked takes up again a request that runs with this lease but is not being
// worked, as the next owner would.
func (k *claim) takeUnworked(ctx context.Context, running []fika.RequestID, worked func(fika.RequestID) bool) (*Claimed, error) {
	for _, id := range running {
		if worked(id) {
			continue
		}
		var r Recovery
		if err := k.recover(ctx, turn{id: id}, &r); err != nil {
			return nil, err
		}
		k.wrote = true
		if len(r.Claimed) > 0 {
			r.Claimed[0].Orphans = r.Orphans
			return &r.Claimed[0], nil
		}
	}
	return nil, nil
}

const (
	workRequests = `SELECT a.id, a.name, count(*), min(r.created_at) FROM requests r
JOIN conversations c ON c.id = r.conversation JOIN agents a ON a.id = r.agent
WHERE ` + claimable + ` AND r.origin = 'queued' AND (r.upto_seq > 0 OR a.held_until NOT BETWEEN ? AND ?) GROUP BY a.id, a.name`
	workBatches = `SELECT a.id, a.name, count(DISTINCT r.conversation), min(r.created_at) FROM notifications r
JOIN conversations c ON c.id = r.conversation JOIN agents a ON a.id = r.agent
WHERE r.` + live + ` AND ` + batchable + ` AND a.held_until NOT BETWEEN ? AND ? GROUP BY a.id, a.name`
)

// WithWork lists the agents that have something to claim. It leaves out those whose
// hour is used up ([fika.Agent.QuotaUsedUp]), unless they can go on with work that they
// began.
func (s Queue) WithWork(ctx context.Context) ([]Work, error) {
	w, err := s.withWork(ctx, s.r, "")
	return w, s.explain("look for work", err)
}

// withWork is [Queue.WithWork] for one conversation, or for all.
func (s *db) withWork(ctx context.Context, q querier, only fika.ConversationID) ([]Work, error) {
	if all, err := allPaused(ctx, q); err != nil || all {
		return nil, err
	}
	requests, batches, args := workRequests, workBatches, []any{}
	if only != "" {
		requests, batches = narrowed(requests), narrowed(batches)
		args = append(args, only)
	}
	scan := func(sc scanner) (Work, error) {
		var w Work
		var oldest int64
		err := sc.Scan(&w.ID, &w.Agent, &w.Open, &oldest)
		w.Oldest = at(oldest)
		return w, err
	}
	now := s.nowMS()
	held := []any{now + 1, now + hour} // beyond that, the clock was set back
	all, err := many(ctx, q, scan, requests, slices.Concat(args, []any{now}, held)...)
	if err != nil {
		return nil, err
	}
	more, err := many(ctx, q, scan, batches, slices.Concat(args, held)...)
	if err != nil {
		return nil, err
	}
	return mergeWork(all, more), nil
}

// mergeWork merges two lists, adding up the entries of the same agent.
func mergeWork(all, more []Work) []Work {
	index := make(map[fika.AgentID]int, len(all))
	for i, w := range all {
		index[w.ID] = i
	}
	for _, w := range more {
		i, ok := index[w.ID]
		if !ok {
			all = append(all, w)
			continue
		}
		all[i].Open += w.Open
		if w.Oldest.Before(all[i].Oldest) {
			all[i].Oldest = w.Oldest
		}
	}
	return all
}
