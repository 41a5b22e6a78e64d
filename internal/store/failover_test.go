package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/store/pgtest"
)

// TestFailover removes a server for good while a store writes, and lets its standby
// take over: writes wait and go on there, and everything acknowledged is there,
// because the first server had waited for the standby.
func TestFailover(t *testing.T) {
	servers.Server(t) // may skip the test
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := pgtest.Start(pgtest.Find())
	ok(err)
	defer first.Close()
	second, err := first.Standby()
	ok(err)
	defer second.Close()
	ok(first.Exec(t.Context(), `ALTER SYSTEM SET synchronous_standby_names = 'standby'`))
	ok(first.Exec(t.Context(), `SELECT pg_reload_conf()`))
	until(t, func(ctx context.Context) (bool, error) {
		n, err := first.Number(ctx, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`)
		return n == 1, err
	})

	s := open(t, store.Options{URL: "postgres://postgres@/postgres?search_path=team&host=" + first.Dir + "," + second.Dir, BusyWait: time.Minute})
	room, err := s.CreateChat(t.Context(), "room")
	ok(err)
	said := map[fika.EntryID]bool{}
	post := func(n int) {
		t.Helper()
		p, err := s.Post(t.Context(), store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: fmt.Sprint(n)})
		ok(err)
		said[p.Entry.ID] = true
	}
	for n := range 20 {
		post(n)
	}
	// A write waits while no server accepts writes. It is sent before the standby
	// takes over and answered after.
	gone := make(chan error, 1)
	go func() {
		first.Kill()
		gone <- second.Promote()
	}()
	for n := 20; n < 60; n++ {
		post(n)
	}
	ok(<-gone)
	for n := 60; n < 80; n++ {
		post(n)
	}
	list, err := s.Entries(t.Context(), store.EntryQuery{Conversation: room.ID})
	ok(err)
	for _, e := range list {
		delete(said, e.ID)
	}
	if len(said) > 0 || len(list) != 80 {
		t.Errorf("%d messages were acknowledged and are gone; there are %d of 80", len(said), len(list))
	}
	m, err := s.Meta(t.Context())
	ok(err)
	if m.Schema == 0 || m.Latency == 0 {
		t.Errorf("the store says of its server: %+v", m)
	}
}

// until polls until a condition holds, and fails the test if that takes too long.
func until(t *testing.T, is func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		yes, err := is(ctx)
		if yes {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("it does not come to be: %v", err)
		case <-look.C:
		}
	}
}
