package store

import "context"

// Check reads the whole database and lists what is damaged in it; none means
// that it is sound. It may take a while and changes nothing. The error is of
// kind Storage when the file cannot even be read.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	const op = "check store"
	found, err := many(ctx, s.db.r, scanText, `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`)
	if err != nil {
		return nil, s.db.explain(op, err)
	}
	loose, err := many(ctx, s.db.r, scanText, `SELECT "table" || ' row ' || coalesce(rowid, '?') || ' points to a missing row of ' || parent FROM pragma_foreign_key_check LIMIT 20`)
	return append(found, loose...), s.db.explain(op, err)
}
