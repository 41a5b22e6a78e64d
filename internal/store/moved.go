package store

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"fika"
)

// MarkMoved marks this store as moved to another: [Open] refuses it from now on and says
// where the other is.
func (s *Store) MarkMoved(ctx context.Context, to *Store) error {
	return s.db.write(ctx, "mark store as moved", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `INSERT INTO meta (key, value) VALUES ('moved_to', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, to.db.name())
	})
}

// SetMovedAside renames the store that opt names if it was moved elsewhere, and returns its
// new name. It returns "" if the store was not moved, or is not there.
func SetMovedAside(ctx context.Context, opt Options, suffix string) (aside string, err error) {
	const op = "set moved store aside"
	if opt.URL != "" {
		return setSchemaAside(ctx, opt, suffix)
	}
	opt.Looks, opt.Moved, opt.Unfinished = true, true, true
	s, err := Open(ctx, opt)
	if errors.Is(err, ErrNone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	m, _, err := one(ctx, s.db.r, scanMarks, readMarks)
	if err = errors.Join(err, s.Close()); err != nil || m.moved == "" {
		return "", err
	}
	aside = opt.Path + "." + suffix
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(opt.Path+end, aside+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fika.Wrap(fika.Storage, op, err)
		}
	}
	return aside, nil
}

func setSchemaAside(ctx context.Context, opt Options, suffix string) (aside string, err error) {
	const op = "set moved store aside"
	s := &db{database: &database{opt: opt, d: &pgDialect{}}}
	c, schema, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what it was for has been answered
	tx, err := c.Begin(ctx)
	if err != nil {
		return "", s.explain(op, err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	version, err := versionOf(ctx, tx)
	if err != nil || version == 0 {
		return "", s.explain(op, err)
	}
	var m marks
	var begun int64
	if err := tx.QueryRow(ctx, readMarks).Scan(&begun, &m.moved); err != nil || m.moved == "" {
		return "", s.explain(op, err)
	}
	users, err := usersOfSchema(ctx, tx, schema)
	if err == nil && users != "" {
		err = fika.Errorf(fika.Locked, op, "schema %s was moved from here and is still in use (%s): run fika down there first", schema, users)
	}
	if err != nil {
		return "", s.explain(op, err)
	}
	aside = named(schema, "_"+suffix)
	if _, err := tx.Exec(ctx, `ALTER SCHEMA `+schema+` RENAME TO `+aside); err != nil {
		return "", s.explain(op, err)
	}
	return "schema " + aside, s.explain(op, tx.Commit(ctx))
}
