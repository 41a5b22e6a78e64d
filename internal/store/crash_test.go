package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// TestServerCrashes crashes a PostgreSQL server again and again while stores take
// agents over from each other and post: everything acknowledged is there, no epoch is
// given twice, and no caller gets an error.
func TestServerCrashes(t *testing.T) {
	server := servers.Server(t)
	opt := store.Options{URL: servers.URL(t), BusyWait: time.Minute}
	first := open(t, opt)
	a, err := first.EnsureAgent(t.Context(), store.NewAgent{Name: "coder"})
	if err != nil {
		t.Fatal(err)
	}
	room, err := first.CreateChat(t.Context(), "room")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	epochs := map[fika.Epoch]int{}
	said := map[fika.EntryID]bool{}
	stop, posted := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for i := range 4 {
		s := open(t, opt)
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				l, err := s.Acquire(t.Context(), a.ID, fmt.Sprint("p", i), time.Hour, true)
				if err != nil {
					t.Error(err)
					return
				}
				p, err := s.Post(t.Context(), store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: fmt.Sprint(i, n)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				epochs[l.Epoch]++
				said[p.Entry.ID] = true
				mu.Unlock()
				select {
				case posted <- struct{}{}:
				default:
				}
			}
		})
	}
	for range rounds(t, 2, 20) {
		for range 20 { // under load
			select {
			case <-posted:
			case <-t.Context().Done():
				t.Fatal("nothing is posted any more")
			}
		}
		server.Kill()
		if err := server.Up(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	all.Wait()
	for e, n := range epochs {
		if n != 1 {
			t.Errorf("epoch %d was given %d times", e, n)
		}
	}
	entries, err := first.Entries(t.Context(), store.EntryQuery{Conversation: room.ID})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[fika.EntryID]bool{}
	contents := map[string]bool{}
	for i, e := range entries {
		if e.Seq != int64(i+1) || contents[e.Content] {
			t.Errorf("entry %d, %q, has seq %d", i+1, e.Content, e.Seq)
		}
		stored[e.ID], contents[e.Content] = true, true
	}
	for id := range said {
		if !stored[id] {
			t.Errorf("%s was acknowledged and is gone", id)
		}
	}
	t.Logf("%d posts, %d epochs", len(said), len(epochs))
}
