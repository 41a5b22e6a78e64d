package store_test

import (
	"context"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// TestFaultsOfAServer: only a mistake of ours is an error that ends work. Anything
// else that a server reports is worth another try, or for a person to fix.
func TestFaultsOfAServer(t *testing.T) {
	for state, want := range map[string]string{
		"40P01": "busy",    // deadlock
		"40001": "busy",    // serialization failure
		"55P03": "busy",    // lock timeout
		"53300": "busy",    // too many connections
		"57014": "busy",    // cancelled by its administrator
		"57P01": "busy",    // shutting down
		"57P03": "busy",    // starting up
		"08006": "busy",    // connection failure
		"25P03": "busy",    // ended because it was idle in a transaction
		"26000": "busy",    // a prepared statement is gone: there is a proxy in between
		"72000": "busy",    // unknown to every version so far
		"25006": "storage", // read-only
		"53100": "storage", // disk full
		"XX001": "storage", // damaged
		"28P01": "storage", // password
		"42P01": "storage", // no such table
		"42601": "failed",  // syntax
		"22P02": "failed",  // not a number
		"23514": "failed",  // a check
	} {
		if got := store.FaultOf(state); got != want {
			t.Errorf("%s is %s, not %s", state, got, want)
		}
	}
}

// TestSilentServer: a server that keeps its connections but answers nothing counts as
// gone: calls say so in time, none reports an ended context, and commits made during
// the silence are found.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	p := newCutter(t, servers.Server(t).Dir, 0)
	_, query, _ := cutURL(servers.URL(t))
	opt := store.Options{URL: "postgres://postgres@/postgres?host=" + p.dir + "&" + query, BusyWait: time.Minute}
	open(t, opt) // creates the schema, which may take its time
	opt.TryFor(time.Second)
	s := open(t, opt)
	opt.BusyWait = 100 * time.Millisecond
	hasty := open(t, opt)
	ctx := t.Context()
	room, err := s.CreateChat(ctx, "room")
	if err != nil {
		t.Fatal(err)
	}
	post := func(s *store.Store, text string) error {
		_, err := s.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: text})
		return err
	}
	p.silent.Store(true)
	if _, err := hasty.Entries(ctx, store.EntryQuery{Conversation: room.ID}); !store.IsBusy(err) || !fika.IsKind(err, fika.Storage) {
		t.Errorf("reading says %v", err)
	}
	if err := post(hasty, "lost"); !store.IsBusy(err) || !fika.IsKind(err, fika.Storage) {
		t.Errorf("writing says %v", err)
	}
	p.silent.Store(false)
	until(t, func(ctx context.Context) (bool, error) {
		_, err := hasty.Entries(ctx, store.EntryQuery{Conversation: room.ID})
		return err == nil, err
	})
	if err := post(s, "first"); err != nil {
		t.Error(err)
	}
	p.muteAt = p.commits.Load() + 1
	done := make(chan error, 1)
	go func() { done <- post(s, "second") }()
	for !p.silent.Load() {
		select {
		case err := <-done:
			t.Fatalf("nothing was committed: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	p.silent.Store(false)
	if err := <-done; err != nil {
		t.Error(err)
	}
	entries, err := s.Entries(ctx, store.EntryQuery{Conversation: room.ID})
	if err != nil || len(entries) != 2 || entries[0].Content != "first" || entries[1].Content != "second" {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

// TestSilentConnecting: a server that accepts connections and answers none of them counts as
// gone, too: connecting has a time of its own, and that it is over ends no work.
func TestSilentConnecting(t *testing.T) {
	t.Parallel()
	p := newCutter(t, servers.Server(t).Dir, 0)
	_, query, _ := cutURL(servers.URL(t))
	opt := store.Options{URL: "postgres://postgres@/postgres?connect_timeout=1&host=" + p.dir + "&" + query, BusyWait: 100 * time.Millisecond}
	opt.TryFor(3 * time.Second)
	s := open(t, opt)
	p.silent.Store(true)
	for before := p.opened.Load(); p.opened.Load() < before+2; { // the first calls have a connection
		_, reading := s.ListAgents(t.Context())
		_, writing := s.CreateChat(t.Context(), "room")
		for what, err := range map[string]error{"reading": reading, "writing": writing} {
			if !store.IsBusy(err) || !fika.IsKind(err, fika.Storage) {
				t.Fatalf("%s says %v (%s)", what, err, fika.KindOf(err))
			}
		}
	}
}
