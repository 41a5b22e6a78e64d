package command

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika/internal/store"
)

// TestD17: a database that another program holds is status 4, in words, and
// nothing was written.
func TestD17(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	s, err := store.Open(t.Context(), store.Options{Path: path, BusyWait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(context.Background(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	_, err = s.CreateChat(t.Context(), "room")
	if ExitStatus(ErrorKind(err)) != 4 {
		t.Errorf("status %d: %v", ExitStatus(ErrorKind(err)), err)
	}
	for _, want := range []string{path, "held by another program", "nothing was changed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "SQLITE") {
		t.Errorf("raw: %q", err)
	}
}
