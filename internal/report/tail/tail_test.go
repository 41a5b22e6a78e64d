package tail

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/store/pgtest"
)

var servers pgtest.Shared

// world is a store with two chats and a Tail of it.
type world struct {
	*testing.T
	*store.Store
	tail  *Tail
	rooms [2]fika.ConversationID
	from  store.Cursor
}

func newWorld(t *testing.T, opt store.Options) *world {
	s, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w := &world{T: t, Store: s, tail: New(s.Events)}
	t.Cleanup(w.tail.HasBell())
	s.OnEvents(w.tail.Ring)
	for i := range w.rooms {
		c, err := s.CreateChat(t.Context(), fika.ConversationName(fmt.Sprint("room", i)))
		if err != nil {
			t.Fatal(err)
		}
		w.rooms[i] = c.ID
	}
	if w.from, err = s.Confirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) post(room int, text string) {
	w.Helper()
	if _, err := w.Post(w.Context(), store.Post{Conversation: w.rooms[room], From: "tool", Writer: fika.ByTool, Content: text}); err != nil {
		w.Error(err)
	}
}

func each(t *testing.T, test func(*world)) {
	t.Run("sqlite", func(t *testing.T) { test(newWorld(t, store.Options{Path: filepath.Join(t.TempDir(), "fika.db")})) })
	t.Run("postgres", func(t *testing.T) { test(newWorld(t, store.Options{URL: servers.URL(t)})) })
}

// TestEveryWatcherGetsAllOfItsScope: watchers that begin at any time, quick and slow, get
// each event of their scope once and in order while others write.
func TestEveryWatcherGetsAllOfItsScope(t *testing.T) {
	each(t, func(w *world) {
		const total = 3 * kept / 2
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				scope := Scope{Content: i%2 == 0, Kinds: []store.EventKind{store.EntryEvent}}
				want := int64(total)
				if i < 3 {
					scope.Conversations = w.rooms[:1]
				}
				last := map[fika.ConversationID]int64{}
				n := 0
				for e, err := range w.tail.Watch(w.Context(), scope, w.from) {
					switch {
					case err != nil:
						w.Error(err)
						return
					case e.Kind == Mark:
						continue
					case e.Kind != store.EntryEvent || e.Seq != last[e.Conversation]+1 || i < 3 && e.Conversation != w.rooms[0]:
						w.Errorf("watcher %d: %s %d after %d", i, e.Kind, e.Seq, last[e.Conversation])
						return
					case scope.Content && (e.Entry == nil || !strings.HasPrefix(e.Entry.Content, "text")):
						w.Errorf("watcher %d: entry %d has no text", i, e.Seq)
						return
					}
					last[e.Conversation] = e.Seq
					if n++; n == 10 && i == 1 {
						for last := w.from; last.N < w.from.N+total; { // until far more is written than is kept
							var err error
							if last, err = w.Confirmed(w.Context()); err != nil {
								w.Error(err)
								return
							}
						}
					}
					if last[w.rooms[0]] == want && (i < 3 || last[w.rooms[1]] == want) {
						return
					}
				}
				w.Errorf("watcher %d ended early", i)
			})
		}
		for room := range 2 {
			wg.Go(func() {
				for n := range total {
					w.post(room, fmt.Sprint("text ", n))
				}
			})
		}
		wg.Wait()
	})
}

// TestMarks: a watcher that wants little learns how far it has come.
func TestMarks(t *testing.T) {
	each(t, func(w *world) {
		for range markAfter + 1 {
			w.post(1, "x")
		}
		w.post(0, "wanted")
		var got []store.EventKind
		for e, err := range w.tail.Watch(w.Context(), Scope{Conversations: w.rooms[:1]}, w.from) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e.Kind); len(got) == 1 {
				if e.Kind != Mark || e.N <= w.from.N {
					t.Fatalf("first comes %s %d", e.Kind, e.N)
				}
				// Who goes on from the mark misses nothing.
				for next, err := range w.tail.Watch(w.Context(), Scope{Conversations: w.rooms[:1]}, e.Cursor()) {
					if err != nil || next.Kind != store.EntryEvent {
						t.Fatal(next, err)
					}
					break
				}
			}
			if e.Kind == store.EntryEvent {
				break
			}
		}
		if fmt.Sprint(got) != "[mark entry]" {
			t.Error(got)
		}
	})
}

// TestReset: a place that is not in the store ends the stream with a reset.
func TestReset(t *testing.T) {
	each(t, func(w *world) {
		for _, from := range []store.Cursor{{N: w.from.N + 5, At: w.from.At}, {N: w.from.N, At: w.from.At + 1}} {
			var got []store.EventKind
			for e, err := range w.tail.Watch(w.Context(), Scope{}, from) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Kind)
			}
			if fmt.Sprint(got) != "[reset]" {
				t.Error(got)
			}
		}
	})
}

// TestUntilAndTree: a watcher of a request gets what that causes, and ends with it.
func TestUntilAndTree(t *testing.T) {
	each(t, func(w *world) {
		ctx := t.Context()
		a, err := w.EnsureAgent(ctx, store.NewAgent{Name: "coder"})
		if err != nil {
			t.Fatal(err)
		}
		accept := func(id, parent fika.RequestID) {
			if _, err := w.Accept(ctx, store.NewRequest{ID: id, Kind: fika.TaskRequest, Agent: a.ID, Parent: parent, Payload: fika.Payload{Prompt: "x"}}); err != nil {
				t.Fatal(err)
			}
		}
		accept("root", "")
		accept("child", "root")
		accept("other", "")
		for _, id := range []fika.RequestID{"other", "child", "root"} {
			if _, err := w.Cancel(ctx, id, ""); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		scope := Scope{Requests: []fika.RequestID{"root"}, Tree: true, Until: true, Kinds: []store.EventKind{store.RequestEvent}}
		for e, err := range w.tail.Watch(ctx, scope, w.from) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(e.Request)+" "+e.State)
		}
		if want := "[root open child open child cancelled root cancelled]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
}

// TestMayIsAsked: what a watcher may not see is left out, and an error ends the stream.
func TestMayIsAsked(t *testing.T) {
	each(t, func(w *world) {
		w.post(1, "secret")
		w.post(0, "open")
		broken := errors.New("broken")
		for _, c := range []struct {
			may  func(context.Context, store.Event) (bool, error)
			want string
		}{
			{func(_ context.Context, e store.Event) (bool, error) { return e.Conversation == w.rooms[0], nil }, "open <nil>"},
			{func(context.Context, store.Event) (bool, error) { return true, broken }, " broken"},
		} {
			for e, err := range w.tail.Watch(w.Context(), Scope{Content: true, May: c.may}, w.from) {
				text := ""
				if e.Entry != nil {
					text = e.Entry.Content
				}
				if got := fmt.Sprint(text, " ", err); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				break
			}
		}
	})
}

// TestLookThenWatch: what is committed while the state is read is in the state or comes.
func TestLookThenWatch(t *testing.T) {
	each(t, func(w *world) {
		at, err := w.tail.Look(w.Context(), func(context.Context) error { w.post(0, "meanwhile"); return nil })
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
		defer cancel()
		for e, err := range w.tail.Watch(ctx, Scope{}, at) {
			if err != nil || e.Kind != store.EntryEvent {
				t.Error(e, err)
			}
			return
		}
		t.Error("it never came")
	})
}
