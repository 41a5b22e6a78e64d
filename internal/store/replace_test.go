package store_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// replacement returns what puts a story into a schema that a store has, with the rows of
// the story.
func replacement(t *testing.T, url string, own *store.Store) (r store.Replacement, want []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fika.db")
	story(t, store.Options{Path: file})
	from, err := store.Open(t.Context(), store.Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	if want, err = from.Dump(t.Context()); err == nil {
		err = from.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return store.Replacement{URL: url, File: file, Store: idOf(t, own), Home: "h"}, want
}

func idOf(t *testing.T, s *store.Store) string {
	t.Helper()
	m, err := s.Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m.StoreID
}

// TestReplace: the schema on a server is replaced all at once, the old rows stay
// under another name, and the remains of an interrupted call do not get in the way.
func TestReplace(t *testing.T) {
	url := servers.URL(t)
	old, err := store.Open(t.Context(), store.Options{URL: url})
	if err == nil {
		_, err = old.CreateChat(t.Context(), "before")
	}
	if err != nil {
		t.Fatal(err)
	}
	r, want := replacement(t, url, old)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for i, suffix := range []string{"one", "two"} {
		r.Suffix = suffix
		aside, err := r.ReplaceRows(t.Context())
		if err != nil || !strings.HasSuffix(aside, "_"+suffix) {
			t.Fatal(aside, err)
		}
		now, err := store.Open(t.Context(), store.Options{URL: url, Existing: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := now.Dump(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("round %d: %v\n got %q\nwant %q", i, err, got, want)
		}
		r.Store = idOf(t, now)
		if err := now.Close(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			kept := open(t, store.Options{URL: strings.Replace(url, "search_path="+strings.TrimSuffix(aside, "_one"), "search_path="+aside, 1), Existing: true})
			if _, err := kept.Conversation(t.Context(), "before"); err != nil {
				t.Errorf("what was set aside has lost its chat: %v", err)
			}
		}
	}
	if aside, err := (store.Replacement{URL: url + "_none", Suffix: "three"}).ReplaceRows(t.Context()); err != nil || aside != "" {
		t.Errorf("where nothing was: %q, %v", aside, err)
	}
}

// TestNobodysSchemaIsReplaced: a schema is left alone while somebody has it open or an
// agent is at work in it, and if it is of another home, or not of this home alone (row
// P1).
func TestNobodysSchemaIsReplaced(t *testing.T) {
	url := servers.Server(t).URL()
	live, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	room, err := live.CreateChat(t.Context(), "accepted")
	if err != nil {
		t.Fatal(err)
	}
	r, _ := replacement(t, url, live)
	r.Suffix = "aside"
	refused := func(what string, r store.Replacement, want fika.Kind) {
		t.Helper()
		if aside, err := r.ReplaceRows(t.Context()); !fika.IsKind(err, want) {
			t.Errorf("%s: set aside as %q, %v", what, aside, err)
		}
		foreign, err := r.MayReplace(t.Context())
		if foreign != (what == "another home's") || !foreign && !fika.IsKind(err, want) {
			t.Errorf("%s: foreign: %v, %v", what, foreign, err)
		}
	}
	refused("open", r, fika.Locked)
	another := r
	another.Store = "another"
	refused("another home's", another, fika.Conflict)
	a, err := live.EnsureAgent(t.Context(), store.NewAgent{Name: "coder", HomeID: "h"})
	if err == nil {
		_, err = live.Acquire(t.Context(), a.ID, "1@x", time.Hour, false)
	}
	if err == nil {
		err = live.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	refused("an agent at work", r, fika.Locked)
	other := r
	other.Home = "h2"
	refused("with agents of another home", other, fika.Conflict)
	again := open(t, store.Options{URL: url, Existing: true})
	if got, err := again.ConversationByID(t.Context(), room.ID); err != nil || got.Name != room.Name {
		t.Errorf("what was accepted: %+v, %v", got, err)
	}
}

// TestReplacementIsAnotherStore: a store that is restored beside one that lives has an id
// of its own, so that neither hub takes the other for its own.
func TestReplacementIsAnotherStore(t *testing.T) {
	url := servers.Server(t).URL()
	live := open(t, store.Options{URL: url})
	r, want := replacement(t, url, live)
	beside, schema, err := store.BesideURL(url, "restored")
	if err != nil || !strings.HasSuffix(beside, "search_path="+schema) {
		t.Fatal(beside, schema, err)
	}
	r.URL, r.Anew = beside, true
	if aside, err := r.ReplaceRows(t.Context()); err != nil || aside != "" {
		t.Fatal(aside, err)
	}
	clone := open(t, store.Options{URL: beside, Existing: true})
	if got, err := clone.Dump(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
	from := open(t, store.Options{Path: r.File})
	if id := idOf(t, clone); id == idOf(t, live) || id == idOf(t, from) {
		t.Errorf("its id is %s", id)
	}
}
