package contexts_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/store"
)

// TestLargeContextIsReadInParts: what a look at the end of a context takes does not grow
// with what was said in it, and reading all of it holds little at once.
func TestLargeContextIsReadInParts(t *testing.T) {
	a := elsewhere(t)
	const text = "a sentence or two, as people write them when they explain something"
	fill := func(name fika.AgentName, n int) {
		t.Helper()
		prompt(t, a, name, "hi")
		s, err := a.Store(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		row, err := s.Agent(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		list := make([]fika.Entry, n)
		for i := range list {
			list[i] = fika.Entry{ID: fika.EntryID(fmt.Sprint(i)), At: time.Now(), From: "user", To: string(name), Type: fika.Message, Content: fmt.Sprintf("%d %s", i, text)}
		}
		if _, err := s.Import(t.Context(), row.ActiveAsk, list); err != nil {
			t.Fatal(err)
		}
		if err := s.IndexWords(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	const many = 20_000
	fill("small", 200)
	fill("large", many)
	looks := map[string]func(name fika.AgentName) (string, error){
		"last": func(name fika.AgentName) (out string, err error) {
			r, err := contexts.OpenReader(t.Context(), a, asker, folderOf(t, a, name))
			if err != nil {
				return "", err
			}
			err = r.Read(t.Context(), contexts.Part{Last: 3}, func(e fika.Entry) error { out += e.Content + "\n"; return nil })
			return out, err
		},
		"show": func(name fika.AgentName) (string, error) {
			c, err := contexts.Describe(t.Context(), a, asker, folderOf(t, a, name))
			return fmt.Sprint(c.Messages, c.Entries, c.Archived), err
		},
		"search": func(name fika.AgentName) (string, error) {
			s, err := a.Store(t.Context())
			if err != nil {
				return "", err
			}
			row, err := s.Agent(t.Context(), name)
			if err != nil {
				return "", err
			}
			found, err := s.Search(t.Context(), "sentence", store.ConversationFilter{Agent: row.ID, Limit: 2})
			return fmt.Sprint(len(found)), err
		},
	}
	for name, look := range looks {
		took := map[fika.AgentName]uint64{}
		answer := map[fika.AgentName]string{}
		for _, of := range []fika.AgentName{"small", "large", "small", "large"} { // twice: the first look prepares statements
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := look(of)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(name, err)
			}
			took[of], answer[of] = after.TotalAlloc-before.TotalAlloc, got
		}
		// All of the large one would be some 40 MiB; show reads back as much
		// as the model's window takes.
		if most := took["small"] + 16<<20; took["large"] > most {
			t.Errorf("%s allocates %d KiB in a context of %d entries, %d in one of 200", name, took["large"]>>10, many, took["small"]>>10)
		}
		t.Logf("%s: %d KiB, %d in a small one: %q", name, took["large"]>>10, took["small"]>>10, answer["large"])
	}
	if got, err := looks["last"]("large"); err != nil || got != fmt.Sprintf("%d %s\n%d %s\n%d %s\n", many-3, text, many-2, text, many-1, text) {
		t.Errorf("the last three: %q %v", got, err)
	}
	n := 0
	r, err := contexts.OpenReader(t.Context(), a, asker, folderOf(t, a, "large"))
	if err != nil {
		t.Fatal(err)
	}
	usual := watchHeap()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := r.Read(t.Context(), contexts.Part{Archived: true}, func(fika.Entry) error {
		if n++; n%5000 == 0 {
			runtime.GC()
		}
		return nil
	}); err != nil || n < many {
		t.Fatal(n, err)
	}
	if got := usual(); got > before.HeapAlloc+4<<20 {
		t.Errorf("reading all holds %d KiB at once, %d before", got>>10, before.HeapAlloc>>10)
	}
}
