package store_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// TestClaimWhoseAnswerIsLost: if a claim was committed but its caller gave up before
// the answer came, the request is running and nobody works it. The same owner's next
// look takes it.
func TestClaimWhoseAnswerIsLost(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			opt := e.new(t)
			var giveUp context.CancelFunc
			opt.Lose(func() bool {
				if giveUp == nil {
					return false
				}
				giveUp()
				giveUp = nil
				return true
			})
			s := open(t, opt)
			l, id := asked(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			giveUp = cancel
			if c, err := s.Claim(ctx, l, store.Limits{}, nil); err == nil {
				t.Fatalf("the answer was not lost: %v", c)
			}
			c, err := s.Claim(t.Context(), l, store.Limits{}, func(fika.RequestID) bool { return false })
			if err != nil || c == nil || c.Request.ID != id || !c.Resumed {
				t.Fatal(c, err)
			}
			if _, err := s.Finish(t.Context(), c.Fence, store.Finish{State: fika.Done}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// asked gives an agent a request and a lease and returns both.
func asked(t *testing.T, s *store.Store) (store.Lease, fika.RequestID) {
	t.Helper()
	a, err := s.EnsureAgent(t.Context(), store.NewAgent{Name: "coder"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), a.ID, "1@here", time.Hour, true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Accept(t.Context(), store.NewRequest{Kind: fika.AskRequest, Agent: a.ID, Payload: fika.Payload{Prompt: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	return l, r.Request.ID
}

// TestEpochCountedTwice: an owner whose epoch was counted twice, as after a restore,
// can neither write for the other owner's request, nor is that request lost.
func TestEpochCountedTwice(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e.new(t))
			l, id := asked(t, s)
			c, err := s.Claim(t.Context(), l, store.Limits{}, nil)
			if err != nil || c == nil {
				t.Fatal(c, err)
			}
			if err := s.Do(t.Context(), `UPDATE agents SET epoch = epoch - 1`); err != nil {
				t.Fatal(err)
			}
			again, err := s.Acquire(t.Context(), l.Agent, "2@here", time.Hour, true)
			if err != nil || again.Epoch != l.Epoch {
				t.Fatal(again, err)
			}
			rec, err := s.Recover(t.Context(), again)
			if err != nil || len(rec.Claimed) != 1 || rec.Claimed[0].Request.ID != id {
				t.Fatal(rec, err)
			}
			if _, err := s.Finish(t.Context(), c.Fence, store.Finish{State: fika.Done}); !fika.IsKind(err, fika.Lost) {
				t.Fatalf("two owners can end it: %v", err)
			}
			if _, err := s.Finish(t.Context(), rec.Claimed[0].Fence, store.Finish{State: fika.Done}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestUpgradeOfRunningWork: requests that were running when a home with an older
// schema stopped are taken up by the next owner.
func TestUpgradeOfRunningWork(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			opt := e.new(t)
			if opt.Path != "" { // the given file already has this version
				opt.Path = filepath.Join(t.TempDir(), "fika.db")
			} else {
				opt.URL += "_six" // its search_path comes last
			}
			err := store.MakeSchema6(t.Context(), opt,
				`INSERT INTO agents (id, name, owner, epoch, created_at) VALUES ('a1', 'coder', '1@here', 1, 1)`,
				`INSERT INTO conversations (id, name, kind, agent, created_at, updated_at) VALUES ('c1', 'ask_coder', 'ask', 'a1', 1, 1)`,
				`INSERT INTO requests (id, kind, origin, agent, conversation, chain, upto_seq, state, owner_epoch, attempts, created_at, started_at)
VALUES ('r1', 'ask', 'queued', 'a1', 'c1', 'r1', 1, 'running', 1, 1, 1, 1)`)
			if err != nil {
				t.Fatal(err)
			}
			opt.Existing = true
			s := open(t, opt)
			l, err := s.Acquire(t.Context(), "a1", "2@here", time.Hour, true)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := s.Recover(t.Context(), l)
			if err != nil || len(rec.Claimed) != 1 || rec.Claimed[0].Request.ID != "r1" {
				t.Fatal(rec, err)
			}
			if _, err := s.Finish(t.Context(), rec.Claimed[0].Fence, store.Finish{State: fika.Done}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
