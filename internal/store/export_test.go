package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"fika"
)

// Lose lets the answer to the n-th commit, and to every one for which again
// says so, be lost after it was committed.
func (o *Options) Lose(lose func() bool) { o.lose = lose }

// TryFor bounds how long one try waits for an answer.
func (o *Options) TryFor(d time.Duration) { o.tryFor = d }

// FaultOf is what a SQLSTATE means for the caller: wait, or the kind of its
// error.
func FaultOf(state string) string {
	s := &db{opt: Options{URL: "postgres://fika@/fika"}, d: &pgDialect{}}
	err := s.explain("test", &pgconn.PgError{Code: state, Message: "said"})
	if Busy(err) {
		return "busy"
	}
	var f *fika.Error
	_ = errors.As(err, &f)
	return string(f.Kind)
}

// Do changes the database behind the store's back.
func (s *Store) Do(ctx context.Context, list ...string) error {
	return s.db.write(ctx, "test", func(ctx context.Context, t *tx) error {
		for _, text := range list {
			if _, err := t.exec(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// Dump gives all rows that mean something, in words.
func (s *Store) Dump(ctx context.Context) ([]string, error) {
	var out []string
	say := func(kind string, list []string, err error) error {
		slices.Sort(list)
		for _, l := range list {
			out = append(out, kind+" "+l)
		}
		return err
	}
	text := func(sc scanner, n int) (string, error) {
		fields := make([]string, n)
		dest := make([]any, n)
		for i := range fields {
			dest[i] = &fields[i]
		}
		err := sc.Scan(dest...)
		return fmt.Sprintf("%q", fields), err
	}
	read := func(kind, query string, n int) error {
		list, err := many(ctx, s.db.r, func(sc scanner) (string, error) { return text(sc, n) }, query)
		return say(kind, list, err)
	}
	for _, q := range []struct {
		kind, query string
		n           int
	}{
		{"agent", `SELECT id, name, desired, state, owner, CAST(epoch AS TEXT), active_ask, held_reason FROM agents`, 8},
		{"conversation", `SELECT id, name, kind, status, CAST(paused AS TEXT), CAST(last_seq AS TEXT), CAST(messages AS TEXT) FROM conversations`, 7},
		{"participant", `SELECT conversation, agent, person, CAST(cursor AS TEXT) FROM participants`, 4},
		{"entry", `SELECT conversation, CAST(seq AS TEXT), id, sender, recipient, content, type, request, reply_to, chain, metadata FROM entries`, 11},
		{"notification", `SELECT conversation, CAST(seq AS TEXT), agent, chain, state, reason, request FROM notifications`, 7},
		{"request", `SELECT id, kind, agent, conversation, parent, retry_of, chain, state, reason, CAST(attempts AS TEXT), CAST(upto_seq AS TEXT), outcome FROM requests`, 12},
		{"step", `SELECT request, CAST(n AS TEXT), kind, call_id, tool, state, entry, call_entry FROM steps`, 8},
		{"usage", `SELECT request, CAST(n AS TEXT), agent, model, CAST(input AS TEXT) FROM usage`, 5},
		{"chain", `SELECT root, CAST(turns AS TEXT), CAST(tokens AS TEXT), limit_hit, conversation FROM chains`, 5},
		{"brake", `SELECT conversation, owner FROM brakes`, 2},
	} {
		if err := read(q.kind, q.query, q.n); err != nil {
			return nil, err
		}
	}
	return out, nil
}
