package daemon

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/hub"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
)

const (
	hostLife = 20 * time.Second // how long a host and its duties last without a sign of life
	hostBeat = 5 * time.Second
	hostLook = time.Second // between two tries to become a host whose holder may be gone
)

// hostKeeper keeps the place of this hub among those that share its database: it is the
// host of its home, and has duties, as long as it can say so in the database.
type hostKeeper struct {
	home    hubHome
	session store.HostSession
	texts   *textSharer
	ownBus  bool // what comes over the hub's own server, no other hub reads; set before the hub runs

	mu    sync.Mutex
	news  store.HostNews
	moved int       // how many agents have come and gone
	until time.Time // what the news say is true until then
}

// beHost makes this hub the host of its home, until the returned function is called. For a
// database that is a file it does nothing: there is no other hub. It fails with Locked if
// a copy of the home is the host; to know that, it may have to wait, and calls delayed, if
// that is not nil, with the reason. lost is called with an error of kind Lost when another
// hub has become it.
func (h *hubHome) beHost(ctx context.Context, delayed func(why string), lost func(error)) (leave func(), err error) {
	c, err := h.app.Config()
	if err != nil || c.Store.URL == "" {
		return func() {}, err
	}
	if h.host, err = h.enterHost(ctx, delayed); err != nil {
		return nil, err
	}
	keeping, end := context.WithCancel(context.WithoutCancel(ctx)) // also while agents end
	var kept sync.WaitGroup
	kept.Go(func() { h.host.keep(keeping, lost) })
	return func() { end(); kept.Wait() }, nil
}

func (h *hubHome) enterHost(ctx context.Context, delayed func(why string)) (*hostKeeper, error) {
	home, copied, err := h.home.Site()
	if err != nil {
		return nil, err
	}
	machine, err := os.Hostname()
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "name of this machine", err)
	}
	c, err := h.app.Config()
	if err != nil {
		return nil, err
	}
	k := &hostKeeper{home: *h, texts: newTextSharer(h.home)}
	var seen time.Time // the holder before, at the first try
	for {
		k.session, k.news.Host, err = h.store.EnterHost(ctx, store.Site{Home: home, Copy: copied}, machine, version(), busOf(c), hostLife, seen)
		if err != nil {
			return nil, err
		}
		if k.session.Session != "" {
			return k, k.beat(ctx)
		}
		if seen.IsZero() {
			seen = k.news.Host.Seen
			why := whyDelayed(k.news.Host, h.store.Now())
			h.app.Log().Info("the hub is delayed", "why", why)
			if delayed != nil {
				delayed(why)
			}
		}
		if err := sleep.For(ctx, crash.Pace(hostLook)); err != nil {
			return nil, fika.Wrap(fika.Interrupted, "up", err)
		}
	}
}

// whyDelayed says why a hub cannot become the host of its home yet, and for how long at most.
func whyDelayed(h store.Host, now time.Time) string {
	whole := func(d time.Duration) time.Duration { return max(0, d).Round(time.Second) }
	return fmt.Sprintf("waiting for the host %s, for at most %s: its hub was last seen %s ago, before this machine was restarted or where this home was copied from",
		h.Name, whole(h.Until.Sub(now)), whole(now.Sub(h.Seen)))
}

// busOf returns what the other hosts are told of this one's bus.
func busOf(c *config.Config) store.HostBus {
	out := store.HostBus{Prefix: c.NATS.SubjectPrefix}
	if u, err := url.Parse(c.NATS.Server); err == nil {
		u.User = nil
		out.Server = u.String()
	}
	return out
}

// otherBus says which other hosts do not hear this one, because the prefix of their
// subjects is another; empty: none.
func (k *hostKeeper) otherBus() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, o := range k.news.Others {
		if own := k.news.Host.Bus.Prefix; o.Bus.Prefix != "" && o.Bus.Prefix != own {
			return "the host " + o.Name + " has the subject_prefix " + o.Bus.Prefix + ", this one " + own + ": they do not hear each other, and what one asks of the other comes late"
		}
	}
	return ""
}

// duties returns the names of what this hub would do for all.
func (k *hostKeeper) duties() []string {
	names := hub.Duties()
	c, err := k.home.app.Config()
	if err != nil {
		return names
	}
	for _, w := range c.Webhooks {
		names = append(names, receiverDuty(w.URL))
	}
	if c.OTLP.Endpoint != "" {
		names = append(names, receiverDuty(c.OTLP.Receiver()))
	}
	for name := range c.OnDemand {
		names = append(names, store.StartDuty(name))
	}
	return names
}

// agents returns which agents the configuration defines; nil if that is what the others
// know already, or it cannot be read.
func (k *hostKeeper) agents() []string {
	c, err := k.home.app.Config()
	if err != nil {
		return nil
	}
	names := []string{}
	for _, e := range c.Agents {
		names = append(names, e.ID)
	}
	if slices.Equal(names, k.host().Agents) {
		return nil
	}
	return names
}

// receiverDuty is the duty to send events to a receiver.
func receiverDuty(url string) string { return "events to " + url }

// keep prolongs the session until ctx ends, then gives it up. It calls lost, with an error
// of kind Lost, when another hub has become the host.
func (k *hostKeeper) keep(ctx context.Context, lost func(error)) {
	log := k.home.app.Log()
	for sleep.For(ctx, crash.Pace(hostBeat)) == nil {
		before := k.host()
		err := k.beat(ctx)
		now := k.host()
		switch {
		case fika.IsKind(err, fika.Lost):
			lost(err)
			return
		case err != nil && ctx.Err() == nil:
			log.Warn("host", "err", err)
		case now.RefusedAt.After(before.RefusedAt):
			log.Warn("a copy of this home was refused: it has the same home_id, and its hub was started", "on", now.Refused)
		case now.State != before.State:
			log.Info("host", "state", now.State)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := k.home.store.LeaveHost(last, k.session); err != nil {
		log.Warn("host", "err", err)
	}
}

// beat prolongs the session once.
func (k *hostKeeper) beat(ctx context.Context) error {
	asked := time.Now()
	trying, cancel := context.WithTimeout(ctx, hostLife/2)
	defer cancel()
	news, err := k.home.store.KeepHost(trying, k.session, hostLife, k.duties(), k.agents())
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.news, k.until, k.session.Seen = news, asked.Add(hostLife), news.Host.Seen
	return nil
}

// places tells of all hosts what decides which agents may run where: when it is another
// text, that may have changed.
func (k *hostKeeper) places() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := strconv.Itoa(k.moved) + " " + strings.Join(k.news.Agents, ",") + "\n" // one may have been moved here while its host was down
	for _, h := range append([]store.Host{k.news.Host}, k.news.Others...) {
		text += h.ID + " " + h.Name + " " + strings.Join(h.Labels, ",") + "\n"
	}
	return text
}

func (k *hostKeeper) host() store.Host {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.news.Host
}

// Mine implements [hub.Sharing].
func (k *hostKeeper) Mine(a fika.Agent) bool { return a.HomeID == "" || a.HomeID == k.session.Host }

// Alive implements [hub.Sharing].
func (k *hostKeeper) Alive(home string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	// What another has said is as old as the news at the most.
	return slices.ContainsFunc(k.news.Others, func(o store.Host) bool {
		return o.ID == home && o.Until.After(k.news.Host.Seen.Add(time.Since(k.until.Add(-hostLife))))
	})
}

// Holds implements [hub.Sharing].
func (k *hostKeeper) Holds(duty string) bool {
	if duty == hub.DutyRequests && k.ownBus {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Before(k.until) && slices.Contains(k.news.Duties, duty)
}

// Drained implements [hub.Sharing].
func (k *hostKeeper) Drained() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	own, now := k.news.Host, k.home.store.Now()
	return own.State == store.HostDrained || slices.ContainsFunc(k.news.OnDemand, func(d store.OnDemand) bool { return d.Name == own.Name && !d.Begins(now) })
}

// Leaving implements [hub.Sharing].
func (k *hostKeeper) Leaving(id fika.AgentID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.news.Moves, func(m store.Move) bool { return m.ID == id })
}

// Fits implements [hub.Sharing].
func (k *hostKeeper) Fits(hosts []string) bool { return k.host().Fits(hosts) }

// has reports whether this hub has a duty; one that has its database alone has all.
func (h hubHome) has(duty string) bool { return h.host == nil || h.host.Holds(duty) }

// whileHas calls do whenever this hub has a duty, until ctx ends.
func (h hubHome) whileHas(ctx context.Context, duty string, do func(context.Context)) {
	if h.host == nil {
		do(ctx)
		return
	}
	for ctx.Err() == nil {
		if err := hub.WhileHolding(ctx, h.host, duty, func(ctx context.Context) error { do(ctx); return nil }); err != nil {
			return
		}
	}
}

// definedElsewhere returns the agents that the settings define and another host has
// defined first: this hub does not start them.
func (h hubHome) definedElsewhere(ctx context.Context) (out []hub.Started) {
	c, err := h.app.Config()
	if err != nil || h.host == nil {
		return nil
	}
	id := h.host.session.Host
	for _, e := range c.Agents {
		if e.Places > 0 {
			if members, err := h.membersHere(ctx, &e, id); err == nil && e.Instances > 0 && len(members) == 0 {
				out = append(out, hub.Started{Name: fika.AgentName(e.ID), Error: "other hosts have all its members, so none is left for this one (instances, and places there)"})
			}
			continue
		}
		row, err := h.store.Agent(ctx, fika.AgentName(e.ID))
		if err != nil || h.host.Mine(row) || len(e.RunOn) > 0 || e.Moves() { // those are for several hosts on purpose
			continue
		}
		out = append(out, hub.Started{Name: row.Name, Error: "the host " + h.host.nameOf(row.HomeID) + " has defined it first, and " + h.host.host().Name + " defines it too: give yours another name"})
	}
	return out
}

// membersHere returns the members of a pool that this host has.
func (h hubHome) membersHere(ctx context.Context, e *config.Agent, home string) (out []fika.AgentName, err error) {
	for _, name := range e.Members() {
		row, err := h.store.Agent(ctx, name)
		if fika.IsKind(err, fika.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if row.HomeID == home {
			out = append(out, name)
		}
	}
	return out, nil
}

// defineContexts tells the other hosts what this one says of its contexts that are not in
// the configuration, for as long as they are there.
func (h hubHome) defineContexts(ctx context.Context, c *config.Config, home string, rows []fika.Agent) error {
	if h.host == nil {
		return nil
	}
	names, _, err := h.home.List()
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.HomeID != home || c.Agent(row.Name) != nil || !slices.Contains(names, row.Name) {
			continue
		}
		if _, err := h.store.EnsureAgent(ctx, store.NewAgent{Name: row.Name, HomeID: home, Definition: h.app.Definition(row.Name)}); err != nil {
			return err
		}
	}
	return nil
}

// hostName returns the name of the host of a home.
func (h hubHome) hostName(home string) string {
	if h.host == nil {
		return home
	}
	if own := h.host.host(); own.ID == home {
		return own.Name
	}
	return h.host.nameOf(home)
}

// nameOf returns the name of another host, by its home.
func (k *hostKeeper) nameOf(home string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, o := range k.news.Others {
		if o.ID == home {
			return o.Name
		}
	}
	return home
}
