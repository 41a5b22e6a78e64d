package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"fika/internal/crash"
)

// restoring ends the name of a schema that is being filled to take the place
// of another.
const restoring = "_fika_restoring"

// ReplaceRows puts what a SQLite file holds, or with "" an empty store, in the
// place of the schema that url names, and returns the name which the one that
// was there has now; "" if there was none. Nothing changes before the copy is
// complete, and then all at once: whoever is interrupted calls it again.
// Nobody may have the schema open.
func ReplaceRows(ctx context.Context, url, suffix, file string) (aside string, err error) {
	const op = "set store aside"
	s := &db{opt: Options{URL: url}, d: &pgDialect{}}
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
	// What an interrupted call has left may be of another file.
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

// fillSchema makes a schema of what a SQLite file holds, or an empty one.
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

// named is a schema's name with an ending, short enough to be kept whole.
func named(schema, end string) string { return schema[:min(len(schema), 63-len(end))] + end }
