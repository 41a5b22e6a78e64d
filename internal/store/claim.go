package store

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/system/crash"
	"fika/internal/text/hint"
)

// Claimed is a request that now belongs to the claimer, with everything needed to
// begin it. Fence is the claimer's right to write.
type Claimed struct {
	Asked        time.Time // when the claim was made, by this process's clock: from then on, for the length of a lease, the claimer holds the agent
	Fence        Fence
	Request      fika.Request
	Conversation fika.Conversation
	Agent        fika.Agent
	Resumed      bool            // it ran before, so steps may exist
	Waited       fika.WaitReason // why it was suspended until now; empty: it was not
	Covers       int             // number of notifications that it settles
	Prompt       *fika.Entry     // the entry made from the prompt; nil for a notify
	Orphans      []fika.Step     // started steps whose process groups must be ended first
	Noticed      []fika.Entry    // notices that this claim posted because a limit was reached; each names its own conversation
}

const opClaim = "claim"

// Claim takes the next piece of work of the leased agent: asks and runs first, then
// chats, then tasks, oldest first, then what it may take of its pool and of the board. It takes nothing in a paused conversation, nor in
// one where the agent already has a running or waiting request, and nothing at all
// for an agent that a person wants stopped. A waiting request is taken again once its
// reason to wait is over. Claim returns nil if there is nothing to do, and fails with
// Lost if the lease is gone.
//
// Each request that begins is counted in its chain, once. A chain that has reached a
// limit begins no more: its notifications are dropped with the reason "limit", its
// requests fail, and one notice says so where the chain stopped and where it began.
// An agent whose hour is used up begins nothing but goes on with what it had begun:
// its work waits, one notice an hour says so in each conversation, and the agent's
// row says until when.
//
// worked reports whether the caller is working a request. A request that runs with
// this lease but is not being worked comes before everything else: the answer to its
// claim was lost. If worked is nil, every running request counts as being worked.
func (s Queue) Claim(ctx context.Context, l Lease, limits Limits, worked func(fika.RequestID) bool) (*Claimed, error) {
	// Claim is called every few seconds, mostly in vain; looking takes no locks.
	if idle, err := s.looksIdle(ctx, l, limits, orAll(worked)); err != nil || idle {
		return nil, s.explain(opClaim, err)
	}
	return s.ClaimNow(ctx, l, limits, worked)
}

// ClaimNow is [Queue.Claim] for a process that has just been told about work, and
// therefore does not check first whether there is any.
func (s Queue) ClaimNow(ctx context.Context, l Lease, limits Limits, worked func(fika.RequestID) bool) (*Claimed, error) {
	worked = orAll(worked)
	asked := time.Now()
	var out *Claimed
	var origin fika.ConversationID
	err := s.writeWith(ctx, opClaim, durable, func(ctx context.Context, t *tx) error {
		out = nil
		k := claim{tx: t, limits: limits, origin: &origin}
		var err error
		var running []fika.RequestID
		if k.agent, err = t.leased(ctx, opClaim, l, append(k.guess(l), runningWith(l, &running))...); err != nil {
			return err
		}
		if k.agent.allPaused || k.agent.Desired.Stopped() || k.agent.idle(limits.Board != nil) {
			t.discard = true
			return nil
		}
		if out, err = k.takeUnworked(ctx, running, worked); err == nil && out == nil {
			out, err = k.nextWithinQuota(ctx)
		}
		t.discard = out == nil && !k.wrote
		return err
	})
	if err != nil || out == nil {
		return nil, err
	}
	out.Asked = asked
	return out, nil
}

// orAll returns worked, or, if that is nil, a function that reports true for every
// request.
func orAll(worked func(fika.RequestID) bool) func(fika.RequestID) bool {
	if worked != nil {
		return worked
	}
	return func(fika.RequestID) bool { return true }
}

// looksIdle reports, without a transaction, whether there is nothing to claim.
func (s Queue) looksIdle(ctx context.Context, l Lease, limits Limits, worked func(fika.RequestID) bool) (bool, error) {
	var a owned
	var running []fika.RequestID
	found := false
	list := []statement{first(&a, &found, scanOwned, selectOwned, l.Agent, l.Epoch, l.ID)}
	if s.file == nil {
		list = append(list, runningWith(l, &running))
	}
	err := s.r.run(ctx, list...)
	if err == nil && a.requests && s.file != nil {
		err = s.r.run(ctx, runningWith(l, &running))
	}
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, lostLease(opClaim, l)
	case a.allPaused || a.Desired.Stopped() || a.idle(limits.Board != nil):
		return true, nil
	case !a.HeldUntil.IsZero():
		return false, nil
	case a.pending && !a.requests: // such a notification can almost always be claimed
		return false, nil
	case slices.ContainsFunc(running, func(id fika.RequestID) bool { return !worked(id) }):
		return false, nil
	}
	_, any, err := s.seek(ctx, s.r, a, s.nowMS())
	if err == nil && !any {
		any, err = s.anyPooled(ctx, a)
	}
	if err == nil && !any {
		any, err = s.anyTask(ctx, a, limits.Board)
	}
	return !any, err
}

// idle reports whether there is nothing that needs a closer look, by an agent that takes
// tasks of the board or does not.
func (o owned) idle(board bool) bool {
	return !o.requests && !o.pending && o.HeldUntil.IsZero() && !(board && o.tasks)
}

// claim is one search for work.
type claim struct {
	*tx
	agent   owned // as it was when the search began
	limits  Limits
	noticed []fika.Entry
	wrote   bool
	// origin is the conversation to lock before any chain, because the last try
	// reached the limit of a chain that began there.
	origin  *fika.ConversationID
	guessed guess
	atOnce  bool // a refusal is an error, and nothing waits
	busy    bool // a budget has no room until calls under way are done
}

// next takes the first piece of work that no limit forbids. It disposes of forbidden
// work and goes on searching.
func (k *claim) next(ctx context.Context) (*Claimed, error) {
	for {
		c, found, err := k.search(ctx)
		if err == nil && !found {
			if found, err = k.takePooled(ctx); err == nil && found {
				c, found, err = k.search(ctx)
			}
		}
		if err == nil && !found {
			return k.takeTask(ctx)
		}
		if err != nil {
			return nil, err
		}
		var out *Claimed
		if c.class == classBatch {
			out, err = k.batch(ctx, fika.ConversationID(c.id))
		} else {
			out, err = k.take(ctx, fika.RequestID(c.id))
		}
		if err != nil {
			return nil, err
		}
		if out != nil {
			out.Noticed = k.noticed
			return out, nil
		}
		if k.busy {
			return nil, nil
		}
		k.wrote = true
	}
}

// take makes a request running. It returns nil if the limit of its chain ended the
// request, or a budget has no room for it.
func (k *claim) take(ctx context.Context, id fika.RequestID) (*Claimed, error) {
	var r fika.Request
	var c fika.Conversation
	var ch chainRow
	var covers int64
	ok, there := false, false
	if err := k.lockOrigin(ctx); err != nil {
		return nil, err
	}
	err := k.tx.run(ctx,
		first(&r, &ok, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`+lockRequest, id),
		first(&c, &there, conversationsIn(k.tx).locked, selectConversation+` WHERE c.id = (SELECT r.conversation FROM requests r WHERE r.id = ?)`+lockConversation, id),
		ch.locking(`(SELECT r.chain FROM requests r WHERE r.id = ?)`, id),
		first(&covers, nil, scanInt, `SELECT count(*) FROM notifications WHERE request = ? AND request <> '' AND state = 'claimed'`, id),
	)
	switch {
	case err != nil:
		return nil, err
	case !ok || !there:
		return nil, fika.WithHint(fika.Errorf(fika.NotFound, opClaim, "request %q not found", id), hint.RequestList.With())
	case !r.FinishedAt.IsZero() || r.Agent != k.agent.ID:
		return nil, errAgain // since it was found, it has ended or was given to another agent
	}
	k.workers[r.ID] = r.Agent
	out := &Claimed{Conversation: c, Agent: k.agent.Agent, Resumed: !r.StartedAt.IsZero()}
	if r.State == fika.Waiting {
		out.Waited = fika.WaitReason(r.Reason)
	}
	if r.UptoSeq == 0 {
		name, err := k.chainAllows(c, ch, r.Depth, r.Chain == r.ID)
		if err != nil {
			return nil, err
		}
		if name != "" {
			return nil, k.refuse(ctx, r, c, name)
		}
	}
	granted, err := k.grantFor(ctx, r, c)
	if err != nil || granted == nil {
		return nil, err
	}
	if r.UptoSeq == 0 {
		if err := k.enterChain(ctx, c, r.Chain); err != nil {
			return nil, err
		}
		taken, err := k.beginRequest(ctx, &r, out)
		if err != nil {
			return nil, err
		}
		covers += taken
	} else if out.Prompt, err = k.promptOf(ctx, r); err != nil {
		return nil, err
	}
	if err := k.start(ctx, &r); err != nil {
		return nil, err
	}
	if err := accountsIn(k.tx).reserve(ctx, r.ID, *granted); err != nil {
		return nil, err
	}
	out.Conversation.LastSeq = k.lastSeq[c.ID]
	out.Request, out.Covers = r, int(covers)
	out.Fence = k.fence(r)
	return out, nil
}

// beginRequest makes the first claim of a request: the prompt becomes an entry, the
// end of the window is frozen, and the agent's pending notifications up to there are
// covered.
func (k *claim) beginRequest(ctx context.Context, r *fika.Request, out *Claimed) (covers int64, err error) {
	r.UptoSeq = out.Conversation.LastSeq
	if p := r.Payload; r.Kind != fika.NotifyRequest && !p.Continue {
		e := fika.Entry{
			Conversation: r.Conversation, From: p.From, To: string(k.agent.Name), Content: p.Prompt, Type: fika.Message,
			Request: r.ID, Chain: r.Chain, Depth: r.Depth, Meta: fika.EntryMeta{Writer: p.Writer, Taint: fika.Taint{From: r.Taint}, Attachments: p.Attachments},
		}
		if e.From == "" {
			e.From = "user"
		}
		if e.Meta.Writer == "" {
			e.Meta.Writer = fika.ByHuman
		}
		e.Meta.WriterName = e.From
		if err := k.append(ctx, &e); err != nil {
			return 0, err
		}
		r.UptoSeq, out.Prompt = e.Seq, &e
		out.Conversation.UpdatedAt = at(k.now)
	}
	if !k.agent.pending {
		return 0, nil
	}
	return k.exec(ctx, `UPDATE notifications SET state = 'claimed', request = ?
WHERE agent = ? AND conversation = ? AND state = 'pending' AND +seq <= ?`, r.ID, r.Agent, r.Conversation, r.UptoSeq)
}

// promptOf returns the entry that a request's prompt became at its first claim.
func (k *claim) promptOf(ctx context.Context, r fika.Request) (*fika.Entry, error) {
	if r.Kind == fika.NotifyRequest || r.Payload.Continue {
		return nil, nil
	}
	e, ok, err := one(ctx, k.tx, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.seq = ?`, r.Conversation, r.UptoSeq)
	if err != nil || !ok {
		return nil, err
	}
	return &e, nil
}

// fence returns the right to write for a request that carries the claimer's epoch and
// lease.
func (k *claim) fence(r fika.Request) Fence {
	return Fence{Request: r.ID, Agent: r.Agent, Epoch: r.Epoch, Lease: k.agent.lease}
}

// start marks a request running with the claimer's epoch and lease.
func (k *claim) start(ctx context.Context, r *fika.Request) error {
	r.State, r.Reason, r.Epoch, r.Touched = fika.Running, "", k.agent.Epoch, at(k.now)
	r.Attempts++
	if r.StartedAt.IsZero() {
		r.StartedAt = at(k.now)
	}
	// An empty conversation has nothing to freeze; 1 still means "begun".
	r.UptoSeq = max(r.UptoSeq, 1)
	k.tellRequest(*r, EventData{Epoch: r.Epoch})
	return k.put(ctx, `UPDATE requests SET state = 'running', reason = '', owner_epoch = ?, owner_lease = ?, attempts = ?, touched = ?,
started_at = ?, upto_seq = ?, wait_until = 0 WHERE id = ?`, r.Epoch, k.agent.lease, r.Attempts, k.now, ms(r.StartedAt), r.UptoSeq, r.ID)
}

// newestPending selects the newest pending notification of an agent in a
// conversation, the largest depth of its chain and the number of those pending.
const newestPending = `SELECT n.chain, e.sender, (SELECT max(m.depth) FROM notifications m
  WHERE m.agent = n.agent AND m.conversation = n.conversation AND m.state = 'pending' AND m.chain = n.chain),
  (SELECT count(*) FROM notifications m WHERE m.agent = n.agent AND m.conversation = n.conversation AND m.state = 'pending')
FROM notifications n
LEFT JOIN entries e ON e.conversation = n.conversation AND e.seq = n.seq
WHERE n.agent = ? AND n.conversation = ? AND n.state = 'pending' ORDER BY +n.seq DESC LIMIT 1`

// chainOfNewest selects the chain of that notification.
const chainOfNewest = `(SELECT n.chain FROM notifications n WHERE n.agent = ? AND n.conversation = ? AND n.state = 'pending' ORDER BY +n.seq DESC LIMIT 1)`

// batch makes one notify request of all notifications that wait for the agent in a
// conversation. It returns nil if a limit forbids it or a budget has no room.
func (k *claim) batch(ctx context.Context, id fika.ConversationID) (*Claimed, error) {
	var c fika.Conversation
	var n newest
	var ch chainRow
	there, pending := false, false
	if err := k.lockOrigin(ctx); err != nil {
		return nil, err
	}
	// The conversation is locked before its last seq is read: until this is
	// committed, nobody can post in it or be notified.
	var rights []*fika.Rights
	facts := []statement{
		conversationsIn(k.tx).locking(&c, &there, id), first(&n, &pending, scanNewest, newestPending, k.agent.ID, id),
		all(&rights, scanRights, rightsPending, k.agent.ID, id),
	}
	if k.c.distant() {
		facts = append(facts, ch.locking(chainOfNewest, k.agent.ID, id))
	}
	err := k.tx.run(ctx, facts...)
	if err == nil && !k.c.distant() {
		err = k.tx.run(ctx, ch.locking(`?`, n.chain))
	}
	switch {
	case err != nil:
		return nil, err
	case !there || !pending || c.Paused:
		return nil, errAgain // the conversation has changed since it was found
	}
	name, err := k.chainAllows(c, ch, n.depth, false)
	if err != nil {
		return nil, err
	}
	if name != "" {
		return nil, k.dropForLimit(ctx, c, n.chain, name)
	}
	granted, refused, err := k.grantForBatch(ctx, c, n)
	if err != nil || k.busy || refused != nil && !refused.later {
		return nil, err
	}
	if err := k.enterChain(ctx, c, n.chain); err != nil {
		return nil, err
	}
	r, err := k.notifyRequest(ctx, c, n, withinAll(rights))
	if err != nil {
		return nil, err
	}
	mark := `UPDATE notifications SET state = 'claimed', request = ? WHERE agent = ? AND conversation = ? AND state = 'pending' AND +seq <= ?`
	if crash.Without(crash.Claim) {
		mark += ` AND seq < (SELECT last_seq FROM conversations WHERE id = conversation)` // the next look takes it as well
	}
	if err := k.put(ctx, mark, r.ID, k.agent.ID, c.ID, c.LastSeq); err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, k.waitForWindow(ctx, r, c, *refused)
	}
	return &Claimed{
		Fence:   k.fence(r),
		Request: r, Conversation: c, Agent: k.agent.Agent, Covers: n.count,
	}, accountsIn(k.tx).reserve(ctx, r.ID, granted)
}

// newest holds what the newest of a batch of notifications passes on to the turn.
type newest struct {
	chain  fika.RequestID
	sender string
	depth  int // the largest in its chain
	count  int // of all that wait in the conversation
}

func scanNewest(s scanner) (newest, error) {
	var n newest
	var sender *string
	err := s.Scan(&n.chain, &sender, &n.depth, &n.count)
	if sender != nil {
		n.sender = *sender
	}
	return n, err
}

// notifyRequest stores the running request for a batch.
func (k *claim) notifyRequest(ctx context.Context, c fika.Conversation, n newest, rights *fika.Rights) (fika.Request, error) {
	now := at(k.now)
	r := fika.Request{
		ID: fika.RequestID(k.newID()), Kind: fika.NotifyRequest, Origin: fika.Queued, Agent: k.agent.ID, Conversation: c.ID,
		Chain: n.chain, Depth: n.depth, UptoSeq: c.LastSeq, State: fika.Running, Epoch: k.agent.Epoch,
		Attempts: 1, Rights: rights, Touched: now, CreatedAt: now, StartedAt: now,
	}
	bound, err := rightsJSON(opClaim, rights)
	if err != nil {
		return r, err
	}
	k.tellRequest(r, EventData{Epoch: r.Epoch})
	err = k.put(ctx, `INSERT INTO requests (id, kind, origin, agent, conversation, chain, depth, asker, upto_seq, state,
owner_epoch, owner_lease, attempts, rights, touched, created_at, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Kind, r.Origin, r.Agent, r.Conversation, r.Chain, r.Depth, n.sender, r.UptoSeq, r.State,
		r.Epoch, k.agent.lease, r.Attempts, bound, k.now, k.now, k.now)
	return r, err
}

// lockOrigin locks the conversation in which a chain that has reached its limit
// began.
func (k *claim) lockOrigin(ctx context.Context) error {
	if k.origin == nil || *k.origin == "" {
		return nil
	}
	_, err := conversationsIn(k.tx).lock(ctx, *k.origin)
	if fika.IsKind(err, fika.NotFound) {
		return nil // deleted in the meantime
	}
	return err
}
