package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	"fika"
)

// Lose makes the answer to a commit be lost, after it was committed, whenever lose
// reports true.
func (o *Options) Lose(lose func() bool) { o.lose = lose }

// PassGaps makes readers of events pass numbers that they do not see.
func (o *Options) PassGaps() { o.passGaps = true }

// Wall sets the clock of the process wrong by a duration.
func (o *Options) Wall(wrong time.Duration) {
	o.wall = func() time.Time { return time.Now().Add(wrong) }
}

// TryFor bounds how long one try waits for an answer.
func (o *Options) TryFor(d time.Duration) { o.tryFor = d }

// FaultOf returns what a SQLSTATE means for the caller: wait, or the kind of the
// error.
func FaultOf(state string) string {
	s := &db{database: &database{opt: Options{URL: "postgres://fika@/fika"}, d: &pgDialect{}}}
	err := s.explain("test", &pgconn.PgError{Code: state, Message: "said"})
	if IsBusy(err) {
		return "busy"
	}
	var f *fika.Error
	_ = errors.As(err, &f)
	return string(f.Kind)
}

// MakeSchema6 creates an empty database as a program with schema version 6 would, and
// runs texts in it.
func MakeSchema6(ctx context.Context, opt Options, texts ...string) error {
	if opt.URL != "" {
		s := &db{database: &database{opt: opt, d: &pgDialect{}}}
		config, err := s.poolConfig()
		if err != nil {
			return err
		}
		first, err := postgresMigrations.ReadFile("postgres/00006_init.sql")
		if err != nil {
			return err
		}
		c, err := pgx.ConnectConfig(ctx, config.ConnConfig)
		if err != nil {
			return err
		}
		schema := config.ConnConfig.RuntimeParams["search_path"]
		for _, text := range append([]string{`DROP SCHEMA IF EXISTS ` + schema + ` CASCADE`, `CREATE SCHEMA ` + schema, string(first)}, texts...) {
			if _, err := c.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
				return errors.Join(err, c.Close(ctx))
			}
		}
		return c.Close(ctx)
	}
	six := fstest.MapFS{}
	all, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	for _, f := range all[:6] {
		text, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			return err
		}
		six[f.Name()] = &fstest.MapFile{Data: text}
	}
	db, err := sql.Open("sqlite", dsn(opt.Path, "foreign_keys(1)"))
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, six)
	if err == nil {
		_, err = p.Up(ctx)
	}
	for _, text := range texts {
		if err == nil {
			_, err = db.ExecContext(ctx, text)
		}
	}
	return errors.Join(err, db.Close())
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

// Dump returns all meaningful rows as text.
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

// TakeNumber writes an event and calls hang, if it is given, before the commit; with an
// error it rolls back instead.
func (s *Store) TakeNumber(ctx context.Context, undo error, hang ...func()) error {
	return s.db.write(ctx, "take a number", func(ctx context.Context, t *tx) error {
		t.tell(event{kind: PauseEvent, state: Resumed})
		list, err := t.eventStatements()
		if err != nil {
			return err
		}
		t.events = nil
		if err := t.run(ctx, list...); err != nil {
			return err
		}
		for _, f := range hang {
			f()
		}
		if undo != nil {
			return fika.Wrap(fika.Failed, "take a number", undo)
		}
		return nil
	})
}

// PassesGaps reports whether readers pass numbers that they do not see.
func (o *Options) PassesGaps() bool { return o.passGaps }

// MakeServerSchema creates an empty schema on a server as a program of a version would, and
// runs texts in it.
func MakeServerSchema(ctx context.Context, opt Options, version int64, texts ...string) error {
	s := &db{database: &database{opt: opt, d: &pgDialect{}}}
	c, schema, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	for _, text := range []string{`DROP SCHEMA IF EXISTS ` + schema + ` CASCADE`, `CREATE SCHEMA ` + schema} {
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	if err := runMigrations(ctx, tx, 0, version); err != nil {
		return err
	}
	for _, text := range texts {
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}
