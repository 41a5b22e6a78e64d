package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// Room is what a database file needs to be shrunk.
type Room struct {
	Bytes int64 // of the file and its log; 0: the database is on a server
	Path  string
}

// Room returns the size of the database file.
func (s *Store) Room() Room {
	if s.db.file == nil {
		return Room{}
	}
	r := Room{Path: s.db.opt.Path}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(r.Path + suffix); err == nil {
			r.Bytes += info.Size()
		}
	}
	return r
}

// Shrink gives the space of removed rows back: a file gets smaller, which takes about
// twice its size on the disk meanwhile, and nobody else may use it; a server reuses the
// space for the same tables.
func (s *Store) Shrink(ctx context.Context) error {
	const op = "shrink store"
	if s.db.file == nil {
		pool := s.db.e.(*postgres).pool
		for _, c := range tables() {
			if _, err := pool.Exec(ctx, `VACUUM (ANALYZE) `+c.name); err != nil {
				return s.db.explain(op, err)
			}
		}
		return nil
	}
	c, err := sql.Open("sqlite", dsn(s.db.opt.Path, "busy_timeout(5000)"))
	if err != nil {
		return s.db.explain(op, err)
	}
	c.SetMaxOpenConns(1)
	for _, text := range []string{`VACUUM`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if err == nil {
			_, err = c.ExecContext(ctx, text)
		}
	}
	return s.db.explain(op, errors.Join(err, c.Close()))
}
