package store_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"fika"
	"fika/internal/store"
)

// TestCopy: rows that go from SQLite to PostgreSQL and back stay the same.
func TestCopy(t *testing.T) {
	url := servers.URL(t)
	file := store.Options{Path: filepath.Join(t.TempDir(), "fika.db")}
	story(t, file)
	from := open(t, file)
	a, err := from.Agent(t.Context(), "arya")
	if err != nil {
		t.Fatal(err)
	}
	odd := "nul \x00, no UTF-8 \xff\xfe, \uF8FF, Århus"
	ask, err := from.ActiveAsk(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.Import(t.Context(), ask.ID, []fika.Entry{{ID: "odd", Type: fika.Message, From: "ann", Content: odd}}); err != nil {
		t.Fatal(err)
	}
	want, err := from.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := open(t, store.Options{URL: url})
	back := open(t, store.Options{Path: filepath.Join(t.TempDir(), "back.db")})
	for _, step := range []struct{ from, to *store.Store }{{from, server}, {server, back}} {
		if err := step.from.CopyTo(t.Context(), step.to, nil); err != nil {
			t.Fatal(err)
		}
		got, err := step.to.Dump(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("the copy differs: %v\n got %q\nwant %q", err, got, want)
		}
		found, err := step.to.Search(t.Context(), "arhus", store.ConversationFilter{})
		if err != nil || len(found) != 1 || found[0].Content != odd {
			t.Errorf("search finds %v, %v", found, err)
		}
		if _, err := step.to.Post(t.Context(), store.Post{Conversation: ask.ID, ID: "last", From: "ann", Writer: fika.ByHuman, Content: "continues"}); err != nil {
			t.Error(err)
		}
		if err := from.CopyTo(t.Context(), step.to, nil); !fika.IsKind(err, fika.Conflict) {
			t.Errorf("a store in use was copied over: %v", err)
		}
		if want, err = step.to.Dump(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := from.Post(t.Context(), store.Post{Conversation: ask.ID, ID: "last", From: "ann", Writer: fika.ByHuman, Content: "continues"}); err != nil {
			t.Error(err)
		}
	}
}

// TestBackup: a backup is made while others write and shows a single moment, and an
// earlier process cannot write to a store restored from it.
func TestBackup(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e.new(t))
			a, err := s.EnsureAgent(t.Context(), store.NewAgent{Name: "coder"})
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.Acquire(t.Context(), a.ID, "p", 1e9, true)
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Begin(t.Context(), l, store.NewRequest{Kind: fika.RunRequest, Payload: fika.Payload{Prompt: "x"}})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "backup.db")
			if err := s.Backup(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			if err := s.Backup(t.Context(), path); !fika.IsKind(err, fika.Conflict) {
				t.Errorf("a backup was written over: %v", err)
			}
			b := open(t, store.Options{Path: path, Existing: true})
			if err := b.DisownAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Finish(t.Context(), c.Fence, store.Finish{State: fika.Done}); !fika.IsKind(err, fika.Lost) {
				t.Errorf("the owner from before has written: %v", err)
			}
			heir, err := b.Acquire(t.Context(), a.ID, "q", 1e9, false)
			if err != nil || heir.Epoch <= l.Epoch {
				t.Fatal(heir, err)
			}
			if r, err := b.Recover(t.Context(), heir); err != nil || len(r.Claimed) != 1 {
				t.Errorf("recovered %+v, %v", r, err)
			}
		})
	}
}

// TestHalfACopy: the remains of an interrupted copy can be opened only to continue
// it.
func TestHalfACopy(t *testing.T) {
	from := open(t, store.Options{Path: filepath.Join(t.TempDir(), "fika.db")})
	if _, err := from.CreateChat(t.Context(), "room"); err != nil {
		t.Fatal(err)
	}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			opt := e.new(t)
			to := open(t, opt)
			short, stop := context.WithCancel(t.Context())
			if err := from.CopyTo(short, to, func(store.Copied) { stop() }); err == nil {
				t.Fatal("the copy was not interrupted")
			}
			if _, err := store.Open(t.Context(), opt); !fika.IsKind(err, fika.Storage) {
				t.Errorf("half a copy was opened: %v", err)
			}
			opt.Unfinished = true
			again := open(t, opt)
			if err := from.CopyTo(t.Context(), again, nil); err != nil {
				t.Fatal(err)
			}
			opt.Unfinished, opt.Existing = false, true
			open(t, opt)
		})
	}
}

// TestD12Lost: where a database was, Open does not begin a new one.
func TestD12Lost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	if _, err := store.Open(t.Context(), store.Options{Path: path, Existing: true}); !fika.IsKind(err, fika.Storage) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := store.Open(t.Context(), store.Options{URL: servers.URL(t) + "x", Existing: true}); !fika.IsKind(err, fika.Storage) {
		t.Errorf("a missing schema: %v", err)
	}
}
