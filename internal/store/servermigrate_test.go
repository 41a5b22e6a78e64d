package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"fika"
	"fika/internal/store"
)

// TestLookingNeverMigrates: an opener that only looks leaves a database of an older fika
// as it is, and makes none where there is none (row P2).
func TestLookingNeverMigrates(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			opt := e.new(t)
			if opt.URL != "" {
				opt.URL = servers.Server(t).URL()
			} else if err := os.Remove(opt.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			looks := opt
			looks.Looks = true
			if _, err := store.Open(t.Context(), looks); !errors.Is(err, store.ErrNone) || !fika.IsKind(err, fika.NotFound) {
				t.Errorf("where nothing is: %v", err)
			}
			if opt.Path != "" {
				if _, err := os.Stat(opt.Path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("looking has made a file: %v", err)
				}
			}
			if err := store.MakeSchema6(t.Context(), opt); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := store.Open(t.Context(), looks); !fika.IsKind(err, fika.Locked) || !strings.Contains(err.Error(), "schema 6") {
					t.Errorf("at an older schema: %v", err)
				}
			}
			open(t, opt)
			open(t, looks)
		})
	}
}

// TestServerIsCopiedBeforeItIsMigrated: a schema is migrated while nobody else has it
// open, and stays beside it as it was: an older fika can go on with the copy (rows P2,
// F3).
func TestServerIsCopiedBeforeItIsMigrated(t *testing.T) {
	url := servers.Server(t).URL()
	opt := store.Options{URL: url}
	if err := store.MakeSchema6(t.Context(), opt,
		`INSERT INTO agents (id, name, created_at) VALUES ('a1', 'coder', 1)`,
		`INSERT INTO conversations (id, name, kind, agent, last_seq, created_at, updated_at) VALUES ('c1', 'room', 'chat', '', 1, 1, 1)`,
		`INSERT INTO entries (conversation, seq, id, at, sender, recipient, content, type) VALUES ('c1', 1, 'e1', 1, 'ann', '', 'accepted', 'message')`); err != nil {
		t.Fatal(err)
	}
	older, err := pgx.Connect(t.Context(), url+"&application_name=fika")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), opt); !fika.IsKind(err, fika.Locked) || !strings.Contains(err.Error(), "fika down") {
		t.Errorf("beside an older fika: %v", err)
	}
	var version string
	if err := older.QueryRow(t.Context(), `SELECT value FROM meta WHERE key = 'schema'`).Scan(&version); err != nil || version != "6" {
		t.Errorf("the schema of the older one is at %s, %v", version, err)
	}
	if err := older.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	migrated := open(t, opt)
	if got, err := migrated.Conversation(t.Context(), "room"); err != nil || got.ID != "c1" {
		t.Errorf("migrated: %+v, %v", got, err)
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	var copied string
	if err := c.QueryRow(t.Context(), `SELECT nspname FROM pg_namespace WHERE nspname LIKE current_schema() || '\_schema6\_%'`).Scan(&copied); err != nil {
		t.Fatal(err)
	}
	var content string
	err = c.QueryRow(t.Context(), `SELECT content || ' at ' || (SELECT value FROM `+copied+`.meta WHERE key = 'schema') FROM `+copied+`.entries e JOIN `+copied+`.conversations c ON c.id = e.conversation`).Scan(&content)
	if err != nil || content != "accepted at 6" {
		t.Errorf("the copy has %q, %v", content, err)
	}
	// It is a whole schema, whose numbers go on after the last and whose keys hold.
	if _, err := c.Exec(t.Context(), `INSERT INTO `+copied+`.entries (conversation, seq, id, at, sender, recipient, content, type) VALUES ('c1', 2, 'e2', 1, 'ann', '', 'x', 'message')`); err != nil {
		t.Error(err)
	}
	if _, err := c.Exec(t.Context(), `DELETE FROM `+copied+`.conversations`); err != nil {
		t.Error(err)
	}
	var left int
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM `+copied+`.entries`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d entries of no conversation are left, %v", left, err)
	}
	if files, _ := filepath.Glob(opt.Path + "*.backup"); len(files) != 0 {
		t.Errorf("files: %q", files)
	}
}
