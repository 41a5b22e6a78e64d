package store

import (
	"encoding/json"
	"time"

	"fika"
)

// Times are stored as Unix milliseconds, the zero time as 0.

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// flag scans a bool, which is a number in one engine and a boolean in the other.
type flag struct{ to *bool }

// Scan implements sql.Scanner.
func (f flag) Scan(v any) error {
	switch v := v.(type) {
	case bool:
		*f.to = v
	case int64:
		*f.to = v != 0
	case nil:
		*f.to = false
	default:
		return fika.Errorf(fika.Storage, "read", "%v (%T) is neither true nor false", v, v)
	}
	return nil
}

func scanText(s scanner) (v string, err error) { err = s.Scan(&v); return v, err }
func scanInt(s scanner) (v int64, err error)   { err = s.Scan(&v); return v, err }

const agentColumns = `a.id, a.name, a.home_id, a.display_name, a.description, a.desired, a.state, a.state_reason,
a.owner, a.epoch, a.lease_until, a.seen_at, a.started_at, a.processed, a.active_ask, a.created_at, a.held_until, a.held_reason, a.pool, a.instances, a.owner_host, a.owner_site`

func scanAgent(s scanner) (fika.Agent, error) { return agentRow(s) }

// agentRow scans an agent, and the columns after it into more.
func agentRow(s scanner, more ...any) (fika.Agent, error) {
	var a fika.Agent
	var lease, seen, started, created, held int64
	dest := []any{&a.ID, &a.Name, &a.HomeID, &a.DisplayName, &a.Description, &a.Desired, &a.State, &a.StateReason,
		&a.Owner, &a.Epoch, &lease, &seen, &started, &a.Processed, &a.ActiveAsk, &created, &held, &a.HeldReason, &a.Pool, &a.Instances, &a.OwnerHost, &a.OwnerSite}
	err := s.Scan(append(dest, more...)...)
	a.LeaseUntil, a.SeenAt, a.StartedAt, a.CreatedAt, a.HeldUntil = at(lease), at(seen), at(started), at(created), at(held)
	return a, err
}

const conversationColumns = `c.id, c.name, c.kind, c.agent, c.status, c.paused, c.last_seq, c.limits, c.run, c.mode, c.archived_to, c.created_at, c.updated_at`

func conversationFields(c *fika.Conversation, created, updated *int64) []any {
	return []any{&c.ID, &c.Name, &c.Kind, &c.Agent, &c.Status, flag{&c.Paused}, &c.LastSeq, chainLimits{&c.Limits}, &c.Run, &c.Mode, &c.ArchivedTo, created, updated}
}

func scanConversation(s scanner) (fika.Conversation, error) {
	var c fika.Conversation
	var created, updated int64
	err := s.Scan(conversationFields(&c, &created, &updated)...)
	c.CreatedAt, c.UpdatedAt = at(created), at(updated)
	return c, err
}

const entryColumns = `e.conversation, e.seq, e.id, e.at, e.sender, e.recipient, e.content, e.type,
e.request, e.reply_to, e.chain, e.depth, e.pinned, e.expires_at, e.metadata`

// entryRow scans an entry, and the columns after it into more.
func entryRow(s scanner, more ...any) (fika.Entry, error) {
	var e fika.Entry
	var when, expires int64
	var meta string
	dest := []any{&e.Conversation, &e.Seq, &e.ID, &when, &e.From, &e.To, &e.Content, &e.Type,
		&e.Request, &e.ReplyTo, &e.Chain, &e.Depth, flag{&e.Pinned}, &expires, &meta}
	if err := s.Scan(append(dest, more...)...); err != nil {
		return e, err
	}
	e.At, e.ExpiresAt = at(when), at(expires)
	if meta != "" {
		if err := json.Unmarshal([]byte(meta), &e.Meta); err != nil {
			return e, fika.Errorf(fika.Storage, "read entry", "%s/%d has metadata that cannot be read: %v", e.Conversation, e.Seq, err)
		}
	}
	return e, nil
}

func scanEntry(s scanner) (fika.Entry, error) { return entryRow(s) }

func scanSize(s scanner) (EntrySize, error) {
	var e EntrySize
	var meta string
	if err := s.Scan(&e.Seq, &e.Type, &e.Request, &e.Content, &e.From, &meta); err != nil || meta == "" {
		return e, err
	}
	var m fika.EntryMeta
	if err := json.Unmarshal([]byte(meta), &m); err != nil {
		return e, fika.Errorf(fika.Storage, "read entry", "entry %d has metadata that cannot be read: %v", e.Seq, err)
	}
	e.Attachments = m.Attachments
	return e, nil
}

const requestColumns = `r.id, r.kind, r.origin, r.agent, r.conversation, r.parent, r.retry_of, r.chain, r.depth,
r.upto_seq, r.state, r.reason, r.owner_epoch, r.cancel_at, r.deadline, r.payload, r.body_hash, r.outcome,
r.attempts, r.touched, r.announced_at, r.created_at, r.started_at, r.finished_at, r.rights, r.passes, r.taint, r.addressed, r.handed, r.task`

// requestRow scans a request, and the columns after it into more.
func requestRow(s scanner, more ...any) (fika.Request, error) {
	var r fika.Request
	var payload, outcome, rights, passes string
	var t [7]int64
	dest := []any{&r.ID, &r.Kind, &r.Origin, &r.Agent, &r.Conversation, &r.Parent, &r.RetryOf, &r.Chain, &r.Depth,
		&r.UptoSeq, &r.State, &r.Reason, &r.Epoch, &t[0], &t[1], &payload, &r.BodyHash, &outcome,
		&r.Attempts, &t[2], &t[3], &t[4], &t[5], &t[6], &rights, &passes, &r.Taint, &r.Addressed, &r.Handed, &r.Task}
	if err := s.Scan(append(dest, more...)...); err != nil {
		return r, err
	}
	r.CancelAt, r.Deadline, r.Touched, r.AnnouncedAt = at(t[0]), at(t[1]), at(t[2]), at(t[3])
	r.CreatedAt, r.StartedAt, r.FinishedAt = at(t[4]), at(t[5]), at(t[6])
	if err := json.Unmarshal([]byte(payload), &r.Payload); err != nil {
		return r, fika.Errorf(fika.Storage, "read request", "%s has a payload that cannot be read: %v", r.ID, err)
	}
	if outcome != "" {
		if err := json.Unmarshal([]byte(outcome), &r.Outcome); err != nil {
			return r, fika.Errorf(fika.Storage, "read request", "%s has an outcome that cannot be read: %v", r.ID, err)
		}
	}
	var err error
	if r.Rights, err = readRights(rights); err == nil {
		r.Passes, err = readRights(passes)
	}
	if err != nil {
		err = fika.Errorf(fika.Storage, "read request", "%s has rights that cannot be read: %v", r.ID, err)
	}
	return r, err
}

func scanRequest(s scanner) (fika.Request, error) { return requestRow(s) }

const stepColumns = `s.request, s.n, s.round, s.kind, s.call_id, s.tool, s.args_hash, s.effect, s.state, s.entry,
s.call_entry, s.blob, s.pre_hash, s.post_hash, s.pid, s.pid_start, s.boot_id, s.started_at, s.finished_at, s.model, s.choice`

func scanStep(s scanner) (fika.Step, error) {
	var st fika.Step
	var blob string
	var started, finished int64
	err := s.Scan(&st.Request, &st.N, &st.Round, &st.Kind, &st.CallID, &st.Tool, &st.ArgsHash, &st.Effect, &st.State, &st.Entry,
		&st.CallEntry, &blob, &st.PreHash, &st.PostHash, &st.Proc.PID, &st.Proc.Start, &st.Proc.BootID, &started, &finished, &st.Model, &st.Choice)
	if blob != "" {
		st.Blob = json.RawMessage(blob)
	}
	st.StartedAt, st.FinishedAt = at(started), at(finished)
	return st, err
}

// toJSON encodes a value of our own types. That cannot fail, except for an opaque raw
// message inside the value.
func toJSON(op string, v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fika.Wrap(fika.Invalid, op, err)
	}
	return string(raw), nil
}

// placeholders returns "?,?,?" for a list of n arguments.
func placeholders(n int) string {
	b := make([]byte, 0, 3*n)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '?')
	}
	return string(b)
}
