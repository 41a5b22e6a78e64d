package store

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"fika"
	"fika/internal/text/hint"
)

// MoveTo is [Store.CopyTo], after which this store is marked as moved: [Open] refuses it
// from then on and says where the other is.
func (s *Store) MoveTo(ctx context.Context, to *Store, told func(Copied)) error {
	if err := s.copyTo(ctx, to, told); err != nil {
		return err
	}
	err := s.db.write(ctx, "mark store as moved", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `INSERT INTO meta (key, value) VALUES ('moved_to', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, to.db.name())
	})
	if err != nil {
		return err
	}
	return to.settle(ctx)
}

// FinishMove reports whether the store that from names was moved to the one that to names,
// and ends that move if it was interrupted after the mark: the copy is complete then.
func FinishMove(ctx context.Context, from, to Options) (moved bool, err error) {
	from.Looks, from.Moved, from.Unfinished = true, true, true
	s, err := Open(ctx, from)
	if errors.Is(err, ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m, _, err := one(ctx, s.db.r, scanMarks, readMarks)
	id, _, e := one(ctx, s.db.r, scanText, selectStoreID)
	place := (&db{database: &database{opt: to}}).name()
	if err = errors.Join(err, e, s.Close()); err != nil || m.moved != place {
		return false, err
	}
	to.Existing, to.Unfinished, to.Moved = true, true, true
	other, err := Open(ctx, to)
	if err != nil {
		return false, err
	}
	begun, _, err := one(ctx, other.db.r, scanText, selectCopyOf)
	if err == nil && begun == id {
		err = other.settle(ctx)
	}
	return err == nil, errors.Join(err, other.Close())
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
	users, err := usersStaying(ctx, tx, schema, "")
	if err == nil && users != "" {
		err = fika.Errorf(fika.Locked, op, "schema %s was moved from here and is still in use (%s): run %s there first", schema, users, hint.Down)
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
