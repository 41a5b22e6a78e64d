package service_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
	"fika/internal/store"
)

// keyedWrite is how a verb is tried that repeats by a key or as an intent, in a home
// that a keyHome has made.
type keyedWrite struct {
	// prepare makes what it is about; it may be nil.
	prepare func(h keyHome, s *service.Service) error
	// do does it and returns the ids that it gives. With another body it asks for
	// something else; a verb that only has an object takes another object then.
	do       func(ctx context.Context, s *service.Service, other bool) (ids string, err error)
	single   bool // there is nothing left to do for another person who asks for the same
	bodiless bool // it has no other body
}

// byCommand are verbs that repeat by a key or as an intent and whose effect is not the
// service's: a command does them as a whole, under its key (script/key_command.txtar), or
// no command offers a key for them (one that goes on with a turn of its own); or that only an
// agent does in a call (TestAnAgentOffersItsOwnWork).
func byCommand(v api.Verb) bool {
	switch v.Name {
	case "agent.run", "agent.continue", "agent.clear", "agent.create-context", "offer.submit":
		return true
	}
	return v.Repeat == api.Intent && v.Host && (v.Object() == api.AgentObject || v.Object() == api.FileObject)
}

func (w keyedWrite) with(prepare func(keyHome, *service.Service) error) keyedWrite {
	w.prepare = prepare
	return w
}

func (w keyedWrite) once() keyedWrite {
	w.single = true
	return w
}

// The same write with the same key has one effect and gives the same ids each time; with
// another body it is refused, and another person's key is another one. Every verb that is
// declared so is tried.
func TestAWriteWithAKeyHappensOnce(t *testing.T) {
	tried := keyedWrites()
	for _, v := range api.Verbs() {
		if v.Repeat != api.ByKey && v.Repeat != api.Intent || byCommand(v) {
			continue
		}
		w, ok := tried[v.Name]
		if !ok {
			t.Errorf("%s repeats by a key and is not tried: say how it is called", v.Name)
			continue
		}
		t.Run(v.Name, func(t *testing.T) { w.happensOnce(t, keyHome{root: t.TempDir()}) })
	}
}

func (w keyedWrite) happensOnce(t *testing.T, h keyHome) {
	ctx := t.Context()
	check(t, h.make(ctx, w))
	s, end, err := h.open(ctx, person)
	check(t, err)
	defer func() { check(t, end()) }()
	key := api.Write{Key: "k"}
	first, err := w.do(ctx, s.With(key), false)
	check(t, err)
	rows := h.rows(t)
	for range 4 {
		if again, err := w.do(ctx, s.With(key), false); err != nil || again != first {
			t.Errorf("%q, %v; the first time %q", again, err, first)
		}
	}
	if now := h.rows(t); now != rows {
		t.Errorf("a repeat changed something:\n%s\nafter the first:\n%s", now, rows)
	}
	if _, err := w.do(ctx, s.With(key), true); !errors.Is(err, store.ErrKeyReused) && !w.bodiless {
		t.Errorf("another body under the same key: %v", err)
	}
	other := s.As(api.Principal{Kind: api.Person, Name: "bob", Door: api.DoorCLI}).With(key)
	again, err := w.do(ctx, other, false)
	if errors.Is(err, store.ErrKeyReused) || errors.As(err, new(*store.Repeated)) {
		t.Errorf("somebody else's key is this one: %v", err)
	}
	if err != nil && !w.single || err == nil && !w.single && again == first && first != "" {
		t.Errorf("somebody else's write: %q, %v", again, err)
	}
}

// The key of an agent counts within the tool call that it speaks through: a call that is
// run again says the same once, and another call says it again.
func TestAnAgentsKeyCountsWithinItsStep(t *testing.T) {
	h := keyHome{root: t.TempDir()}
	check(t, h.make(t.Context(), keyedWrite{prepare: func(h keyHome, _ *service.Service) error { return h.claimed("running") }}))
	s, end, err := h.open(t.Context(), person)
	check(t, err)
	defer func() { check(t, end()) }()
	conv, err := s.Chats.Find(t.Context(), "room")
	check(t, err)
	var seqs []int64
	for _, step := range []string{"req-room/1", "req-room/1", "req-room/2", ""} {
		tool := s.As(api.Principal{Kind: api.Agent, Name: "coder", Door: api.DoorCLI, Request: "req-room", Step: step}).With(api.Write{Key: "k"})
		sent, err := tool.Chats.Send(t.Context(), conv, "I go on", service.Alias{})
		check(t, err)
		seqs = append(seqs, sent.Entry.Seq)
	}
	if want := []int64{2, 2, 3, 4}; !slices.Equal(seqs, want) {
		t.Errorf("said as %v, not %v", seqs, want)
	}
	check(t, h.sql(`UPDATE requests SET cancel_at = 1`))
	tool := s.As(api.Principal{Kind: api.Agent, Name: "coder", Door: api.DoorCLI, Request: "req-room", Step: "req-room/3"})
	row, err := s.Agents.Find(t.Context(), "crew-1")
	check(t, err)
	for verb, do := range map[string]func() error{
		"conversation.send": func() error {
			_, err := tool.Chats.Send(t.Context(), conv, "and on", service.Alias{})
			return err
		},
		"agent.task": func() error {
			_, err := tool.Requests.Submit(t.Context(), row, service.Ask{Kind: fika.TaskRequest, Prompt: "x"})
			return err
		},
		"agent.ask": func() error {
			_, err := tool.Requests.Submit(t.Context(), row, service.Ask{Kind: fika.AskRequest, Prompt: "x"})
			return err
		},
		"agent.message": func() error {
			_, err := tool.SendToContext(t.Context(), row.Name, "x", service.Alias{})
			return err
		},
	} {
		if err := do(); !errors.Is(err, store.ErrNotRunning) || !fika.IsKind(err, fika.Denied) {
			t.Errorf("%s for a request that is to stop: %v", verb, err)
		}
	}
}
