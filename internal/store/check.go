package store

import (
	"context"
	"strings"

	"fika"
	"fika/internal/text/hint"
)

// Check reads the whole database and returns a list of what is damaged in it; an
// empty list means that the database is sound. It may take a while and changes
// nothing. It fails with Storage if the database cannot even be read.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	const op = "check store"
	if s.db.file == nil {
		return s.checkServer(ctx)
	}
	found, err := many(ctx, slowReads{s.db.file}, scanText, `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`)
	if err != nil {
		return nil, s.db.explain(op, err)
	}
	loose, err := many(ctx, slowReads{s.db.file}, scanText, `SELECT "table" || ' row ' || coalesce(rowid, '?') || ' points to a missing row of ' || parent FROM pragma_foreign_key_check LIMIT 20`)
	return append(found, loose...), s.db.explain(op, err)
}

// CheckPages checks the pages of the database, at some 300 MB a second; its error
// says what is damaged. It does nothing for a server, which checks its own pages.
func (s *Store) CheckPages(ctx context.Context) error {
	const op = "check store"
	if s.db.file == nil {
		return nil
	}
	found, err := many(ctx, slowReads{s.db.file}, scanText, `PRAGMA quick_check(1)`)
	switch {
	case ctx.Err() != nil:
		return nil // nobody wants the answer any more
	case err != nil:
		return s.db.explain(op, err)
	case len(found) > 0 && found[0] != "ok":
		return &fika.Error{Kind: fika.Storage, Op: op, Err: ErrDamaged,
			Msg: s.db.name() + " is damaged (" + strings.Join(strings.Fields(strings.TrimPrefix(found[0], "*** in database main ***")), " ") + "): " + hint.BackupList.With() + " names backups, " + hint.Restore.With() + " brings one back"}
	}
	return nil
}

// checkServer reads every row: a damaged page makes the server fail.
func (s *Store) checkServer(ctx context.Context) ([]string, error) {
	const op = "check store"
	for _, c := range tables() {
		if err := c.each(ctx, s.db.r, func([][]any) error { return nil }); err != nil {
			return nil, s.db.explain(op, err)
		}
	}
	return many(ctx, s.db.r, scanText, `SELECT 'conversation ' || c.name || ' has entries beyond its last' FROM conversations c
WHERE EXISTS (SELECT 1 FROM entries e WHERE e.conversation = c.id AND e.seq > c.last_seq) LIMIT 20`)
}
