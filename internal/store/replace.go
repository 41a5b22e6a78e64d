package store

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"fika"
	"fika/internal/system/crash"
	"fika/internal/text/hint"
)

// restoring is the suffix of a schema that is being filled to replace another.
const restoring = "_fika_restoring"

// Replacement says what takes the place of a schema, and for whom.
type Replacement struct {
	URL    string // the schema
	Suffix string // of the new name of what was there
	File   string // a SQLite file with the new contents; empty: an empty store
	Store  string // id of the home's own store; empty: it has none yet
	Home   string // id of the home
	// Anew gives the store an id of its own, because the one it is a copy of lives on.
	Anew bool
}

// ReplaceRows replaces a schema. It returns the new name of the schema that was there
// before, or "" if there was none. Nothing changes before the copy is complete, and then
// everything changes at once; an interrupted call is simply repeated. It fails with
// Conflict for a schema that is not the home's, or not the home's alone, and with Locked
// while others have it open.
func (r Replacement) ReplaceRows(ctx context.Context) (aside string, err error) {
	const op = "set store aside"
	s := &db{database: &database{opt: Options{URL: r.URL}, d: &pgDialect{}}}
	c, schema, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what it was for has been answered
	fill, aside := named(schema, restoring), named(schema, "_"+r.Suffix)
	// The remains of an interrupted call may come from another file.
	if _, err := c.Exec(ctx, `DROP SCHEMA IF EXISTS `+fill+` CASCADE`); err != nil {
		return "", s.explain(op, err)
	}
	if err := r.fillSchema(ctx, fill); err != nil {
		return "", err
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return "", s.explain(op, err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	had := false
	if err := tx.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, schema).Scan(&had); err != nil {
		return "", s.explain(op, err)
	}
	if err := r.allowed(ctx, tx, schema); err != nil {
		return "", s.explain(op, err)
	}
	if had {
		if _, err := tx.Exec(ctx, `ALTER SCHEMA `+schema+` RENAME TO `+aside); err != nil {
			return "", s.explain(op, err)
		}
		if err := grantHosts(ctx, tx, aside, fill); err != nil {
			return "", s.explain(op, err)
		}
	} else {
		aside = ""
	}
	if _, err := tx.Exec(ctx, `ALTER SCHEMA `+fill+` RENAME TO `+schema); err != nil {
		return "", s.explain(op, err)
	}
	crash.Point("set store aside.before")
	err = tx.Commit(ctx)
	crash.Point("set store aside.after")
	return aside, s.explain(op, err)
}

// MayReplace reports what [Replacement.ReplaceRows] would refuse, and whether the schema
// has tables that are not of the home's own store.
func (r Replacement) MayReplace(ctx context.Context) (foreign bool, err error) {
	s := &db{database: &database{opt: Options{URL: r.URL}, d: &pgDialect{}}}
	c, schema, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what it was for has been answered
	tx, err := c.Begin(ctx)
	if err != nil {
		return false, s.explain(opOpen, err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	err = r.allowed(ctx, tx, schema)
	if errors.Is(err, errForeign) {
		return true, nil
	}
	return false, s.explain(opOpen, err)
}

// errForeign is in the chain of the Conflict about a schema of another home.
var errForeign = errors.New("it belongs to another home, or another store was restored into it")

// allowed reports why the schema must not be replaced.
func (r Replacement) allowed(ctx context.Context, tx pgx.Tx, schema string) error {
	const op = "replace store"
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock(schema)); err != nil {
		return err
	}
	version, err := versionOf(ctx, tx)
	if err != nil || version == 0 {
		return err
	}
	var id, others string
	if err := tx.QueryRow(ctx, `SELECT (SELECT value FROM meta WHERE key = 'store_id'), COALESCE((SELECT string_agg(name, ', ' ORDER BY name) FROM agents WHERE home_id NOT IN ('', $1)), '')`,
		r.Home).Scan(&id, &others); err != nil {
		return err
	}
	if id = strings.TrimSpace(id); id == "" || id != r.Store {
		return &fika.Error{Kind: fika.Conflict, Op: op, Msg: "schema " + schema + " is left alone", Err: errForeign}
	}
	if others != "" {
		return fika.Errorf(fika.Conflict, op, "schema %s also has agents of other homes (%s), who would lose their work: name a schema that does not exist yet as [store] url, and restore into that", schema, others)
	}
	users, err := usersStaying(ctx, tx, schema, r.Home)
	if err == nil && users != "" {
		err = fika.Errorf(fika.Locked, op, "schema %s is in use (%s): run %s there first; nothing was changed", schema, users, hint.Down)
	}
	return err
}

// connect opens one connection to the schema that the URL names.
func (s *db) connect(ctx context.Context) (*pgx.Conn, string, error) {
	config, err := s.poolConfig()
	if err != nil {
		return nil, "", err
	}
	c, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	return c, config.ConnConfig.RuntimeParams["search_path"], s.explain(opOpen, err)
}

// fillSchema creates a schema with the new contents.
func (r Replacement) fillSchema(ctx context.Context, schema string) error {
	to, err := Open(ctx, Options{URL: r.URL, schemaName: schema})
	if err != nil || r.File == "" {
		return errors.Join(err, closeIf(to))
	}
	from, err := Open(ctx, Options{Path: r.File, Existing: true})
	if err == nil {
		err = from.CopyTo(ctx, to, nil)
	}
	if err == nil && r.Anew {
		err = to.db.write(ctx, "name store", func(ctx context.Context, t *tx) error {
			return t.put(ctx, `UPDATE meta SET value = ? WHERE key = 'store_id'`, newUUID())
		})
	}
	return errors.Join(err, closeIf(from), to.Close())
}

func closeIf(s *Store) error {
	if s == nil {
		return nil
	}
	return s.Close()
}

// BesideURL returns the URL and the name of a schema beside that of address, with a suffix
// to its name.
func BesideURL(address, suffix string) (beside, schema string, err error) {
	s := &db{database: &database{opt: Options{URL: address}}}
	config, err := s.poolConfig()
	if err != nil {
		return "", "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", "", fika.Wrap(fika.Invalid, opOpen, err)
	}
	q := u.Query()
	schema = named(config.ConnConfig.RuntimeParams["search_path"], "_"+suffix)
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String(), schema, nil
}

// named returns a schema's name with a suffix, shortened to what PostgreSQL keeps
// whole.
func named(schema, end string) string { return schema[:min(len(schema), 63-len(end))] + end }
