package store_test

import (
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// TestOnDemand: what is done about a host that starts on demand is stored by the hub that has
// the duty, of two that read the same only once, and not over what a person has wanted
// meanwhile; it goes with the settings that say how.
func TestOnDemand(t *testing.T) {
	var ahead time.Duration
	s := open(t, store.Options{URL: servers.URL(t), Offset: func() time.Duration { return ahead }})
	ctx := t.Context()
	duty := []string{store.StartDuty("box")}
	hub := func(home string) store.HostSession {
		t.Helper()
		h, _, err := s.EnterHost(ctx, store.Site{Home: home, Copy: "disk"}, home, "v1", store.HostBus{}, hostLife, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.KeepHost(ctx, h, hostLife, duty, nil); err != nil {
			t.Fatal(err)
		}
		return h
	}
	h1, h2 := hub("h1"), hub("h2")
	now := time.UnixMilli(1000).UTC()
	d := store.OnDemand{Name: "box", IdleFor: time.Minute, Stops: true}
	if _, err := s.PutOnDemand(ctx, h2, d); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("without the duty: %v", err)
	}
	if err := s.WantOnDemand(ctx, "box", store.WantStart); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("wanted while nobody says how: %v", err)
	}
	put, err := s.PutOnDemand(ctx, h1, d)
	if err != nil || put.Home != "h1" {
		t.Fatalf("%+v, %v", put, err)
	}
	if _, err := s.PutOnDemand(ctx, h1, d); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("put twice as the first: %v", err)
	}
	begun := put
	begun.State, begun.Since, begun.Until, begun.Tries, begun.Reason = store.OnDemandStarting, now, now.Add(time.Minute), 2, "why"
	if begun, err = s.PutOnDemand(ctx, h1, begun); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutOnDemand(ctx, h1, put); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("put over what is newer: %v", err)
	}
	list, err := s.ListOnDemand(ctx)
	if err != nil || len(list) != 1 || list[0] != begun {
		t.Errorf("stored %+v, want %+v, %v", list, begun, err)
	}
	if news, err := s.KeepHost(ctx, h2, hostLife, duty, nil); err != nil || len(news.OnDemand) != 1 || news.OnDemand[0] != begun {
		t.Errorf("other hubs hear %+v, %v", news.OnDemand, err)
	}
	ahead = hostLife + time.Second
	if _, err := s.PutOnDemand(ctx, h1, begun); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("after the duty has lapsed: %v", err)
	}
	if _, err := s.KeepHost(ctx, h2, hostLife, duty, nil); err != nil {
		t.Fatal(err)
	}
	taken, err := s.PutOnDemand(ctx, h2, begun)
	if err != nil || taken.Home != "h2" || taken.State != store.OnDemandStarting {
		t.Errorf("who has the duty next: %+v, %v", taken, err)
	}
	if err := s.WantOnDemand(ctx, "box", store.WantStop); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutOnDemand(ctx, h2, taken); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("over what a person wants: %v", err)
	}
	if list, err = s.ListOnDemand(ctx); err != nil || list[0].Want != store.WantStop || list[0].State != store.OnDemandStarting || list[0].Until.IsZero() {
		t.Errorf("wanted while it starts: %+v, %v", list, err)
	}
	for _, c := range []struct {
		home string
		says []string
		left int
	}{{"h1", nil, 1}, {"h2", []string{"box", "other"}, 1}, {"h2", []string{"other"}, 0}} {
		if err := s.DropOnDemand(ctx, c.home, c.says); err != nil {
			t.Fatal(err)
		}
		if list, err := s.ListOnDemand(ctx); err != nil || len(list) != c.left {
			t.Errorf("%s says how to start %v: %+v, %v", c.home, c.says, list, err)
		}
	}
}
