package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/store/pgtest"
)

// TestClockOfAProcess: a process whose clock is an hour fast or slow sees the same
// leases, deadlines and times to live as one whose clock is right, from its first
// call on.
func TestClockOfAProcess(t *testing.T) {
	opt := store.Options{URL: servers.URL(t)}
	right := open(t, opt)
	ctx := t.Context()
	a, err := right.EnsureAgent(ctx, store.NewAgent{Name: "coder"})
	if err != nil {
		t.Fatal(err)
	}
	room, err := right.CreateChat(ctx, "room")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := right.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "brief word", TTL: 30 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if _, err := right.Acquire(ctx, a.ID, "owner", 30*time.Minute, false); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []time.Duration{time.Hour, -time.Hour} {
		opt := opt
		opt.Wall(wrong)
		first := open(t, opt)
		if found, err := first.Search(ctx, "brief", store.ConversationFilter{}); err != nil || len(found) != 1 {
			t.Errorf("%v: %d found, %v", wrong, len(found), err)
		}
		if removed, err := first.Cleanup(ctx, store.CleanupOptions{}); err != nil || removed.Expired != 0 {
			t.Errorf("%v: cleanup removes %+v, %v", wrong, removed, err)
		}
		if _, err := first.Acquire(ctx, a.ID, "another", time.Minute, false); !fika.IsKind(err, fika.Locked) {
			t.Errorf("%v: the lease is taken over: %v", wrong, err)
		}
		p, err := first.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "now"})
		if err != nil || time.Since(p.Entry.At).Abs() > 10*time.Minute {
			t.Errorf("%v: an entry of %v, %v", wrong, p.Entry.At, err)
		}
	}
}

// TestServerThatMayNotBeUsed: a server that would lose acknowledged data, a schema
// from a newer fika and a database that cannot be written are refused with an error
// that says so.
func TestServerThatMayNotBeUsed(t *testing.T) {
	servers.Server(t)
	refused := func(t *testing.T, url, says string) {
		t.Helper()
		s, err := store.Open(t.Context(), store.Options{URL: url, BusyWait: time.Minute})
		if err == nil {
			_, err = s.CreateChat(t.Context(), "room")
			defer s.Close()
		}
		if !fika.IsKind(err, fika.Storage) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, which does not say %q", err, says)
		}
	}
	t.Run("fsync off", func(t *testing.T) {
		own, err := pgtest.Start(pgtest.Find(), "-c", "fsync=off")
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		refused(t, own.URL(), "turn fsync on")
	})
	t.Run("newer schema", func(t *testing.T) {
		server := servers.Server(t)
		url := server.URL()
		open(t, store.Options{URL: url})
		schema := url[strings.LastIndex(url, "=")+1:]
		if err := server.Exec(t.Context(), `UPDATE `+schema+`.meta SET value = '999' WHERE key = 'schema'`); err != nil {
			t.Fatal(err)
		}
		refused(t, url, "use a newer fika")
	})
	t.Run("read-only", func(t *testing.T) {
		url := servers.Server(t).URL()
		open(t, store.Options{URL: url})
		refused(t, url+"&default_transaction_read_only=on", "read-only")
	})
}

// TestRefusedConnections: the store waits for a server that refuses connections for a
// while, and loses nothing.
func TestRefusedConnections(t *testing.T) {
	server := servers.Server(t)
	ctx := context.WithoutCancel(t.Context())
	if err := server.Exec(ctx, `CREATE ROLE narrow LOGIN CONNECTION LIMIT 1; GRANT CREATE ON DATABASE postgres TO narrow`); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.URL(), "postgres@", "narrow@", 1)
	s := open(t, store.Options{URL: url, BusyWait: time.Minute})
	room, err := s.CreateChat(ctx, "room")
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(ctx, `ALTER ROLE narrow CONNECTION LIMIT 0; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'narrow'`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "waits"})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := server.Exec(ctx, `ALTER ROLE narrow CONNECTION LIMIT -1`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
