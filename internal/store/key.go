package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
type Repeated struct {
	Verb    string
	Results []Result
}

// Result is a row that a write with a key has made or changed.
type Result struct {
	Kind         EventKind           `json:"kind"`
	Conversation fika.ConversationID `json:"conversation,omitempty"`
	Request      fika.RequestID      `json:"request,omitempty"`
	Agent        fika.AgentID        `json:"agent,omitempty"`
	Seq          int64               `json:"seq,omitempty"`
	Entry        fika.EntryID        `json:"entry,omitempty"`
	Run          fika.RequestID      `json:"run,omitempty"`
	Removed      int64               `json:"removed,omitempty"` // entries of a conversation
}

func (*Repeated) Error() string { return "done before" }

// All returns the results of a kind.
func (r *Repeated) All(kind EventKind) (out []Result) {
	for _, one := range r.Results {
		if one.Kind == kind {
			out = append(out, one)
		}
	}
	return out
}

// Last returns the last result of a kind; the zero value if there is none.
func (r *Repeated) Last(kind EventKind) (last Result) {
	for _, one := range r.All(kind) {
		last = one
	}
	return last
}

// maxResults bounds what is kept of a write that changes many rows.
const maxResults = 256

// Once returns a store for one thing that is asked for: its first durable transaction
// that changes something is kept under k for 30 days. If the call returns nil, it was
// done now. If its error has a [*Repeated] in its chain, it was done before, by this
// process or another, with these results; nothing is done again. Of two calls at once one
// waits for the other. A call that fails or that changes nothing is not kept, and may be
// repeated with the same key. The returned store is not safe for concurrent use and is
// not closed.
func (s *Store) Once(k Key) *Store {
	return newStore(&db{database: s.db.database, runs: s.db.runs, key: &k})
}

// ErrNotRunning is in the chain of the Denied error of a write for an agent whose request
// does not run any more.
var ErrNotRunning = errors.New("request not running")

// While returns a store for what an agent does through its tools: each of its
// transactions is refused (Denied, [ErrNotRunning]) unless the request still runs and is
// not asked to stop. The returned store is not closed.
func (s *Store) While(request fika.RequestID) *Store {
	return newStore(&db{database: s.db.database, runs: request})
}

// Known returns what was done under a key, nil if nothing was. It fails with Conflict if
// that was something else; a key without a verb asks for whatever was done.
func (s *Store) Known(ctx context.Context, k Key) (*Repeated, error) {
	const op = "read key"
	row, found, err := one(ctx, s.db.r, scanKept, `SELECT `+keptColumns+` FROM keys WHERE id = ?`, k.id())
	if err != nil || !found {
		return nil, s.db.explain(op, err)
	}
	done, _, err := row.check(op, &k)
	return done, err
}

// Intend commits that what k names is to be done outside the database, where the world
// is as found says, a digest. If that was committed before, and not that it is done, it
// returns what was found then. [Store.Done] commits that it is done; after that, Intend
// fails with [*Repeated].
func (s *Store) Intend(ctx context.Context, k Key, found string) (before string, err error) {
	const op = "intend"
	err = s.Once(k).db.write(ctx, op, func(ctx context.Context, t *tx) error {
		before = t.intended
		if t.intended == "" {
			t.op.found = found
			return nil
		}
		t.discard = true
		return nil
	})
	return before, err
}

// Done commits that what was intended under k is done.
func (s *Store) Done(ctx context.Context, k Key) error {
	return s.Once(k).db.write(ctx, "finish intent", func(context.Context, *tx) error { return nil })
}

// id identifies a key: no two principals, and no two doors, share one.
func (k *Key) id() string {
	h := sha256.New()
	for _, part := range []string{k.Kind, k.Name, k.Door, k.Text} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (k *Key) bodyHash() string {
	sum := sha256.Sum256(k.Body)
	return hex.EncodeToString(sum[:])
}

// kept is the row of a key. Its results are a list once the write is done, and the text
// that [Store.Intend] was given before that.
type kept struct{ verb, body, results string }

const keptColumns = `verb, body_hash, results`

func scanKept(s scanner) (r kept, err error) { return r, s.Scan(&r.verb, &r.body, &r.results) }

// check returns what was done under k, or what was found when it was intended.
func (r kept) check(op string, k *Key) (done *Repeated, intended string, err error) {
	switch {
	case k.Verb != "" && (r.verb != k.Verb || r.body != k.bodyHash()):
		return nil, "", &fika.Error{Kind: fika.Conflict, Op: op, Msg: "this key was used for something else: use a new one for each thing that is asked for", Err: ErrKeyReused}
	case !strings.HasPrefix(r.results, "["):
		return nil, r.results, nil
	}
	done = &Repeated{Verb: r.verb}
	if err := json.Unmarshal([]byte(r.results), &done.Results); err != nil {
		return nil, "", fika.Errorf(fika.Storage, op, "a key has results that cannot be read: %v", err)
	}
	return done, "", nil
}

// admit decides, ahead of all locks, whether the transaction may begin: it reserves its
// key, waiting for another that is about to use it, and reads whether the request that it
// writes for still runs.
func (t *tx) admit(ctx context.Context) error {
	var list []statement
	var row kept
	var running bool
	k := t.op.key
	if k != nil {
		list = append(list, first(&row, nil, scanKept, `INSERT INTO keys (id, verb, body_hash, results, at) VALUES (?, ?, ?, '', ?)
ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING `+keptColumns, k.id(), k.Verb, k.bodyHash(), t.db.nowMS()))
	}
	if t.db.runs != "" {
		var n int64
		list = append(list, first(&n, &running, scanInt, `SELECT 1 FROM requests r WHERE r.id = ? AND r.state = 'running' AND r.cancel_at = 0`, t.db.runs))
	}
	if len(list) == 0 {
		return nil
	}
	err := t.run(ctx, list...)
	if err == nil && t.db.runs != "" && !running {
		err = &fika.Error{Kind: fika.Denied, Op: t.op.name, Msg: fmt.Sprintf("request %s is not running any more: what a tool leaves running cannot speak for it", t.db.runs), Err: ErrNotRunning}
	}
	if err != nil || k == nil {
		return err
	}
	done, intended, err := row.check(t.op.name, k)
	if t.intended = intended; done != nil {
		err = &fika.Error{Kind: fika.Conflict, Op: t.op.name, Err: done}
	}
	return err
}

// also adds a row to what is kept of a transaction with a key, beside those that its
// events are about.
func (t *tx) also(r Result) { t.results = append(t.results, r) }

// keep returns the statement that stores the results of the transaction under its key:
// the rows that its events are about.
func (t *tx) keep() (statement, error) {
	text := t.op.found
	if text == "" {
		results := append([]Result{}, t.results...)
		for _, e := range t.events[:min(maxResults, len(t.events))] {
			results = append(results, Result{Kind: e.kind, Conversation: e.conversation, Request: e.request, Agent: e.agent, Seq: e.seq, Entry: e.data.ID, Run: e.data.Run, Removed: e.data.Removed})
		}
		var err error
		if text, err = toJSON(t.op.name, results); err != nil {
			return statement{}, err
		}
	}
	return statement{text: `UPDATE keys SET results = ?, at = ? WHERE id = ?`, args: []any{text, t.now, t.op.key.id()}}, nil
}
