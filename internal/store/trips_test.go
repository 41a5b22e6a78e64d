package store_test

import (
	"fmt"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// TestRoundTrips counts the round trips to the server, because a network may lie
// between it and the store.
func TestRoundTrips(t *testing.T) {
	p := newCutter(t, servers.Server(t).Dir, 0)
	_, query, _ := cutURL(servers.URL(t))
	s := open(t, store.Options{URL: "postgres://postgres@/postgres?host=" + p.dir + "&" + query})
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.EnsureAgent(ctx, store.NewAgent{Name: "arya"})
	ok(err)
	_, err = s.EnsureAgent(ctx, store.NewAgent{Name: "gendry"})
	ok(err)
	l, err := s.Acquire(ctx, a.ID, "p", time.Hour, true)
	ok(err)
	room, err := s.CreateChat(ctx, "room")
	ok(err)
	limits := store.Limits{MaxTurns: 100, MaxDepth: 100, HourTurns: 100}
	// The first use of a connection prepares its statements, so the least counts.
	const times = 6
	least := map[string]int64{}
	for n := range times {
		most := func(what string, most int64, fn func()) {
			t.Helper()
			before := p.trips.Load()
			fn()
			got := p.trips.Load() - before
			if had, ok := least[what]; !ok || got < had {
				least[what] = got
			}
			if n == times-1 && least[what] > most {
				t.Errorf("%s takes %d round trips, more than %d", what, least[what], most)
			}
		}
		most("a look at nothing", 1, func() {
			c, err := s.Claim(ctx, l, limits, nil)
			ok(err)
			if c != nil {
				t.Fatal("there is something")
			}
		})
		most("an idle owner's look", 1, func() {
			seen, err := s.Look(ctx, l)
			ok(err)
			if seen.Work {
				t.Fatal("there is something")
			}
		})
		most("a post", 2, func() {
			_, err := s.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: fmt.Sprint(n), Notify: []fika.AgentName{"arya"}})
			ok(err)
		})
		var c *store.Claimed
		most("a claim", 4, func() {
			c, err = s.Claim(ctx, l, limits, nil)
			ok(err)
		})
		most("what a turn reads", 4, func() {
			_, err := s.Before(ctx, room.ID, c.Request.UptoSeq, 8)
			ok(err)
			_, err = s.LastCompaction(ctx, room.ID, "", c.Request.UptoSeq)
			ok(err)
			_, _, err = s.Company(ctx, room.ID, []fika.AgentName{"gendry"})
			ok(err)
			_, err = s.AgentNames(ctx) // for the agents that the answer mentions
			ok(err)
		})
		var steps store.Planned
		most("a model step", 2, func() {
			steps, err = s.CommitModel(ctx, c.Fence, store.ModelCommit{Round: 1, Text: "look", Calls: []store.PlannedCall{{CallID: "1", Tool: "read", Args: "{}"}}})
			ok(err)
		})
		most("the beginning of a tool", 2, func() { _, err = s.BeginTool(ctx, c.Fence, steps.Steps[0].N, "", ""); ok(err) })
		most("the result of a tool", 2, func() {
			_, err = s.CommitTool(ctx, c.Fence, steps.Steps[0].N, store.ToolCommit{Text: "seen"})
			ok(err)
		})
		most("an answer", 2, func() {
			_, err = s.Finish(ctx, c.Fence, store.Finish{
				State: fika.Done, Final: &store.ModelCommit{Round: 2, Text: "@gendry", Usage: fika.Usage{Input: 1}, Model: "m"}, Notify: []fika.AgentName{"gendry"}, Limits: limits,
			})
			ok(err)
		})
		most("an announcement", 1, func() { ok(s.MarkAnnounced(ctx, c.Request.ID)) })
	}
	// This is the way from a message to the answer that mentions the next agent.
	if hop := least["a claim"] + least["what a turn reads"] + least["an answer"]; hop > 10 {
		t.Errorf("a hop takes %d round trips, more than 10", hop)
	}
	if n := p.opened.Load(); n != 1 {
		t.Errorf("one thing after another took %d connections, want 1", n)
	}
}
