package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"fika/internal/crash"
)

// restoring is the suffix of a schema that is being filled to replace another.
const restoring = "_fika_restoring"

// ReplaceRows replaces the schema that url names by the contents of a SQLite file, or
// by an empty store if file is "". It returns the new name of the schema that was
// there before, or "" if there was none. Nothing changes before the copy is complete,
// and then everything changes at once; an interrupted call is simply repeated. Nobody
// may have the schema open.
func ReplaceRows(ctx context.Context, url, suffix, file string) (aside string, err error) {
	const op = "set store aside"
	s := &db{database: &database{opt: Options{URL: url}, d: &pgDialect{}}}
	config, err := s.poolConfig()
	if err != nil {
		return "", err
	}
	schema := config.ConnConfig.RuntimeParams["search_path"]
	fill, aside := named(schema, restoring), named(schema, "_"+suffix)
	c, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return "", s.explain(op, err)
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what it was for has been answered
	// The remains of an interrupted call may come from another file.
	if _, err := c.Exec(ctx, `DROP SCHEMA IF EXISTS `+fill+` CASCADE`); err != nil {
		return "", s.explain(op, err)
	}
	if err := fillSchema(ctx, url, fill, file); err != nil {
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
	if had {
		if _, err := tx.Exec(ctx, `ALTER SCHEMA `+schema+` RENAME TO `+aside); err != nil {
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

// fillSchema creates a schema with the contents of a SQLite file, or an empty one.
func fillSchema(ctx context.Context, url, schema, file string) error {
	to, err := Open(ctx, Options{URL: url, schemaName: schema})
	if err != nil || file == "" {
		return errors.Join(err, closeIf(to))
	}
	from, err := Open(ctx, Options{Path: file, Existing: true})
	if err == nil {
		err = from.CopyTo(ctx, to, nil)
	}
	return errors.Join(err, closeIf(from), to.Close())
}

func closeIf(s *Store) error {
	if s == nil {
		return nil
	}
	return s.Close()
}

// named returns a schema's name with a suffix, shortened to what PostgreSQL keeps
// whole.
func named(schema, end string) string { return schema[:min(len(schema), 63-len(end))] + end }
