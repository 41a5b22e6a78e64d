package store_test

import (
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// TestAbandoned: an agent is taken over only if its host is down and its lease has lapsed, where
// it may run, with its files as they were found; and only who holds it says where they are.
func TestAbandoned(t *testing.T) {
	ctx := t.Context()
	s := open(t, store.Options{URL: servers.URL(t)})
	enter := func(home string, d time.Duration) store.HostSession {
		t.Helper()
		h, _, err := s.EnterHost(ctx, store.Site{Home: home}, "box-"+home, "v1", store.HostBus{}, d, time.Time{})
		if err == nil {
			_, err = s.KeepHost(ctx, h, d, nil, []string{"roamer", "homer"})
		}
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	a := enter("a", time.Hour)
	enter("b", time.Hour)
	define := func(name fika.AgentName, on string, runOn ...string) fika.Agent {
		t.Helper()
		row, err := s.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: "a", Definition: &store.Definition{WorkspaceOn: on, RunOn: runOn}})
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	roamer, homer := define("roamer", "git"), define("homer", "")
	seen := func() store.Workspace {
		t.Helper()
		w, _, err := s.WorkspaceOf(ctx, roamer.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	refused := func(what string, kind fika.Kind, w store.Workspace) {
		t.Helper()
		if err := s.TakeAbandoned(ctx, "b", w, nil); !fika.IsKind(err, kind) {
			t.Errorf("%s: %v", what, err)
		}
	}
	keep := func(l store.Lease, w store.Workspace) {
		t.Helper()
		if err := s.KeepWorkspace(ctx, l, w); err != nil {
			t.Fatal(err)
		}
	}
	refused("its host is up", fika.Locked, seen())
	l, err := s.Acquire(ctx, roamer.ID, "1@a", time.Hour, true)
	if err != nil {
		t.Fatal(err)
	}
	keep(l, store.Workspace{Home: "a", Hash: "one", Ref: "r"})
	old := seen()
	keep(l, store.Workspace{Home: "a", Hash: "two", Ref: "r", Unpushed: "no room"})
	if err := s.LeaveHost(ctx, a); err != nil {
		t.Fatal(err)
	}
	refused("somebody holds it", fika.Locked, seen())
	if list, err := s.Abandoned(ctx, []fika.AgentName{"roamer", "homer"}); err != nil || len(list) != 1 || list[0].AgentName != "homer" {
		t.Errorf("abandoned: %+v, %v", list, err)
	}
	refused("its files are on its host", fika.Conflict, store.Workspace{Agent: homer.ID})
	if err := s.Release(ctx, l); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepWorkspace(ctx, l, store.Workspace{Home: "a", Hash: "stray"}); !fika.IsKind(err, fika.Lost) {
		t.Errorf("who holds it no more says where its files are: %v", err)
	}
	refused("it is not pushed", fika.Conflict, seen())
	if list, err := s.Unpushed(ctx); err != nil || len(list) != 1 || list[0].Unpushed != "no room" || list[0].Home != "a" {
		t.Errorf("unpushed: %+v, %v", list, err)
	}
	if l, err = s.Acquire(ctx, roamer.ID, "1@a", time.Hour, true); err != nil {
		t.Fatal(err)
	}
	keep(l, store.Workspace{Home: "a", Hash: "three", Ref: "r"})
	if err := s.Release(ctx, l); err != nil {
		t.Fatal(err)
	}
	refused("it has worked meanwhile", fika.Conflict, old)
	if err := s.RefuseTakeOver(ctx, roamer.ID, "b cannot"); err != nil || seen().Refused != "b cannot" {
		t.Errorf("refused: %+v, %v", seen(), err)
	}
	define("roamer", "git", "box-a")
	refused("it may not run there", fika.Denied, seen())
	define("roamer", "git")
	if err := s.TakeAbandoned(ctx, "b", seen(), &store.Definition{WorkspaceOn: "git", CallableBy: []string{"user"}}); err != nil {
		t.Fatal(err)
	}
	if row, err := s.Agent(ctx, "roamer"); err != nil || row.HomeID != "b" {
		t.Errorf("it is on %q, %v", row.HomeID, err)
	}
	if d, _, err := s.Defined(ctx, "roamer"); err != nil || d.Home != "b" || len(d.CallableBy) != 1 {
		t.Errorf("its next host says %+v, %v", d, err)
	}
	if row := define("roamer", "git"); row.HomeID != "b" {
		t.Errorf("its first host takes it back: %q", row.HomeID)
	}
	if l, err = s.Acquire(ctx, roamer.ID, "1@b", time.Hour, true); err != nil {
		t.Fatal(err)
	}
	keep(l, store.Workspace{Home: "b", Hash: "three", Ref: "r"})
	if w := seen(); w.Refused != "" || w.Home != "b" || w.Hash != "three" {
		t.Errorf("its files: %+v", w)
	}
}
