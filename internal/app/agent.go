package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"fika"
	"fika/internal/agent"
	busnats "fika/internal/bus/nats"
	"fika/internal/crash"
	"fika/internal/folder"
	"fika/internal/process"
	"fika/internal/store"
	"fika/internal/turn"
)

// pollTime is how often agents and hub look for work that nobody rang for, and
// canaryTime how often the hub tries its stream.
const (
	pollTime   = 2 * time.Second
	canaryTime = 10 * time.Second
)

// AgentOptions is an agent process.
type AgentOptions struct {
	Name fika.AgentName
	Out  io.Writer // where it shows what it does
	// ByHub: started by the hub, so that it takes its settings from files
	// alone and works in its own workspace folder unless told otherwise.
	ByHub bool
	Wait  time.Duration // for a lock that a one-shot prompt holds
	// Shutdown is told, once, a function that ends the process; for signals.
	Shutdown func(func(fika.Desired))
}

// Agent runs the process of one agent until it is told to stop. It connects to
// the bus as that agent and works without it while it is away. Error kinds:
// Locked when the agent runs already, Lost when another owner took it over.
func (a *App) Agent(ctx context.Context, o AgentOptions) (err error) {
	_ = process.Private() // where the system cannot, the sandbox has to
	if o.ByHub {
		a.StartedByHub()
	}
	if err := a.CheckName(o.Name); err != nil {
		return err
	}
	if !o.ByHub {
		if err := a.allow(ctx, o.Name); err != nil {
			return err
		}
	}
	own, err := a.Own(ctx, OwnOptions{Name: o.Name, Kind: folder.LockAgent, Wait: o.Wait, Quiet: o.ByHub})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	subjects, err := a.Subjects()
	if err != nil {
		return err
	}
	conn, err := a.Bus(ctx, busnats.AgentUser(own.Agent.Name), true)
	if err != nil {
		return err
	}
	dir := a.Dir()
	if o.ByHub {
		dir = own.Folder.Workspace()
		if err := own.Folder.Home.EnsureDir(dir); err != nil {
			return err
		}
	}
	if keys := a.Secrets(); keys != nil {
		clean := keys.Writer(o.Out)
		defer clean.Close()
		o.Out = clean
	}
	display := agent.NewDisplay(o.Out)
	for _, note := range own.Notes() {
		display.Warn(note)
	}
	ringer := Ringer{Bus: conn, Subjects: subjects}
	files, err := own.follow(ctx, workshopOptions{dir: dir, waits: true, warn: display.Warn, bell: ringer, stderr: o.Out, starting: true}, nil, o.ByHub)
	if err != nil {
		return err
	}
	shop := files.now
	shop.store = turn.NewTail(own.Store)
	if err := shop.ensureModel(); err != nil {
		return err
	}
	end, err := own.started(ctx, shop.hooks, false, display.Warn)
	defer end()
	if err != nil {
		return err
	}
	p := agent.New(agent.Options{
		Agent: own.Agent, Lease: own.Lease, Model: own.Settings.Model.ID, Store: listening{own.Store, shop.inbox}, Bus: CleanBus{conn, a.Secrets()}, Subjects: subjects,
		Work: files.work, Orphan: EndStep, Ring: ringer.Ring, Display: display, Settings: files.settings,
		Now: a.Now, Sign: own.heartbeat, Poll: crash.Pace(pollTime),
	})
	own.Follow(p.Beat, p.Lost)
	if o.Shutdown != nil {
		o.Shutdown(p.Shutdown)
	}
	return p.Run(ctx)
}

// allow takes back the wish that an agent stay stopped: whoever starts it by
// hand wants it to run now, though not that the hub starts it again.
func (a *App) allow(ctx context.Context, name fika.AgentName) error {
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := s.Agent(ctx, name)
	if err != nil || !row.Desired.Stopped() {
		return nil // Own says what is wrong, or makes the row
	}
	if state, err := a.holder(name); err == nil && state.Held {
		return nil // it is just stopping: Own says who has it
	}
	return s.SetDesired(ctx, row.ID, fika.DesiredNone)
}

// holder tells who holds an agent's context.
func (a *App) holder(name fika.AgentName) (folder.LockState, error) {
	h, err := a.Home()
	if err != nil {
		return folder.LockState{}, err
	}
	return h.Folder(name).Inspect()
}

// idle is how long an agent that is not persistent stays without work.
func idle(own *Owned) time.Duration {
	switch s := own.Settings; {
	case s.Persistent || !s.Entry:
		return 0
	case s.MaxIdle > 0:
		return s.MaxIdle
	default:
		return 10 * time.Minute
	}
}

// work runs one claimed request. A request whose model cannot be built fails
// visibly instead of staying open for ever.
func (w *workshop) work(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (turn.Result, error) {
	defer w.notes.Forget(c.Request.ID)
	engine, err := w.engine(c, stop, o)
	if err != nil {
		return w.refuse(ctx, c, err, o)
	}
	return w.turn(ctx, engine, c)
}

func (w *workshop) refuse(ctx context.Context, c store.Claimed, cause error, o turn.Observer) (turn.Result, error) {
	kind := fika.KindOf(cause)
	f := store.Finish{
		State: fika.RequestFailed, Reason: cause.Error(), ErrorKind: kind, TTL: w.own.Settings.Chat.MessageTTL,
		Outcome: fika.Outcome{Error: cause.Error(), ErrorKind: kind},
	}
	if c.Conversation.Kind == fika.Chat {
		f.Notice = "@" + string(c.Agent.Name) + " did not answer: " + cause.Error()
	}
	done, err := w.own.Store.Finish(context.WithoutCancel(ctx), c.Fence, f)
	if err != nil {
		return turn.Result{}, err
	}
	res := turn.Result{State: fika.RequestFailed, Reason: cause.Error(), Kind: kind, Outcome: done.Request.Outcome, Entries: done.Entries}
	o.Observe(turn.Event{Kind: turn.Committed, Claimed: &c, Entries: done.Entries, Notified: done.Notified})
	o.Observe(turn.Event{Kind: turn.Ended, Claimed: &c, Outcome: &res})
	return res, nil
}

// EndStep ends what a step of a crashed owner left running: its process group
// and everything that carries its mark.
func EndStep(ctx context.Context, s fika.Step) {
	if s.Proc.PID != 0 {
		_ = process.EndGroup(ctx, s.Proc, 2*time.Second)
	}
	process.EndMarked(fmt.Sprintf("%s/%d", s.Request, s.N))
}
