package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"fika"
	"fika/internal/agent"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/bus/message"
	busnats "fika/internal/bus/nats"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/system/crash"
	"fika/internal/system/process"
	"fika/internal/turn"
	"fika/internal/worker"
)

// pollTime is how often agents and the hub look for work without a wake-up, and
// canaryTime how often the hub tests its stream.
const (
	pollTime   = 2 * time.Second
	canaryTime = 10 * time.Second
)

// AgentOptions are the options of an agent process.
type AgentOptions struct {
	Name fika.AgentName
	Out  io.Writer // where it shows its work
	// ByHub says that the hub started the process: it takes its settings from files
	// alone, and works in its own workspace folder unless told otherwise.
	ByHub bool
	Wait  time.Duration // how long to wait for a lock that a one-shot prompt holds
	// Shutdown is called once with a function that ends the process, for signals.
	Shutdown func(func(fika.Desired))
}

// RunAgent runs the process of one agent until it is told to stop. It connects to the
// bus as that agent, and works without the bus while there is none. Error kinds: Locked
// if the agent already runs, Lost if another owner took it over.
func RunAgent(ctx context.Context, a *app.App, o AgentOptions) (err error) {
	_ = process.MakePrivate() // where the system cannot do it, the sandbox has to
	if o.ByHub {
		a.StartedByHub()
	}
	if err := a.CheckName(o.Name); err != nil {
		return err
	}
	if !o.ByHub {
		if err := allowStart(ctx, a, o.Name); err != nil {
			return err
		}
	}
	w, err := worker.Open(ctx, a, worker.Options{Name: o.Name, Kind: folder.LockAgent, Wait: o.Wait, Quiet: o.ByHub})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	conn, err := a.Bus(ctx, busnats.AgentUser(w.Agent.Name), true)
	if err != nil {
		return err
	}
	if keys := a.Secrets(); keys != nil {
		clean := keys.Writer(o.Out)
		defer clean.Close()
		o.Out = clean
	}
	return runAgent(ctx, w, conn, o)
}

// runAgent works the requests of an open worker's agent.
func runAgent(ctx context.Context, w *worker.Worker, conn bus.Bus, o AgentOptions) error {
	a := w.App
	if a.Getenv("GOGC") == "" {
		// A working agent leaves a megabyte of garbage every few turns, and an idle one
		// releases everything ([worker.Worker.FreeMemory]): collecting at twice the
		// size halves the time.
		debug.SetGCPercent(200)
	}
	subjects, err := a.Subjects()
	if err != nil {
		return err
	}
	dir, err := workingFolder(w, o.ByHub)
	if err != nil {
		return err
	}
	display := agent.NewDisplay(o.Out)
	for _, note := range w.Notes() {
		display.Warn(note)
	}
	waker := app.Waker{Bus: conn, Subjects: subjects}
	w.Store.OnEvents(waker.RingEvents)
	desk := service.DeskOf(func(ctx context.Context) (*service.Service, error) {
		return service.OnBus(ctx, a, api.Principal{}, redactedBus{conn, a.Secrets()}, subjects)
	})
	live, err := w.LiveRuntime(ctx, worker.RuntimeOptions{
		Dir: dir, Waits: true, Warn: display.Warn, Notify: waker, Stderr: o.Out, Starting: true, Store: turn.WithTail(turn.StoreOf(w.Store)), Board: desk, Landing: desk, Workflows: desk,
	}, nil, o.ByHub)
	if err != nil {
		return err
	}
	if err := live.BuildModel(); err != nil {
		return err
	}
	end, err := w.FireStart(ctx, live.Hooks(), false, display.Warn)
	defer end()
	if err != nil {
		return err
	}
	runs := a.Advancer(w.Store, redactedBus{conn, a.Secrets()}, subjects)
	queue := live.Queue()
	p := agent.New(agent.Options{
		Agent: w.Agent, Pool: fika.AgentName(w.Settings.Pool), Lease: w.Lease, Model: w.Settings.Model.ID, Store: agent.StoreOf(queue), Inbox: queue.TakeInbox, Bus: redactedBus{conn, a.Secrets()}, Subjects: subjects,
		Work: live.Work, Compact: compactor(live), Summarise: summariser(live), Orphan: worker.EndStep, Recover: func() { w.UndoLeft(display.Warn) }, Wake: waker.Wake,
		Advance: func(ctx context.Context, run fika.RequestID) {
			if err := runs.Advance(ctx, run); err != nil {
				display.Warn(fmt.Sprintf("run %s resumes when the hub picks it up: %v", run, err))
			}
		},
		Display: display, Settings: func() agent.Settings { return processSettings(a, live.Settings()) },
		Now: a.Now, Sign: w.Heartbeat, Renewed: w.Renewed, Rest: w.FreeMemory, Jobs: w.Jobs(), Poll: crash.Pace(pollTime),
	})
	w.OnHeartbeat(p.Beat, p.Lost)
	if o.Shutdown != nil {
		o.Shutdown(p.Shutdown)
	}
	return p.Run(ctx)
}

// compactor returns a function that compacts the conversation of an agent, for requests
// over the bus.
func compactor(live *worker.LiveRuntime) agent.Compact {
	return func(ctx context.Context, c message.Control) (message.Compacted, error) {
		if c.Undo {
			undone, err := live.UndoCompaction(ctx)
			return message.Compacted{Undone: undone, Archived: []int64{}}, err
		}
		what := worker.Compaction{Chat: fika.ConversationName(c.ConversationID), Rolling: c.Rolling, Instructions: c.Instructions}
		done, err := live.Compact(ctx, what, c.Model)
		return done.Message(), err
	}
}

// summariser returns a function that summarises an agent's window, for requests over
// the bus.
func summariser(live *worker.LiveRuntime) agent.Summarise {
	return func(ctx context.Context, c message.Control) (message.Summarised, error) {
		done, err := live.Summarise(ctx, c.Model)
		return message.Summarised{Summary: done.Summary, Entries: done.Entries, Model: done.Model, Taint: done.Taint, Usage: done.Usage}, err
	}
}

// processSettings returns the settings that the process of an agent itself obeys.
func processSettings(a *app.App, s config.Settings) agent.Settings {
	return agent.Settings{Limits: a.TurnLimits(s), MaxConcurrent: s.MaxConcurrent, MaxIdle: maxIdle(s)}
}

// maxIdle returns how long an agent that is not persistent stays without work.
func maxIdle(s config.Settings) time.Duration {
	switch {
	case s.Persistent || !s.Entry:
		return 0
	case s.MaxIdle > 0:
		return s.MaxIdle
	default:
		return 10 * time.Minute
	}
}

// workingFolder returns where an agent works unless its settings name a workspace:
// where it was started, or, if the hub starts it, the project's folder, or without a
// project a folder below its context.
func workingFolder(w *worker.Worker, byHub bool) (string, error) {
	if !byHub {
		return w.App.Dir(), nil
	}
	if p := w.App.Project(); p != nil {
		return p.Main, nil
	}
	dir := w.Folder.Workspace()
	return dir, w.Folder.Home.EnsureDir(dir)
}

// allowStart clears the wish that an agent stay stopped: a person who starts it by hand
// wants it to run now, but not that the hub starts it again.
func allowStart(ctx context.Context, a *app.App, name fika.AgentName) error {
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := s.Agent(ctx, name)
	if err != nil || !row.Desired.Stopped() {
		return nil // opening reports the error, or creates the row
	}
	if state, err := holder(a, name); err == nil && state.Held {
		return nil // it is just stopping: opening says who holds it
	}
	return s.SetDesired(ctx, row.ID, fika.DesiredNone)
}

// holder returns the lock state of an agent's context.
func holder(a *app.App, name fika.AgentName) (folder.LockState, error) {
	h, err := a.Home()
	if err != nil {
		return folder.LockState{}, err
	}
	return h.Folder(name).Inspect()
}
