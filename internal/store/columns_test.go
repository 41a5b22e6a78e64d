package store

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
)

// TestCopiedColumns: a copy includes every column of every table, except for what a
// database records about itself and its writers.
func TestCopiedColumns(t *testing.T) {
	s := openAt(t, Options{Path: filepath.Join(t.TempDir(), "fika.db")})
	there, err := many(context.Background(), s.db.r, scanText, `SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'entries_words%' AND m.name NOT IN ('writers', 'goose_db_version')`)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, c := range tables() {
		for _, column := range c.columns {
			known = append(known, c.name+"."+column)
		}
	}
	slices.Sort(there)
	slices.Sort(known)
	for _, c := range there {
		if !slices.Contains(known, c) {
			t.Errorf("%s is not copied", c)
		}
	}
	if len(there) < 80 {
		t.Errorf("only %d columns were found", len(there))
	}
}
