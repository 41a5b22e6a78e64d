package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fika"
)

// keysKept is how long a key is known.
const keysKept = 30 * 24 * time.Hour

// Key makes a write happen once, however often its caller repeats it. Kind, Name and
// Door say who asks, as the door found out; Text is the key as the caller gave it, and
// means nothing to anybody else. The same key with another Verb or Body is refused.
type Key struct {
	Kind, Name, Door, Text string
	Verb                   string
	Body                   []byte // of what is asked for; only its digest is stored
}

// ErrKeyReused is in the chain of a Conflict error that means that the caller has used
// the key for something else.
var ErrKeyReused = errors.New("key reused")

// Repeated is in the chain of the Conflict error of a write whose key is known: nothing
// was written, because it was done before. Results is what was done then, in order: read
// the rows again for what has become of them.
type Repeated struct{ Results []Result }

// Result is a row that a write with a key has made or changed.
type Result struct {
	Kind         EventKind           `json:"kind"`
	Conversation fika.ConversationID `json:"conversation,omitempty"`
	Request      fika.RequestID      `json:"request,omitempty"`
	Agent        fika.AgentID        `json:"agent,omitempty"`
	Seq          int64               `json:"seq,omitempty"`
	Entry        fika.EntryID        `json:"entry,omitempty"`
	Run          fika.RequestID      `json:"run,omitempty"`
}

func (*Repeated) Error() string { return "done before" }

// First returns the first result of a kind; the second result is false if there is none.
func (r *Repeated) First(kind EventKind) (Result, bool) {
	for _, one := range r.Results {
		if one.Kind == kind {
			return one, true
		}
	}
	return Result{}, false
}

// maxResults bounds what is kept of a write that changes many rows.
const maxResults = 64

// Once returns a store for one call of one method that changes something: its
// transaction is kept under k for 30 days. If the call returns nil, it was done now. If
// its error has a [*Repeated] in its chain, it was done before, by this process or
// another, with these results; nothing is done again. Of two calls at once one waits for
// the other. A call that fails or that changes nothing is not kept, and may be repeated
// with the same key.
//
//	c, err := s.Once(key).CreateChat(ctx, name)
//	if done := (*store.Repeated)(nil); errors.As(err, &done) {
//		first, _ := done.First(store.ConversationEvent)
//		c, err = s.ConversationByID(ctx, first.Conversation)
//	}
//
// Only the first durable transaction of the returned store is kept: a method that needs
// several (an import) cannot be made repeatable like this. The returned store is not safe
// for concurrent use and is not closed.
func (s *Store) Once(k Key) *Store {
	d := &db{database: s.db.database}
	d.key.Store(&k)
	return newStore(d)
}

// id identifies a key: no two principals, and no two doors, share one.
func (k Key) id() string {
	h := sha256.New()
	for _, part := range []string{k.Kind, k.Name, k.Door, k.Text} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (k Key) bodyHash() string {
	sum := sha256.Sum256(k.Body)
	return hex.EncodeToString(sum[:])
}

// once reserves the transaction's key, ahead of all locks. It fails with what an earlier
// transaction has kept under it, and waits for one that is about to.
func (t *tx) once(ctx context.Context) error {
	k := t.op.key
	type kept struct{ verb, body, results string }
	row, _, err := one(ctx, t, func(s scanner) (r kept, err error) { return r, s.Scan(&r.verb, &r.body, &r.results) },
		`INSERT INTO keys (id, verb, body_hash, results, at) VALUES (?, ?, ?, '', ?)
ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING verb, body_hash, results`, k.id(), k.Verb, k.bodyHash(), t.db.nowMS())
	switch {
	case err != nil || row.results == "":
		return err
	case row.verb != k.Verb || row.body != k.bodyHash():
		return &fika.Error{Kind: fika.Conflict, Op: t.op.name, Msg: "this key was used for something else: use a new one for each thing that is asked for", Err: ErrKeyReused}
	}
	done := &Repeated{}
	if err := json.Unmarshal([]byte(row.results), &done.Results); err != nil {
		return fika.Errorf(fika.Storage, t.op.name, "a key has results that cannot be read: %v", err)
	}
	return &fika.Error{Kind: fika.Conflict, Op: t.op.name, Err: done}
}

// keep returns the statement that stores the results of the transaction under its key:
// the rows that its events are about.
func (t *tx) keep() (statement, error) {
	results := []Result{}
	for _, e := range t.events[:min(maxResults, len(t.events))] {
		results = append(results, Result{Kind: e.kind, Conversation: e.conversation, Request: e.request, Agent: e.agent, Seq: e.seq, Entry: e.data.ID, Run: e.data.Run})
	}
	text, err := toJSON(t.op.name, results)
	return statement{text: `UPDATE keys SET results = ?, at = ? WHERE id = ?`, args: []any{text, t.now, t.op.key.id()}}, err
}
