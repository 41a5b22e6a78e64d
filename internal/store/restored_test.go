package store_test

import (
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/store/pgtest"
)

// TestRestoredDatabase: a server that is gone and comes back with all that it had
// acknowledged is gone on with. One that comes back as it was at an earlier time, as after a
// backup was restored, or with another store, is noticed by whoever used it, and said; who
// opens it then goes on with what is there.
func TestRestoredDatabase(t *testing.T) {
	servers.Server(t) // may skip the test
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	server, err := pgtest.Start(pgtest.Find())
	ok(err)
	defer server.Close()
	opt := store.Options{URL: "postgres://postgres@/postgres?search_path=team&host=" + server.Dir, BusyWait: time.Minute}
	s := open(t, opt)
	room, err := s.CreateChat(ctx, "room")
	ok(err)
	post := func(s *store.Store, text string) error {
		_, err := s.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: text})
		return err
	}
	lost := func(s *store.Store, says string) {
		t.Helper()
		for range 2 {
			if err := post(s, "nowhere"); !fika.IsKind(err, fika.Lost) || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, which does not say %q", err, says)
			}
			if _, err := s.Agent(ctx, "nobody"); !fika.IsKind(err, fika.Lost) {
				t.Errorf("a look: %v", err)
			}
		}
	}
	ok(post(s, "before the backup"))
	server.Kill()
	ok(server.Save())
	ok(server.Up())
	ok(post(s, "after the backup")) // gone and back, with everything
	server.Kill()
	ok(server.Restore())
	ok(server.Up())
	lost(s, "an older copy of the database")
	again := open(t, opt)
	list, err := again.Entries(ctx, store.EntryQuery{Conversation: room.ID})
	if err != nil || len(list) != 1 {
		t.Errorf("restored, it has %d entries, %v", len(list), err)
	}
	ok(post(again, "goes on"))

	ok(server.Exec(ctx, `ALTER SCHEMA team RENAME TO aside; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fika team'`))
	lost(again, "has no tables of fika's any more")
	other := open(t, opt)
	ok(server.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fika team'`))
	lost(again, "is another database now")
	if _, err := other.CreateChat(ctx, "other"); err != nil {
		t.Error(err)
	}
	ok(server.Exec(ctx, `UPDATE team.meta SET value = '999' WHERE key = 'schema'; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fika team'`))
	lost(other, "was migrated")
}
