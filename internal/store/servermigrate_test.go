package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestMigrationWaitsForOthers: hubs of a newer version wait while one of an older version uses
// the schema, say for whom, and leave it as it is; they do not wait for each other, and when
// the older one has left, one of them migrates. Commands say who is in the way. What was
// suspended meanwhile finds that it has lost its host and its agents.
func TestMigrationWaitsForOthers(t *testing.T) {
	url := servers.Server(t).URL()
	opt := store.Options{URL: url, BusyWait: time.Minute}
	if err := store.MakeServerSchema(t.Context(), opt, 41,
		`INSERT INTO hosts (id, name, version, session, until) VALUES ('h2', 'box', 'v1', 'suspended', CAST(extract(epoch FROM now()) * 1000 AS BIGINT) + 1000000)`,
		`INSERT INTO agents (id, name, created_at, home_id, owner, lease, epoch) VALUES ('a1', 'coder', 1, 'h2', 'p', 'old', 3)`); err != nil {
		t.Fatal(err)
	}
	const why = "used by the host box with fika v1"
	for _, o := range []store.Options{{URL: url}, {URL: url, Looks: true}} {
		want := map[bool]string{true: why, false: "the host box with fika v1"}[o.Looks]
		if _, err := store.Open(t.Context(), o); !fika.IsKind(err, fika.Locked) || !strings.Contains(err.Error(), want) {
			t.Errorf("beside an older host: %v", err)
		}
	}
	told, opened := make(chan string, 10), make(chan error, 2)
	for range 2 {
		o := opt
		o.Patient = func(why string) { told <- why }
		go func() {
			s, err := store.Open(context.WithoutCancel(t.Context()), o)
			if err == nil {
				err = s.Close()
			}
			opened <- err
		}()
	}
	for range 2 {
		if got := <-told; !strings.Contains(got, why) {
			t.Errorf("told %q", got)
		}
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	var version string
	if err := c.QueryRow(t.Context(), `SELECT value FROM meta WHERE key = 'schema'`).Scan(&version); err != nil || version != "41" {
		t.Errorf("while it is used, the schema is at %s, %v", version, err)
	}
	if _, err := c.Exec(t.Context(), `UPDATE hosts SET until = 0`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
	var left string
	if err := c.QueryRow(t.Context(), `SELECT h.session || a.lease || a.owner || a.epoch FROM hosts h, agents a`).Scan(&left); err != nil || left != "4" {
		t.Errorf("what was suspended still holds %q, %v", left, err)
	}
}

// TestAHostDoesNotMigrate: with the role of a host, the tables cannot be migrated; it waits for
// the owner.
func TestAHostDoesNotMigrate(t *testing.T) {
	server := servers.Server(t)
	url := server.URL()
	schema := url[strings.LastIndex(url, "=")+1:]
	if err := store.MakeServerSchema(t.Context(), store.Options{URL: url}, 41); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(t.Context(), `CREATE ROLE fika_before LOGIN; GRANT USAGE ON SCHEMA `+schema+` TO fika_before; GRANT SELECT ON ALL TABLES IN SCHEMA `+schema+` TO fika_before`); err != nil {
		t.Fatal(err)
	}
	as := store.Options{URL: strings.Replace(url, "postgres@", "fika_before@", 1)}
	if _, err := store.Open(t.Context(), as); !fika.IsKind(err, fika.Locked) || !strings.Contains(err.Error(), "the host whose role owns the tables has to migrate them") {
		t.Errorf("a host migrates: %v", err)
	}
}
