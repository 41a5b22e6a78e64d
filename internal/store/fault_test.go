package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"

	"fika"
)

func openAt(t *testing.T, opt Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// raw opens the file as any SQLite program would.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// sound asks SQLite to check the file.
func sound(t *testing.T, path string) {
	t.Helper()
	db := raw(t, path)
	defer db.Close()
	for _, check := range []string{`PRAGMA integrity_check`, `PRAGMA foreign_key_check`} {
		rows, err := db.Query(check)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var first string
			cols, _ := rows.Columns()
			dest := []any{&first}
			for range cols[1:] {
				dest = append(dest, new(any))
			}
			if err := rows.Scan(dest...); err != nil || first != "ok" {
				t.Errorf("%s: %s %v", check, first, err)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	run(t, db, `INSERT INTO entries_words (entries_words, rank) VALUES ('integrity-check', 0)`)
}

// storageError checks that err is of kind Storage and names the file.
func storageError(t *testing.T, err error, path, hint string) {
	t.Helper()
	if fika.KindOf(err) != fika.Storage {
		t.Fatalf("error %v is of kind %q", err, fika.KindOf(err))
	}
	if msg := err.Error(); !strings.Contains(msg, path) || !strings.Contains(msg, hint) {
		t.Fatalf("error %q should name %s and say %q", msg, path, hint)
	}
}

func chatIn(t *testing.T, s *Store) fika.ConversationID {
	t.Helper()
	c, err := s.CreateChat(t.Context(), "room")
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func TestOpenRefusesNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	openAt(t, Options{Path: path}).Close()
	run(t, raw(t, path), `PRAGMA user_version = 99`)
	_, err := Open(t.Context(), Options{Path: path})
	storageError(t, err, path, "use a newer fika")
}

func TestOpenRefusesOtherPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	run(t, raw(t, path), `CREATE TABLE invoices (n INTEGER)`)
	_, err := Open(t.Context(), Options{Path: path})
	storageError(t, err, path, "another program")
	db := raw(t, path)
	var mode string
	if err := db.QueryRow(`PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "delete" {
		t.Fatalf("the file was changed: journal mode %q, %v", mode, err)
	}
}

func TestOpenGoesOnAfterAnInterruptedMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	// This is what remains if the process dies before the first migration commits.
	run(t, raw(t, path), `CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL,
is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)`)
	openAt(t, Options{Path: path})
}

func TestOpenRefusesGarbage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{Path: path})
	storageError(t, err, path, "not a sound database")
	dir := t.TempDir()
	_, err = Open(t.Context(), Options{Path: dir})
	storageError(t, err, dir, "is a folder")
}

func TestDamagedPagesAreStorageErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	s := openAt(t, Options{Path: path})
	room := chatIn(t, s)
	if _, err := s.Post(t.Context(), Post{Conversation: room, Content: strings.Repeat("word ", 20_000)}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for off := int64(4096); off < info.Size(); off += 4096 {
		if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 64)), off); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	s, err = Open(t.Context(), Options{Path: path})
	if err == nil {
		_, err = s.Post(t.Context(), Post{Conversation: room, Content: "x"})
		s.Close()
	}
	storageError(t, err, path, "not a sound database")
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "home")
	path := filepath.Join(dir, "fika.db")
	s := openAt(t, Options{Path: path})
	chatIn(t, s)
	for _, name := range []string{"", "-wal", "-shm", ".schema"} {
		info, err := os.Stat(path + name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", info.Name(), info.Mode().Perm())
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %o, %v", info.Mode().Perm(), err)
	}
	s.Close()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	openAt(t, Options{Path: path})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file open to others stays so: %o, %v", info.Mode().Perm(), err)
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space.db", "a?b=c&d.db", "100%25.db", "#x.db", "fikå.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := openAt(t, Options{Path: path})
		chatIn(t, s)
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			t.Errorf("%s: the database is elsewhere: %v", name, err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	s := openAt(t, Options{Path: path, MaxPages: 150})
	room := chatIn(t, s)
	stored := 0
	var err error
	for range 1000 {
		if _, err = s.Post(t.Context(), Post{Conversation: room, Content: strings.Repeat("x", 5000)}); err != nil {
			break
		}
		stored++
	}
	storageError(t, err, path, "cannot grow")
	if IsBusy(err) {
		t.Error("a full disk is not a busy database")
	}
	all, err := s.Entries(t.Context(), EntryQuery{Conversation: room})
	if err != nil || len(all) != stored {
		t.Fatalf("%d of %d entries are readable: %v", len(all), stored, err)
	}
	s.Close()
	s = openAt(t, Options{Path: path}) // space has been freed
	p, err := s.Post(t.Context(), Post{Conversation: room, Content: "again"})
	if err != nil || p.Entry.Seq != int64(stored+1) {
		t.Fatalf("seq %d after %d: %v", p.Entry.Seq, stored, err)
	}
	s.Close()
	sound(t, path)
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	s := openAt(t, Options{Path: path})
	room := chatIn(t, s)
	if _, err := s.db.file.conn.c.ExecContext(t.Context(), `PRAGMA query_only = 1`); err != nil {
		t.Fatal(err)
	}
	_, err := s.Post(t.Context(), Post{Conversation: room, Content: "x"})
	storageError(t, err, path, "read-only")
	if _, err := s.Entries(t.Context(), EntryQuery{Conversation: room}); err != nil {
		t.Fatal(err)
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	s := openAt(t, Options{Path: path, BusyWait: 20 * time.Millisecond})
	room := chatIn(t, s)
	other, err := raw(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	hold := func(text string) {
		if _, err := other.ExecContext(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	hold(`BEGIN IMMEDIATE`)
	_, err = s.Post(t.Context(), Post{Conversation: room, Content: "x"})
	storageError(t, err, path, "database is busy")
	if !IsBusy(err) {
		t.Fatalf("%v should be worth trying again", err)
	}
	if _, err := s.Entries(t.Context(), EntryQuery{Conversation: room}); err != nil {
		t.Fatalf("reading while another writes: %v", err)
	}
	hold(`ROLLBACK`)
	if _, err = s.Post(t.Context(), Post{Conversation: room, Content: "x"}); err != nil {
		t.Fatal(err)
	}
}

func TestCancelledCallsWriteNothing(t *testing.T) {
	s := openAt(t, Options{Path: filepath.Join(t.TempDir(), "fika.db")})
	room := chatIn(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Post(ctx, Post{Conversation: room, Content: "x"})
	if !fika.IsKind(err, fika.Interrupted) {
		t.Fatalf("got %v", err)
	}
	if all, err := s.Entries(t.Context(), EntryQuery{Conversation: room}); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
}

func TestClosedStore(t *testing.T) {
	s := openAt(t, Options{Path: filepath.Join(t.TempDir(), "fika.db")})
	room := chatIn(t, s)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Post(t.Context(), Post{Conversation: room}); !fika.IsKind(err, fika.Storage) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.ListAgents(t.Context()); err == nil {
		t.Fatal("a closed store answers")
	}
}

func TestLostConnectionIsReplaced(t *testing.T) {
	s := openAt(t, Options{Path: filepath.Join(t.TempDir(), "fika.db")})
	room := chatIn(t, s)
	s.db.file.conn.c.Close()
	if _, err := s.Post(t.Context(), Post{Conversation: room, Content: "x"}); err != nil {
		t.Fatal(err)
	}
}

func TestMigrationNeedsToBeAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	other := flock.New(path + ".schema")
	if err := other.RLock(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{Path: path})
	if !fika.IsKind(err, fika.Locked) || !strings.Contains(err.Error(), "fika down") {
		t.Fatalf("got %v", err)
	}
	other.Close()
	openAt(t, Options{Path: path})
}

func TestBackupBeforeMigration(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, Options{Path: filepath.Join(dir, "fika.db")})
	chatIn(t, s)
	if err := s.db.backup(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("fika.db.schema%d-*.backup", schemaVersion)))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	sound(t, found[0])
	// A backup is an ordinary database.
	c, err := openAt(t, Options{Path: found[0]}).Conversation(t.Context(), "room")
	if err != nil || c.Name != "room" {
		t.Fatal(c, err)
	}
}

// TestMigrateKeepsWhatIsThere migrates a database of the first schema.
func TestMigrateKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	first, err := migrations.ReadFile("migrations/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dsn(path, "foreign_keys(1)"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, fstest.MapFS{"00001_init.sql": {Data: first}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`INSERT INTO conversations (id, name, kind, created_at, updated_at) VALUES ('c1', 'room', 'chat', 1, 1)`,
		`INSERT INTO agents (id, name, created_at) VALUES ('a1', 'coder', 1)`,
		`INSERT INTO chains (root, turns, tokens, started_at) VALUES ('r1', 3, 70, 1)`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, Options{Path: path})
	room, err := s.Conversation(t.Context(), "room")
	if err != nil || room.Limits != (fika.ChainLimits{}) {
		t.Error(room, err)
	}
	if c, err := s.Chain(t.Context(), "r1"); err != nil || c.Turns != 3 || c.Tokens != 70 || c.Conversation != "" {
		t.Error(c, err)
	}
	if a, err := s.Agent(t.Context(), "coder"); err != nil || !a.HeldUntil.IsZero() {
		t.Error(a, err)
	}
	if kept, err := filepath.Glob(path + ".schema1-*.backup"); err != nil || len(kept) != 1 {
		t.Error(kept, err)
	}
	sound(t, path)
}

func TestAtLeast(t *testing.T) {
	for v, want := range map[string]bool{
		"3.51.3": true, "3.51.2": false, "3.52.0": true, "3.54.1": true, "4.0.0": true, "3.9.9": false, "3.51": false, "": false, "x.y.z": false,
	} {
		if got := atLeast(v, 3, 51, 3); got != want {
			t.Errorf("%q: %v", v, got)
		}
	}
}

// TestHotQueriesUseIndexes keeps the cost of a turn independent of the amount of
// data: no query on its path may scan a whole table.
func TestHotQueriesUseIndexes(t *testing.T) {
	s := openAt(t, Options{Path: filepath.Join(t.TempDir(), "fika.db")})
	for name, text := range map[string]string{
		"next begun":      nextBegun,
		"next prompt":     nextPrompt,
		"next batch":      nextBatch,
		"work":            workBatches,
		"fence":           selectTurn + ` WHERE r.id = ?`,
		"page":            selectEntry + ` WHERE e.conversation = ? AND e.seq <= ?` + notExpired + ` ORDER BY e.seq DESC LIMIT ?`,
		"of request":      selectEntry + ` WHERE e.request = ? AND e.request <> '' ORDER BY e.seq`,
		"compaction":      selectEntry + ` WHERE e.conversation = ? AND e.type = 'compaction' AND e.seq <= ? ORDER BY e.seq DESC LIMIT 1`,
		"entry by id":     `SELECT id FROM entries WHERE conversation = ? AND id = ?`,
		"settle":          `UPDATE notifications SET state = ? WHERE request = ? AND request <> '' AND state = 'claimed'`,
		"cover":           `UPDATE notifications SET state = 'claimed' WHERE agent = ? AND conversation = ? AND state = 'pending' AND seq <= ?`,
		"last step":       `SELECT COALESCE(max(n), 0) FROM steps WHERE request = ?`,
		"open tool steps": `SELECT n FROM steps s WHERE s.request = ? AND s.kind = 'tool' AND s.state IN ('planned', 'started') ORDER BY s.n`,
		"children":        `SELECT id FROM requests WHERE parent = ? AND parent <> '' AND finished_at = 0`,
		"children, all":   selectChildren + ` ORDER BY s.n`,
		"waits for":       waitsFor,
		"below":           below,
		"unannounced":     `SELECT id FROM requests r WHERE r.announced_at = 0 AND r.finished_at > 0 AND r.origin = 'queued' ORDER BY r.finished_at LIMIT 1`,
		"late":            `SELECT r.id FROM requests r WHERE r.finished_at = 0 AND r.deadline > 0 AND r.deadline <= ? AND r.cancel_at = 0`,
		"left behind":     selectTurn + ` WHERE r.agent = ? AND r.finished_at = 0 AND (r.owner_epoch <> ? OR r.owner_lease <> ?) AND (r.state = 'running' OR r.origin = 'foreground') ORDER BY r.n`,
	} {
		args := make([]any, strings.Count(text, "?"))
		rows, err := s.db.file.rdb.Query("EXPLAIN QUERY PLAN "+text, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if detail == "SCAN up" || detail == "SCAN down" { // the results of a recursion
				continue
			}
			if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "USING") || strings.Contains(detail, "TEMP B-TREE FOR ORDER BY") && name != "of request" {
				t.Errorf("%s: %s", name, detail)
			}
		}
		rows.Close()
	}
}
