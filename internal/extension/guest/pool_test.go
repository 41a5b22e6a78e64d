package guest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika/internal/extension/guest"
)

// ends waits until a program has ended: it has a pid no more.
func (w world) ends(s *guest.Session) {
	w.Helper()
	select {
	case <-guest.EndOf(s):
	case <-time.After(time.Minute):
		w.Error("the program is never ended")
	}
}

func (w world) starts() int {
	raw, _ := os.ReadFile(filepath.Join(w.home, "starts.log"))
	return strings.Count(string(raw), "\n")
}

// TestPool: the next turn of a conversation finds the program that was left there, and no
// other; one that is not what the turn needs is ended.
func TestPool(t *testing.T) {
	w := world{t, t.TempDir()}
	p := guest.NewPool()
	t.Cleanup(p.Close)
	s := w.open("", "", false)
	w.prompt(s, &host{}, "the first")
	if undone := p.Leave("room", "as now", time.Hour, s); undone != nil {
		t.Error(undone)
	}
	again := p.Take("room", "as now", s.ID())
	if again != s || !s.Known() || s.LastPrompt() != "the first" {
		t.Fatalf("%v, known: %t, last %q", again == s, s.Known(), s.LastPrompt())
	}
	if p.Take("room", "as now", s.ID()) != nil {
		t.Error("it was taken twice")
	}
	end := w.prompt(s, &host{}, "guest: say the second")
	if end.Cost != 2000 || w.starts() != 1 {
		t.Errorf("%+v after %d starts", end, w.starts())
	}
	for what, take := range map[string]func(*guest.Session) *guest.Session{
		"other conditions":     func(s *guest.Session) *guest.Session { return p.Take("room", "as then", s.ID()) },
		"another session":      func(*guest.Session) *guest.Session { return p.Take("room", "as now", "") },
		"another conversation": func(s *guest.Session) *guest.Session { return p.Take("hall", "as now", s.ID()) },
		"a dead program": func(s *guest.Session) *guest.Session {
			guest.Kill(s)
			w.ends(s)
			return p.Take("room", "as now", s.ID())
		},
	} {
		s := w.open("", "", false)
		p.Leave("room", "as now", time.Hour, s)
		if take(s) != nil {
			t.Errorf("%s: it was given out", what)
		}
		w.ends(s)
	}
}

// TestBetweenTurns: what a program asks for while no turn of it is under way is refused, and
// nobody is asked.
func TestBetweenTurns(t *testing.T) {
	w := world{t, t.TempDir()}
	s := w.open("", "", false)
	h := &host{allow: true}
	w.prompt(s, h, "guest: later touch it")
	if err := os.WriteFile(filepath.Join(w.home, "later"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		if raw, _ := os.ReadFile(filepath.Join(w.home, "later.log")); len(raw) > 0 {
			w.same("the answer", strings.TrimSpace(string(raw)), "cancelled")
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it gets no answer")
		}
	}
	w.same("events", strings.Join(h.events, "|"), "")
}

// TestPoolEnds: a program is ended when it was idle for long enough, when others need its
// place, and with the pool.
func TestPoolEnds(t *testing.T) {
	w := world{t, t.TempDir()}
	p := guest.NewPool()
	t.Cleanup(p.Close)
	s := w.open("", "", false)
	p.Leave("room", "", time.Nanosecond, s)
	w.ends(s)
	s = w.open("", "", false)
	p.Leave("room", "", 0, s)
	w.ends(s)
	var all []*guest.Session
	for _, place := range []string{"a", "b"} {
		s := w.open("", "", false)
		all = append(all, s)
		p.Leave(place, "", time.Hour, s)
	}
	w.ends(all[0])
	if p.Take("b", "", all[1].ID()) != all[1] {
		t.Error("the last one is gone")
	}
	s = w.open("", "", false)
	p.Leave("a", "", time.Hour, s)
	p.Close()
	w.ends(s)
	p.Leave("b", "", time.Hour, all[1])
	w.ends(all[1])
}

// TestPoolAfterTurns: a program stays after a turn that it has ended, also because it was told
// to, and not after one about whose end it and fika may disagree.
func TestPoolAfterTurns(t *testing.T) {
	for order, stays := range map[string]bool{"guest: say x": true, "guest: stop refusal": true, "guest: say xy\nguest: wait": true, "guest: say xy\nguest: hang": false, "guest: die": false, "too much": false} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			w := world{t, t.TempDir()}
			p := guest.NewPool()
			t.Cleanup(p.Close)
			s := w.open("", "", false)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := &host{told: make(chan string, 10)}
			if order == "too much" {
				h.fail = errors.New(order)
			}
			if strings.Contains(order, "xy") {
				go func() { <-h.told; <-h.told; cancel() }()
			}
			_, err := s.Prompt(ctx, order, h)
			p.Leave("room", "", time.Hour, s)
			if got := p.Take("room", "", s.ID()) == s; got != stays {
				t.Errorf("it stays: %t (%v)", got, err)
			}
			if !stays {
				w.ends(s)
			}
		})
	}
}

// TestLateUpdates: what a program tells after the end of a turn belongs to no later one.
func TestLateUpdates(t *testing.T) {
	first := `{"sessionUpdate":"tool_call","toolCallId":"1","title":"ls","kind":"execute","status":"in_progress","rawInput":{"command":"ls"}}`
	late := `{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`
	for updates, want := range map[string]int{first + "\n" + late: 2, late + "\n" + late: 0, first: 1} {
		if got := guest.EventsAfter(first, strings.Split(updates, "\n")...); got != want {
			t.Errorf("%d events of %s", got, updates)
		}
	}
}
