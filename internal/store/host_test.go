package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// openFrom opens the server's database for a process of a home, and of one of its copies.
func openFrom(t *testing.T, opt store.Options, home, copied string) *store.Store {
	t.Helper()
	opt.Site = store.Site{Home: home, Copy: copied}
	return open(t, opt)
}

// TestLeaseOfAnotherSite: a lease is taken at once only where its holder's process is
// known to be gone. A copy of the home waits until it has lapsed.
func TestLeaseOfAnotherSite(t *testing.T) {
	var ahead time.Duration
	opt := store.Options{URL: servers.URL(t), Offset: func() time.Duration { return ahead }}
	ctx := t.Context()
	own, same := openFrom(t, opt, "home", "disk"), openFrom(t, opt, "home", "disk")
	copied, other := openFrom(t, opt, "home", "copy"), openFrom(t, opt, "else", "disk")
	a, err := own.EnsureAgent(ctx, store.NewAgent{Name: "coder", HomeID: "home"})
	if err != nil {
		t.Fatal(err)
	}
	first, err := own.Acquire(ctx, a.ID, "1@h1", 45*time.Second, true)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*store.Store{"a copy": copied, "another home": other} {
		if _, err := s.Acquire(ctx, a.ID, "2@h2", 45*time.Second, true); !fika.IsKind(err, fika.Locked) {
			t.Errorf("%s takes a living lease: %v", name, err)
		}
	}
	if err := own.Renew(ctx, first, 45*time.Second, store.Beat{}); err != nil {
		t.Errorf("the refused have taken the lease: %v", err)
	}
	second, err := same.Acquire(ctx, a.ID, "3@h1", 45*time.Second, true)
	if err != nil || second.Epoch != first.Epoch+1 {
		t.Errorf("the same home does not take it at once: %+v, %v", second, err)
	}
	ahead = 46 * time.Second
	third, err := copied.Acquire(ctx, a.ID, "4@h2", 45*time.Second, true)
	if err != nil {
		t.Errorf("a lapsed lease cannot be taken: %v", err)
	}
	if err := own.Renew(ctx, second, 45*time.Second, store.Beat{}); !fika.IsKind(err, fika.Lost) {
		t.Errorf("the fenced owner renews: %v", err)
	}
	if row, err := own.Agent(ctx, "coder"); err != nil || row.OwnerHost != "home" || row.OwnerSite != "copy" || row.Epoch != third.Epoch {
		t.Errorf("row %+v, %v", row, err)
	}
}

// TestHostOfACopiedHome: while one copy of a home is a host, another is refused as soon as
// the first has given a sign of life, once, and the first can see that; once it has left or
// lapsed, the other takes over and the first has lost.
func TestHostOfACopiedHome(t *testing.T) {
	var ahead time.Duration
	s := open(t, store.Options{URL: servers.URL(t), Offset: func() time.Duration { return ahead }})
	ctx := context.Background()
	enter := entering(t, s)
	keep := func(h store.HostSession) (store.HostNews, error) { return s.KeepHost(ctx, h, hostLife, nil, nil) }
	first, _, err := enter("disk", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	held, found, err := enter("copy", time.Time{})
	if err != nil || held.Session != "" || found.Name != "on-disk" {
		t.Fatalf("a copy becomes the host: %+v of %+v, %v", held, found, err)
	}
	ahead = 5 * time.Second
	if news, err := keep(first); err != nil || news.Host.Refused != "" {
		t.Errorf("before it is known to be a copy, the holder hears %+v, %v", news, err)
	}
	if _, _, err := enter("copy", found.Seen); !fika.IsKind(err, fika.Locked) {
		t.Fatalf("a copy is not refused: %v", err)
	}
	news, err := keep(first)
	if err != nil || news.Host.Refused != "on-copy" || news.Host.RefusedAt.IsZero() || news.Host.Name != "on-disk" {
		t.Errorf("the holder hears %+v, %v", news, err)
	}
	again, _, err := enter("disk", time.Time{})
	if err != nil || again.Session == "" {
		t.Errorf("a new hub of the same home: %v", err)
	}
	if _, err := keep(first); !fika.IsKind(err, fika.Lost) {
		t.Errorf("the hub before it: %v", err)
	}
	ahead += hostLife + time.Second
	taken, _, err := enter("copy", time.Time{})
	if err != nil || taken.Session == "" {
		t.Errorf("a lapsed host is not free: %v", err)
	}
	if _, err := keep(again); !fika.IsKind(err, fika.Lost) {
		t.Errorf("both are the host: %v", err)
	}
	if err := s.LeaveHost(ctx, taken); err != nil {
		t.Fatal(err)
	}
	if h, _, err := enter("disk", time.Time{}); err != nil || h.Session == "" {
		t.Errorf("after it has left: %v", err)
	}
}

// TestHostOfARestartedMachine: a host whose machine was killed and is there again before it
// has lapsed is not taken for a copy of itself: it waits, and then has its place.
func TestHostOfARestartedMachine(t *testing.T) {
	var ahead time.Duration
	s := open(t, store.Options{URL: servers.URL(t), Offset: func() time.Duration { return ahead }})
	enter := entering(t, s)
	_, before, err := enter("boot 1", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var seen time.Time
	for _, ahead = range []time.Duration{3 * time.Second, 10 * time.Second, 19 * time.Second} {
		h, found, err := enter("boot 2", seen)
		if err != nil || h.Session != "" || !found.Seen.Equal(before.Seen) {
			t.Fatalf("after %v: %+v of %+v, %v", ahead, h, found, err)
		}
		seen = found.Seen
	}
	ahead = hostLife + time.Second
	h, found, err := enter("boot 2", seen)
	if err != nil || h.Session == "" || found.ID != before.ID || found.Name != before.Name {
		t.Fatalf("after %v: %+v of %+v, %v", ahead, h, found, err)
	}
	if news, err := s.KeepHost(t.Context(), h, hostLife, nil, nil); err != nil || news.Host.Refused != "" {
		t.Errorf("it is told of a copy of itself: %+v, %v", news, err)
	}
}

const hostLife = 20 * time.Second

// entering returns how one of the copies of a home becomes its host.
func entering(t *testing.T, s *store.Store) func(copied string, seen time.Time) (store.HostSession, store.Host, error) {
	return func(copied string, seen time.Time) (store.HostSession, store.Host, error) {
		t.Helper()
		return s.EnterHost(t.Context(), store.Site{Home: "home", Copy: copied}, "on-"+copied, "v1", store.HostBus{}, hostLife, seen)
	}
}

// TestDuties: one hub has a duty until it leaves or lapses, then another.
func TestDuties(t *testing.T) {
	var ahead time.Duration
	s := open(t, store.Options{URL: servers.URL(t), Offset: func() time.Duration { return ahead }})
	ctx := t.Context()
	const life = 20 * time.Second
	var hubs []store.HostSession
	for _, home := range []string{"a", "b", "c"} {
		h, host, err := s.EnterHost(ctx, store.Site{Home: home, Copy: "disk"}, "box", "v1", store.HostBus{}, life, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"a": "box", "b": "box-2", "c": "box-3"}[home]; host.Name != want {
			t.Errorf("host %s is called %s, want %s", home, host.Name, want)
		}
		hubs = append(hubs, h)
	}
	has := func(i int, want ...string) {
		t.Helper()
		news, err := s.KeepHost(ctx, hubs[i], life, []string{"care", "cleaning"}, nil)
		if err != nil || !slices.Equal(news.Duties, want) || len(news.Others) != 2 {
			t.Errorf("hub %d has %v of %d others, %v; want %v", i, news.Duties, len(news.Others), err, want)
		}
	}
	has(1, "care", "cleaning")
	has(0)
	has(1, "care", "cleaning")
	ahead = 15 * time.Second
	has(0)
	ahead = 21 * time.Second
	has(2, "care", "cleaning")
	has(1)
	if err := s.LeaveHost(ctx, hubs[2]); err != nil {
		t.Fatal(err)
	}
	has(0, "care", "cleaning")
	who, err := s.ListDuties(ctx)
	if err != nil || who["care"] != "box" || len(who) != 2 {
		t.Errorf("duties %v, %v", who, err)
	}
}

// TestFirstDefiner: an agent stays with the home that first defined it, as long as that is
// a host; once that is forgotten, it belongs to the next.
func TestFirstDefiner(t *testing.T) {
	s := open(t, store.Options{URL: servers.URL(t)})
	ctx := t.Context()
	h, host, err := s.EnterHost(ctx, store.Site{Home: "a"}, "box", "v1", store.HostBus{Prefix: "fika", Server: "tls://bus:4222"}, time.Minute, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	home := func(of string) string {
		t.Helper()
		row, err := s.EnsureAgent(ctx, store.NewAgent{Name: "coder", HomeID: of})
		if err != nil {
			t.Fatal(err)
		}
		return row.HomeID
	}
	if home("a") != "a" || home("b") != "a" {
		t.Error("the second definition took the agent")
	}
	says := func(home string, by ...string) {
		t.Helper()
		if _, err := s.EnsureAgent(ctx, store.NewAgent{Name: "coder", HomeID: home, Description: "of " + home, Definition: &store.Definition{CallableBy: by}}); err != nil {
			t.Fatal(err)
		}
	}
	defined := func(home string, version int64, by ...string) {
		t.Helper()
		d, there, err := s.Defined(ctx, "coder")
		if err != nil || !there || d.Home != home || d.Version != version || !slices.Equal(d.CallableBy, by) {
			t.Errorf("defined %+v, %v, want version %d of %s for %v", d, err, version, home, by)
		}
	}
	defined("a", 0)
	says("b", "anybody")
	defined("a", 0)
	says("a", "ann")
	says("a", "ann")
	defined("a", 1, "ann")
	says("b", "anybody")
	says("a", "bob")
	defined("a", 2, "bob")
	if row, err := s.Agent(ctx, "coder"); err != nil || row.Description != "of a" {
		t.Errorf("another host's definition changes %+v, %v", row, err)
	}
	if err := s.ForgetHost(ctx, host.Name, false); !fika.IsKind(err, fika.Locked) {
		t.Errorf("a living host is forgotten: %v", err)
	}
	if err := s.LabelHost(ctx, host.Name, []string{"gpu", "big", "gpu"}, []string{"big"}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetHostState(ctx, host.Name, store.HostDrained); err != nil {
		t.Fatal(err)
	}
	list, now, err := s.ListHosts(ctx)
	if err != nil || len(list) != 1 || !slices.Equal(list[0].Labels, []string{"gpu"}) || list[0].State != store.HostDrained || !list[0].Alive(now) || list[0].Bus.Server != "tls://bus:4222" {
		t.Errorf("hosts %+v, %v", list, err)
	}
	if err := s.LeaveHost(ctx, h); err != nil {
		t.Fatal(err)
	}
	if home("b") != "a" {
		t.Error("an agent leaves its host because that is down")
	}
	if err := s.ForgetHost(ctx, host.Name, false); err != nil {
		t.Error(err)
	}
	defined("a", 0)
	if home("b") != "b" {
		t.Error("an agent of a forgotten host belongs to nobody")
	}
	says("b", "zoe")
	defined("b", 1, "zoe")
	if err := s.ForgetHost(ctx, host.Name, false); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("forgotten twice: %v", err)
	}
}

// TestWhereAnAgentMayRun: an agent that nobody has held goes from a host on which it may not
// run to the first that defines it and may; one that was held stays.
func TestWhereAnAgentMayRun(t *testing.T) {
	s := open(t, store.Options{URL: servers.URL(t)})
	ctx := t.Context()
	for _, home := range []string{"a", "b", "c"} {
		if _, _, err := s.EnterHost(ctx, store.Site{Home: home}, "box-"+home, "v1", store.HostBus{}, time.Minute, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	label := func(host string, add ...string) {
		t.Helper()
		if err := s.LabelHost(ctx, host, add, nil); err != nil {
			t.Fatal(err)
		}
	}
	home := func(name fika.AgentName, of string, hosts ...string) string {
		t.Helper()
		row, err := s.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: of, Definition: &store.Definition{RunOn: hosts}})
		if err != nil {
			t.Fatal(err)
		}
		return row.HomeID
	}
	if home("painter", "a", "gpu") != "a" || home("painter", "b", "gpu") != "a" {
		t.Error("while no host fits, it stays where it was defined first")
	}
	label("box-c", "gpu")
	if home("painter", "b", "gpu") != "a" || home("painter", "c", "gpu") != "c" || home("painter", "a", "gpu") != "c" {
		t.Error("it does not go to the host that fits, and stay there")
	}
	if home("clerk", "a", "!gpu") != "a" || home("clerk", "c") != "a" || home("clerk", "b", "!gpu") != "a" {
		t.Error("one that fits goes elsewhere")
	}
	if home("cook", "a", "kitchen", "!box-b") != "a" {
		t.Fatal("cook")
	}
	row, err := s.Agent(ctx, "cook")
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(ctx, row.ID, "1@a", time.Minute, true)
	if err != nil {
		t.Fatal(err)
	}
	label("box-b", "kitchen")
	label("box-c", "kitchen")
	if home("cook", "c", "kitchen", "!box-b") != "a" {
		t.Error("it was taken from who holds it")
	}
	if err := s.Release(ctx, l); err != nil {
		t.Fatal(err)
	}
	if home("cook", "c", "kitchen", "!box-b") != "a" {
		t.Error("one that has worked was taken along without its files")
	}
	for _, c := range []struct {
		words []string
		fits  string
	}{{nil, "abc"}, {[]string{"gpu"}, "c"}, {[]string{"!gpu"}, "ab"}, {[]string{"kitchen", "!gpu"}, "b"}, {[]string{"box-a", "gpu"}, "ac"}, {[]string{"nowhere"}, ""}} {
		list, _, err := s.ListHosts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		fits := ""
		for _, h := range list {
			if h.Fits(c.words) {
				fits += h.ID
			}
		}
		if fits != c.fits {
			t.Errorf("%v fits %q, want %q", c.words, fits, c.fits)
		}
	}
}
