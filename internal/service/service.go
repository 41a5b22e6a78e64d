package service

import (
	"context"
	"strconv"
	"sync"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/report/tail"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// Service commits what is wanted to the store, wakes the agents concerned, and follows
// the results. The operations are methods of its fields.
type Service struct {
	Agents        *Agents
	Availability  *Availability
	Routing       *Routing
	Chats         *Chats
	ChatControl   *ChatControl
	Conversations *Conversations
	Requests      *Requests
	Hub           *Hub

	who      api.Principal
	write    *writing // see [Service.With]; nil: no key
	app      *app.App
	home     folder.Home
	root     *store.Store
	store    *store.Store // of root, for who asks: see [Service.As]
	tail     *tail.Tail   // of its events; the same for all principals
	subjects bus.Subjects
	bus      bus.Bus
	waker    app.Waker
	trouble  api.Status

	unscheduled bool // no rows of undefined schedules are left
}

const (
	// pollEvery is how often the service reads the store while it waits for an outcome:
	// the bus makes waiting quick, this makes it reliable.
	pollEvery = 500 * time.Millisecond
	// lookEvery is how often a waiting command reads locks and rows.
	lookEvery = 50 * time.Millisecond
	// startingGrace bounds how quickly a bus must refuse for its hub to count as just
	// starting or ending.
	startingGrace = 500 * time.Millisecond
)

// Open opens the store for a principal and, if a hub runs, the bus: both at once, because
// each makes a command wait for a server.
func Open(ctx context.Context, a *app.App, who api.Principal) (*Service, error) {
	l, err := lineOf(a)
	if err != nil {
		return nil, err
	}
	var dialling sync.WaitGroup
	dialling.Go(func() { l.dial(ctx) })
	c, err := OpenOffline(ctx, a, who)
	dialling.Wait()
	if err != nil {
		return nil, err
	}
	c.use(l)
	return c, nil
}

// OpenOffline opens the store alone. It waits for nobody, and writes through it wake
// nobody: it is for reading.
func OpenOffline(ctx context.Context, a *app.App, who api.Principal) (*Service, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	c := (&Service{app: a, home: h, root: s, tail: tail.New(s.Events)}).As(who)
	c.use(&line{bus: bus.Nobody{}})
	return c, nil
}

// As returns the same service for another principal. Both use the same store and bus.
// What an agent writes is refused (Denied, [store.ErrNotRunning]) once its request has
// ended, in whatever transaction.
func (c *Service) As(who api.Principal) *Service {
	s := *c
	s.who, s.write, s.store = who, nil, c.root
	if who.Kind == api.Agent && who.Request != "" {
		s.store = c.root.While(fika.RequestID(who.Request))
	}
	s.Agents, s.Availability, s.Routing = &Agents{&s}, &Availability{&s}, &Routing{&s}
	s.Chats, s.ChatControl, s.Conversations = &Chats{&s}, &ChatControl{&s}, &Conversations{&s}
	s.Requests, s.Hub = &Requests{&s}, HubOf(s.app)
	return &s
}

// Principal returns who asks through this service.
func (c *Service) Principal() api.Principal { return c.who }

// OnBus opens the store and uses an existing bus, for a process that keeps running.
func OnBus(ctx context.Context, a *app.App, who api.Principal, b bus.Bus, subjects bus.Subjects) (*Service, error) {
	c, err := OpenOffline(ctx, a, who)
	if err != nil {
		return nil, err
	}
	c.use(&line{bus: b, subjects: subjects})
	return c, nil
}

// line is the service's connection to the bus.
type line struct {
	app      *app.App
	config   *config.Config
	home     folder.Home
	subjects bus.Subjects

	bus     bus.Bus    // [bus.Nobody] if there is none
	trouble api.Status // why there is none although a hub runs
}

func lineOf(a *app.App) (*line, error) {
	l := &line{app: a, bus: bus.Nobody{}}
	var err error
	if l.subjects, err = a.Subjects(); err != nil {
		return nil, err
	}
	if l.config, err = a.Config(); err != nil {
		return nil, err
	}
	l.home, err = a.Home()
	return l, err
}

func (c *Service) use(l *line) {
	c.bus, c.subjects, c.trouble = l.bus, l.subjects, l.trouble
	c.waker = app.Waker{Bus: c.bus, Subjects: c.subjects}
	c.store.OnEvents(func() {
		c.tail.Ring()
		c.waker.RingEvents()
	})
}

// dial connects if a hub runs, and does not wait for a hub that does not answer: that
// is not an error, and [Service.BusTrouble] says so.
func (l *line) dial(ctx context.Context) {
	p, up := l.home.HubProcess()
	if !up {
		return
	}
	if l.trouble = HubStuck(p); !l.trouble.IsClear() {
		return
	}
	began := time.Now()
	b, err := l.app.Bus(ctx, busnats.UserMember, false)
	switch {
	case err == nil:
		l.bus = b
	case l.app.External(l.config, l.home):
		l.trouble = api.Stands(api.BusSilent, "reason", err.Error())
	case fika.IsKind(err, fika.Invalid): // run/hub.json or run/credentials is invalid
		l.trouble = api.Stands(api.HubLost, "pid", strconv.Itoa(p.PID), "reason", err.Error())
	case time.Since(began) < startingGrace:
		l.app.Log().Warn("no bus", "err", err)
	default:
		l.trouble = api.Stands(api.HubSilent, "pid", strconv.Itoa(p.PID), "reason", err.Error())
	}
}

// BusTrouble says why there is no bus although a hub runs: the hub does not answer.
// Everything still works, only slower. It is clear if there is no trouble.
func (c *Service) BusTrouble() api.Status { return c.trouble }

// Connected reports whether there is a bus.
func (c *Service) Connected() bool {
	_, off := c.bus.(bus.Nobody)
	return !off
}

// now is the clock that rows are stamped with; without a database, this machine's.
func (c *Service) now() time.Time {
	if c.store == nil {
		return c.app.Now()
	}
	return c.store.Now()
}

// config returns the current configuration, because a console runs for a long time.
func (c *Service) config() *config.Config {
	conf, err := c.app.Config()
	if err != nil { // it could be read when c was opened
		return config.Default()
	}
	return conf
}

// wake tells agents that there is something to look at, and flushes the wake-up to the
// server before the command ends. Its errors are ignored, because agents also look by
// themselves soon.
func (c *Service) wake(ctx context.Context, names ...fika.AgentName) {
	c.waker.Wake(names...)
	_ = c.bus.Flush(ctx)
}

// wakeHub tells an agent and the hub that the agent's desired state has changed.
func (c *Service) wakeHub(ctx context.Context, name fika.AgentName) {
	c.waker.Wake(name)
	c.waker.WakeHub()
	_ = c.bus.Flush(ctx)
}

// Usage returns what was spent since a time on the requests that the caller may see, by
// agent and model.
func (c *Service) Usage(ctx context.Context, since time.Time) ([]UsageRow, error) {
	return c.sight().usage(ctx, since)
}
