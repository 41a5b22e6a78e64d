package daemon

import (
	"context"
	"errors"
	"os"
	"reflect"
	"sync"
	"time"

	"fika"
	"fika/internal/admin/backup"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/chat/chatfile"
	"fika/internal/hub"
	"fika/internal/rights/limit"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/process"
	"fika/internal/text/hint"
	"fika/internal/worker"
)

// HubOptions are the options of a hub process.
type HubOptions struct {
	Ready func(hub.Ready) // called once
	// Waits is called if the hub waits until others no longer use the database, before it
	// becomes ready: with the reason, again whenever that changes.
	Waits func(why string)
	// Delayed is called if it takes some seconds longer until the hub becomes ready, or
	// fails, with the reason.
	Delayed func(why string)
	Hung    time.Duration // silence after which an agent is ended; 0: 90 s
	Grace   time.Duration // between asking an agent to leave and ending it; 0: 30 s
	// Shutdown is called once with a function that ends the hub in other ways than ctx
	// does: after the requests of its agents, or without finishing their steps.
	Shutdown func(func(fika.Desired))
}

// hubHome is a home as its hub sees it.
type hubHome struct {
	app   *app.App
	home  folder.Home
	store *store.Store
	page  *pageKeeper
	host  *hostKeeper // nil: no other hub has this database
}

// RunHub runs the hub of this home until ctx ends. It first takes run/hub.lock, and
// returns Locked if another hub holds it.
func RunHub(ctx context.Context, a *app.App, o HubOptions) (err error) {
	_ = process.MakePrivate() // as for agents
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return err
	}
	lock, err := h.LockHub()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	a.StayOpen()
	a.WaitForOthers(func(why string) {
		a.Log().Warn("the hub waits", "why", why)
		if o.Waits != nil {
			o.Waits(why)
		}
	})
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	end := func() { fail(nil) }
	look := lookThrough(ctx, s)
	defer func() {
		end()
		<-look.done
		err = errors.Join(err, look.err)
	}()
	home := hubHome{app: a, home: h, store: s, page: newPageKeeper(a, h)}
	leave, err := home.beHost(ctx, o.Delayed, fail)
	if err != nil {
		return err
	}
	defer leave()
	home.lookAtBudgetsAgain(ctx, c) // they may have changed while no hub ran
	specs, err := home.specs(ctx, c)
	if err != nil {
		return err
	}
	b, err := openBus(ctx, a, h, c, specs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	hubOptions, err := home.options(ctx, b, specs, o)
	if err != nil {
		return err
	}
	defer home.page.close()
	hubOptions.Home, hubOptions.Patience = lock.CheckHeld, c.Board.Patience
	if at, err := a.Standing(); err == nil && at.Project != "" && b.server != nil {
		hubOptions.Rest = c.Hub.MaxIdle
		hubOptions.Followed = func() bool {
			return b.server.HasMembers() || home.page.watched() || home.sendsEvents() || home.landing(ctx)
		}
	}
	a.StartedByHub()
	a.FollowConfig(func(text string) { a.Log().Warn(text) })
	if look.found(soundBeforeUp) {
		return nil // the damage has been reported above
	}
	var daily sync.WaitGroup
	defer daily.Wait()
	defer end()
	daily.Go(func() { look.endFor(ctx, end) })
	daily.Go(func() { backup.KeepDaily(ctx, a, c.Store.Backups) })
	worker.SweepLimits(a, h.Root)
	serving, unserve := context.WithCancel(context.WithoutCancel(ctx)) // executors end after agents
	defer unserve()
	daily.Go(func() { home.keepExecutors(serving) })
	daily.Go(func() { keepChats(ctx, chatfile.New(h.ChatsDir(), s, a.Now), a.Log()) })
	daily.Go(func() { home.keepLanding(ctx) })
	daily.Go(func() { home.keepPushing(ctx) })
	daily.Go(func() { home.keepTakingOver(ctx) })
	daily.Go(func() { home.keepOnDemand(ctx) })
	daily.Go(func() { home.keepWebhooks(ctx, hubOptions.StoreID, home.page.service) })
	p := hub.New(hubOptions)
	if o.Shutdown != nil {
		o.Shutdown(p.Shutdown)
	}
	err = p.Run(ctx)
	if lost := context.Cause(ctx); fika.IsKind(lost, fika.Lost) {
		err = errors.Join(err, lost)
	}
	return err
}

// options returns the options of the hub.
func (h hubHome) options(ctx context.Context, b *hubBus, specs []hub.Spec, o HubOptions) (hub.Options, error) {
	a := h.app
	procs, err := newProcesses(h.home)
	if err != nil {
		return hub.Options{}, err
	}
	meta, err := h.store.Meta(ctx)
	if err != nil {
		return hub.Options{}, err
	}
	subjects, err := a.Subjects()
	if err != nil {
		return hub.Options{}, err
	}
	c, err := service.OnBus(ctx, a, api.Principal{Kind: api.System, Name: "hub", Door: api.DoorHub}, redactedBus{b.conn, a.Secrets()}, subjects)
	if err != nil {
		return hub.Options{}, err
	}
	h.page.service = c
	var sharing hub.Sharing
	if h.host != nil {
		h.host.ownBus = b.server != nil
		sharing = h.host
	}
	return hub.Options{
		Sharing: sharing,
		Reload:  h.page.reloading(h.reload(b)), Hindered: h.hindered,
		StoreID: meta.StoreID, Hung: o.Hung, StopGrace: o.Grace,
		Store: hub.StoreOf(h.store), Bus: redactedBus{b.conn, a.Secrets()}, Subjects: subjects, Inbound: b.inbound, Heal: b.heal,
		Processes: procs, Admit: b.admit, Intake: c.BusIntake(b.server != nil), Specs: specs, Log: a.Log(), Now: h.store.Now,
		CannotTakeOver: func(ctx context.Context, r store.RequestInfo, to fika.AgentName) (string, error) {
			return a.CannotTakeOver(ctx, h.store, r, to)
		},
		PoolControl: h.controlPool,
		Inboxes:     func(ctx context.Context) { h.drainInboxes(ctx); h.loseJobs(ctx); h.moveAgents(ctx); h.shareTexts(ctx) }, Outputs: func(ctx context.Context) { h.ageOutputs(ctx); h.archiveOld(ctx) },
		Runs:        a.Advancer(h.store, redactedBus{b.conn, a.Secrets()}, subjects).AdvanceDue,
		Schedules:   c.Schedules().BeginDue,
		LookForIdle: h.host != nil && process.Boottime() > 0,
		Tick:        crash.Pace(pollTime), Canary: crash.Pace(canaryTime),
		Ready: func(list []hub.Started) {
			list = append(list, h.definedElsewhere(ctx)...)
			warning := b.warning
			if h.host != nil && warning == "" {
				warning = h.host.otherBus()
			}
			if o.Ready != nil {
				o.Ready(hub.Ready{PID: os.Getpid(), Bus: b.url, Agents: list, Warning: warning})
			}
		},
	}, nil
}

// reload returns a function that returns the agents of the configuration if anything
// has changed that decides whether they run.
func (h hubHome) reload(b *hubBus) func(context.Context) ([]hub.Spec, bool) {
	a := h.app
	first, _ := a.Config()
	stampFiles := func() config.Stamp {
		paths, _ := a.ConfigPaths() // they were known when the hub began
		paths = append(paths, a.KeysFile(), a.LentKeysDir())
		if c, err := a.Config(); err == nil {
			for _, e := range c.Agents {
				paths = append(paths, h.home.Folder(fika.AgentName(e.ID)).LocalConfig())
			}
			if h.host != nil {
				names, _, _ := h.home.List()
				for _, name := range names {
					paths = append(paths, h.home.Folder(name).LocalConfig())
				}
			}
		}
		return config.StampOf(paths...)
	}
	places := func() string {
		if h.host == nil {
			return ""
		}
		return h.host.places()
	}
	before, at, budgets := stampFiles(), places(), first.Budgets
	return func(ctx context.Context) ([]hub.Spec, bool) {
		now, nowAt := stampFiles(), places()
		if now.SameAs(before) && nowAt == at {
			return nil, false
		}
		before, at = now, nowAt
		c, err := a.Config()
		if err != nil {
			return nil, false
		}
		if !reflect.DeepEqual(c.NATS, first.NATS) || c.Store != first.Store {
			first = c
			a.Log().Warn("[nats] or [store] has changed: that counts from the next " + hint.Down.With() + " and " + hint.Up.With())
		}
		if !reflect.DeepEqual(c.Budgets, budgets) {
			budgets = c.Budgets
			h.lookAtBudgetsAgain(ctx, c)
		}
		if err := b.setMembers(c); err != nil {
			a.Log().Warn("[[bus_members]]", "err", err)
			before = config.Stamp{} // try again next time
		}
		specs, err := h.specs(ctx, c)
		if err != nil {
			a.Log().Warn("reload", "err", err)
		}
		return specs, err == nil
	}
}

// lookAtBudgetsAgain makes work that waited for a changed budget be looked at again, so
// that the hub starts its agents.
func (h hubHome) lookAtBudgetsAgain(ctx context.Context, c *config.Config) {
	id, err := h.home.ID()
	switch {
	case err != nil:
	case len(c.Budgets) == 0:
		err = h.store.LookAgain(ctx)
	default:
		err = h.store.CatchUp(ctx, id, limit.Budgets{List: app.LimitBudgets(c.Budgets)})
	}
	if err != nil {
		h.app.Log().Warn("budgets", "err", err)
	}
}

// hindered returns why an agent could not work if the hub started it now: its settings,
// its workspace, its model or the model's key.
func (h hubHome) hindered(name fika.AgentName) error {
	s, err := h.app.Settings(name, nil, true)
	if err != nil {
		return err
	}
	if err := worker.CanOpenWorkspace(h.app, s); err != nil {
		return err
	}
	_, err = h.app.Model(s)
	return err
}

// specs returns the agents of the configuration, and creates their rows and folders.
func (h hubHome) specs(ctx context.Context, c *config.Config) ([]hub.Spec, error) {
	id, err := h.home.ID()
	if err != nil {
		return nil, err
	}
	rows, err := h.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if _, err := h.app.DissolvePool(ctx, h.store, h.home, row); err != nil {
			return nil, err
		}
	}
	if err := h.defineContexts(ctx, c, id, rows); err != nil {
		return nil, err
	}
	var out []hub.Spec
	for _, e := range c.Agents {
		name, err := fika.ParseAgentName(e.ID)
		if err != nil {
			return nil, err
		}
		row, err := h.app.EnsureEntry(ctx, h.store, h.home, &e)
		if e.Pool != "" && e.Places > 0 && (fika.IsKind(err, fika.NotFound) || err == nil && row.HomeID != id) {
			continue // another host has it, or none
		}
		if err != nil {
			return nil, err
		}
		if e.Instances > 0 && e.Places > 0 {
			members, err := h.membersHere(ctx, &e, id)
			if err != nil {
				return nil, err
			}
			if len(members) > 0 {
				out = append(out, hub.Spec{Name: name, Members: members, Team: e.Members(), Lent: row.HomeID != id, Backup: backupsOf(e)})
			}
			continue
		}
		if row.HomeID != id && (len(e.RunOn) > 0 || e.Moves()) {
			continue
		}
		if row.HomeID != id {
			h.app.Log().Warn("another host has defined an agent of this name first, and this one defines it too", "agent", name, "first", h.hostName(row.HomeID), "here", h.hostName(id))
			continue
		}
		spec := hub.Spec{Name: name, AutoStart: e.AutoStart && c.Master.AutoStartAgents, Persistent: e.Persistent, Wake: e.Wake}
		if spec.Members = e.Members(); spec.Members != nil {
			spec.AutoStart, spec.Wake = false, false
		}
		spec.Board, spec.RunOn = h.app.BoardOf(name), e.RunOn
		spec.Backup = backupsOf(e)
		out = append(out, spec)
	}
	return out, nil
}

func backupsOf(e config.Agent) (out []fika.AgentName) {
	for _, name := range e.Backup {
		out = append(out, fika.AgentName(name))
	}
	return out
}
