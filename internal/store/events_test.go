package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// seen is what a reader of events has got.
type seen struct {
	times map[int64]int                 // by number
	last  map[fika.ConversationID]int64 // seq of the last entry
	order error
	lives int // processes that have read for it
}

// follow runs a watcher as a process of its own, from a cursor on, and returns the cursor
// of the last event that it has got from it. The process is killed after lifetime events, in
// the middle of whatever it does; one that begins when nobody writes any more is read to
// the end.
func (s *seen) follow(t *testing.T, opt store.Options, at store.Cursor, lifetime int, done func() bool) (_ store.Cursor, over bool, err error) {
	last := done() // then all that it will read is committed
	w := watcherOf(t, opt, at)
	out, err := w.StdoutPipe()
	if err != nil {
		return at, false, err
	}
	if err := w.Start(); err != nil {
		return at, false, err
	}
	defer func() {
		_ = w.Process.Kill()
		_ = w.Wait()
	}()
	if err := w.start.Close(); err != nil {
		return at, false, err
	}
	lines := bufio.NewScanner(out)
	for got := 0; lines.Scan(); {
		switch text := lines.Text(); {
		case text == caughtUp && last:
			return at, true, nil
		case got >= lifetime && !last, text == caughtUp && done():
			return at, false, nil
		case text != caughtUp:
			got++
			if at, err = s.take(text); err != nil {
				return at, false, err
			}
		}
	}
	return at, false, fmt.Errorf("the watcher ended by itself: %w", errors.Join(lines.Err(), w.Wait()))
}

// take counts an event as a watcher has printed it, and returns its cursor.
func (s *seen) take(line string) (store.Cursor, error) {
	var cursor, kind string
	var room fika.ConversationID
	var seq int64
	if _, err := fmt.Sscan(line, &cursor, &kind, &room, &seq); err != nil {
		return store.Cursor{}, fmt.Errorf("%q: %w", line, err)
	}
	at, err := store.ParseCursor(cursor)
	if err != nil {
		return at, err
	}
	s.times[at.N]++
	if store.EventKind(kind) == store.EntryEvent {
		if seq != s.last[room]+1 && s.order == nil {
			s.order = fmt.Errorf("entry %d of %s comes after %d", seq, room, s.last[room])
		}
		s.last[room] = seq
	}
	return at, nil
}

// caughtUp is what a watcher prints when there is nothing more for now.
const caughtUp = "-"

// watcherOf returns a process that prints the events behind a cursor, a line each.
func watcherOf(t *testing.T, opt store.Options, at store.Cursor) *actor {
	w := actors(t, 1, "watch", opt.Path)[0]
	w.Stdout = nil
	w.Env = append(w.Env, "FIKA_STORE_TEST_URL="+opt.URL, "FIKA_STORE_TEST_CURSOR="+at.String())
	if opt.PassesGaps() {
		w.Env = append(w.Env, "FIKA_STORE_TEST_PASS=1")
	}
	return w
}

// watch is the watcher: it prints what is committed until it is killed.
func watch(ctx context.Context, s *store.Store) error {
	at, err := store.ParseCursor(os.Getenv("FIKA_STORE_TEST_CURSOR"))
	if err != nil {
		return err
	}
	for tail := s.Tail(at); ; {
		list, err := tail.Next(ctx, 200, false)
		if err != nil {
			return err
		}
		for _, e := range list {
			fmt.Println(e.Cursor(), e.Kind, e.Conversation, e.Seq)
		}
		if len(list) == 0 {
			fmt.Println(caughtUp)
			<-time.After(5 * time.Millisecond)
		}
	}
}

// errUndo rolls a transaction back.
var errUndo = errors.New("undo")

// watched runs eight writers, each with a store of its own, and two watchers, which are
// processes that are killed again and again and go on from their cursors.
func watched(t *testing.T, opt store.Options, total int) (readers [2]*seen, want int64) {
	ctx := t.Context()
	rooms := make([]fika.ConversationID, 4)
	main := open(t, opt)
	for i := range rooms {
		c, err := main.CreateChat(ctx, fika.ConversationName(fmt.Sprint("room", i)))
		if err != nil {
			t.Fatal(err)
		}
		rooms[i] = c.ID
	}
	from, err := main.Confirmed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var writing atomic.Int32
	var wrote atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		s := open(t, opt)
		writing.Add(1)
		wg.Go(func() {
			defer writing.Add(-1)
			for n := range total / 8 {
				if n%40 == 39 { // a number is taken and never seen
					if err := s.TakeNumber(ctx, errUndo); !errors.Is(err, errUndo) {
						t.Errorf("undone: %v", err)
					}
				}
				_, err := s.Post(ctx, store.Post{Conversation: rooms[(i+n)%len(rooms)], From: "tool", Writer: fika.ByTool, Content: "x"})
				if err != nil {
					t.Error(err)
					return
				}
				wrote.Add(1)
			}
		})
	}
	for i := range readers {
		got := &seen{times: map[int64]int{}, last: map[fika.ConversationID]int64{}}
		readers[i] = got
		wg.Go(func() {
			at, over, err := from, false, error(nil)
			for err == nil && !over {
				at, over, err = got.follow(t, opt, at, total/8, func() bool { return writing.Load() == 0 })
				got.lives++
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return readers, wrote.Load()
}

// missing returns how many of the events a reader did not get, or got out of order.
func (s *seen) missing(want int64) (missed, twice int64, order error) {
	missed = want
	for _, n := range s.times {
		missed--
		if n > 1 {
			twice++
		}
	}
	return missed, twice, s.order
}

// TestEventsAreSeenOnceAndInOrder: whatever eight writers do at once, each reader gets
// each event once, and the entries of a conversation in their order.
func TestEventsAreSeenOnceAndInOrder(t *testing.T) {
	total := 20_000
	if testing.Short() {
		total = 2_000
	}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			readers, want := watched(t, e.new(t), total)
			for i, r := range readers {
				if missed, twice, order := r.missing(want); missed != 0 || twice != 0 || order != nil || r.lives < 3 {
					t.Errorf("reader %d of %d events in %d lives: %d missed, %d twice, %v", i, want, r.lives, missed, twice, order)
				}
			}
		})
	}
}

// TestEventsNeedTheGapCheck is the control of what readers do with a gap: without the
// check they pass the number of a writer that has not committed, and miss its event.
func TestEventsNeedTheGapCheck(t *testing.T) {
	opt := store.Options{URL: servers.URL(t)}
	opt.PassGaps()
	before, after := overHungWriter(t, opt)
	if len(before) != 3 || len(after) != 0 {
		t.Errorf("%d events are read while a writer hangs, and %d afterwards: want 3 and none", len(before), len(after))
	}
}

// TestHungWriterDelaysReadersOnly: while a writer holds a number and does not commit,
// others write on, and readers wait for it.
func TestHungWriterDelaysReadersOnly(t *testing.T) {
	before, after := overHungWriter(t, store.Options{URL: servers.URL(t)})
	if len(before) != 0 || len(after) != 4 || after[0].Kind != store.PauseEvent {
		t.Errorf("%d events are read while a writer hangs, and %d afterwards: want none and 4, the writer's first", len(before), len(after))
	}
}

// overHungWriter has a writer take a number and hang while others write three events, and
// returns what a reader reads meanwhile, in several looks, and after the writer's commit.
func overHungWriter(t *testing.T, opt store.Options) (before, after []store.Event) {
	t.Helper()
	s, hung := open(t, opt), open(t, opt)
	ctx := t.Context()
	room, err := s.CreateChat(ctx, "room")
	if err != nil {
		t.Fatal(err)
	}
	from, err := s.Confirmed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	taken, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() { ended <- hung.TakeNumber(ctx, nil, func() { close(taken); <-release }) }()
	<-taken
	for range 3 {
		if _, err := s.Post(ctx, store.Post{Conversation: room.ID, From: "tool", Writer: fika.ByTool, Content: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	tail := s.Tail(from)
	for range 3 {
		list, err := tail.Next(ctx, 10, false)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, list...)
	}
	if c, err := s.Confirmed(ctx); err != nil || len(before) == 0 && c != from {
		t.Errorf("confirmed up to %s, want %s: %v", c, from, err)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if after, err = tail.Next(ctx, 10, false); err != nil {
		t.Fatal(err)
	}
	return before, after
}

// TestEventsMoveWithTheStore: a copy has the events, gives none of their numbers again,
// and knows the cursors.
func TestEventsMoveWithTheStore(t *testing.T) {
	ctx := t.Context()
	from := open(t, store.Options{Path: t.TempDir() + "/fika.db"})
	server := open(t, store.Options{URL: servers.URL(t)})
	back := open(t, store.Options{Path: t.TempDir() + "/back.db"})
	room, err := from.CreateChat(ctx, "room")
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct{ from, to *store.Store }{{from, server}, {server, back}} {
		at, err := step.from.Confirmed(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := step.from.CopyTo(ctx, step.to, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := step.to.Post(ctx, store.Post{Conversation: room.ID, From: "tool", Writer: fika.ByTool, Content: "x"}); err != nil {
			t.Fatal(err)
		}
		list, err := step.to.Tail(at).Next(ctx, 10, true)
		if err != nil || len(list) != 1 || list[0].Seq != int64(i+1) || list[0].N <= at.N || list[0].Entry == nil {
			t.Fatalf("after the move: %v, %v", list, err)
		}
	}
	file := t.TempDir() + "/backup.db"
	if err := server.Backup(ctx, file); err != nil {
		t.Fatal(err)
	}
	at, err := server.Confirmed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, store.Options{Path: file, Existing: true}).Tail(at).Next(ctx, 10, false); err != nil {
		t.Errorf("a backup does not know the cursor: %v", err)
	}
	if _, err := server.Post(ctx, store.Post{Conversation: room.ID, From: "tool", Writer: fika.ByTool, Content: "later"}); err != nil {
		t.Fatal(err)
	}
	later, err := server.Confirmed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, store.Options{Path: file, Existing: true}).Tail(later).Next(ctx, 10, false); !errors.Is(err, store.ErrReset) {
		t.Errorf("a cursor from after the backup: %v", err)
	}
}

// FuzzCursor: what is read as a cursor is written as it was read.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{"0", "1.2", "12.1767225600000", "-1.2", "1", "1.", ".", "01.2", "9223372036854775808.1", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := store.ParseCursor(text); err == nil && c.String() != text {
			t.Errorf("%q is read as %s", text, c)
		}
	})
}

// TestKeysSurviveALostAnswer: a write with a key whose answer is lost is done once, and
// says so itself.
func TestKeysSurviveALostAnswer(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			opt := e.new(t)
			var lost atomic.Bool
			opt.Lose(func() bool { return lost.CompareAndSwap(true, false) })
			s := open(t, opt)
			key := store.Key{Kind: "person", Name: "ann", Door: "cli", Text: "k", Verb: "chat.create"}
			lost.Store(true)
			c, err := s.Once(key).CreateChat(t.Context(), "room")
			if err != nil || c.Name != "room" {
				t.Fatal(c, err)
			}
			_, err = s.Once(key).CreateChat(t.Context(), "room")
			var done *store.Repeated
			if !errors.As(err, &done) {
				t.Fatal(err)
			}
			if done.Last(store.ConversationEvent).Conversation != c.ID {
				t.Error(done.Results)
			}
		})
	}
}
