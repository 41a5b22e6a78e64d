package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fika"
	"fika/internal/store"
	"fika/internal/turn"
)

// TestTailReadsAsTheStore: whatever is written between two reads, and wherever they
// begin, a tail returns what the store returns.
func TestTailReadsAsTheStore(t *testing.T) {
	w, n := newWorld(t), 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		tail := turn.NewTail(w.store)
		rooms := []fika.ConversationID{w.room(fika.ConversationName(fmt.Sprint("hall", n))), w.room(fika.ConversationName(fmt.Sprint("yard", n)))}
		written := 0
		r.Repeat(map[string]func(*rapid.T){
			"write": func(r *rapid.T) {
				room := rapid.SampledFrom(rooms).Draw(r, "room")
				for range rapid.IntRange(1, 10).Draw(r, "messages") {
					written++
					w.say(room, store.Post{Content: fmt.Sprintf("message %d", written)})
				}
			},
			"write much": func(r *rapid.T) {
				w.say(rapid.SampledFrom(rooms).Draw(r, "room"), store.Post{Content: strings.Repeat("a long story ", 10_000)})
			},
			"write with an end": func(r *rapid.T) {
				w.say(rapid.SampledFrom(rooms).Draw(r, "room"), store.Post{Content: "soon forgotten", TTL: time.Hour})
			},
			"pass time": func(*rapid.T) { w.clock += 40 * time.Minute },
			"clean": func(*rapid.T) {
				_, err := w.store.Cleanup(w.Context(), store.CleanupOptions{EmptyAge: 1000 * time.Hour})
				w.ok(err)
			},
			"read": func(r *rapid.T) {
				room := rapid.SampledFrom(rooms).Draw(r, "room")
				upto := int64(rapid.IntRange(1, written+3).Draw(r, "upto"))
				limit := rapid.SampledFrom([]int{1, 2, 32, 256}).Draw(r, "limit")
				want, err := w.store.Before(w.Context(), room, upto, limit)
				w.ok(err)
				got, err := tail.Before(w.Context(), room, upto, limit)
				w.ok(err)
				if len(want)+len(got) > 0 {
					if d := cmp.Diff(want, got); d != "" {
						r.Fatalf("up to %d, at most %d: %s", upto, limit, d)
					}
				}
			},
		})
	})
}

// TestTailReadsWhatIsNew: in a long conversation a second read costs only the entries
// that came since the first.
func TestTailReadsWhatIsNew(t *testing.T) {
	w := newWorld(t)
	room := w.room("hall")
	for i := range 300 {
		w.say(room, store.Post{Content: fmt.Sprintf("message %d", i)})
	}
	reads := 0
	tail := turn.NewTail(counting{w.store, &reads})
	read := func(upto int64, want int) {
		t.Helper()
		reads = 0
		page, err := tail.Before(t.Context(), room, upto, 256)
		w.ok(err)
		if len(page) != 256 || page[0].Seq != upto {
			t.Fatalf("%d entries from %d", len(page), page[0].Seq)
		}
		if reads > want {
			t.Errorf("%d entries were read for a window up to %d; at most %d are new or near", reads, upto, want)
		}
	}
	read(300, 8+256)
	read(300, 0)
	w.say(room, store.Post{Content: "new"})
	read(301, 8)
}

// room makes a chat.
func (w *world) room(name fika.ConversationName) fika.ConversationID {
	w.Helper()
	c, err := w.store.CreateChat(w.Context(), name)
	w.ok(err)
	return c.ID
}

func (w *world) say(room fika.ConversationID, p store.Post) {
	w.Helper()
	p.Conversation, p.From, p.Writer = room, "ann", fika.ByHuman
	_, err := w.store.Post(w.Context(), p)
	w.ok(err)
}
