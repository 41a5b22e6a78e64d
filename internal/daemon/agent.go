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
	"fika/internal/app"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/config"
	"fika/internal/crash"
	"fika/internal/folder"
	"fika/internal/message"
	"fika/internal/process"
	"fika/internal/turn"
	"fika/internal/worker"
)

// pollTime is how often agents and hub look for work that nobody woke them for, and
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

// RunAgent runs the process of one agent until it is told to stop. It connects
// to the bus as that agent and works without it while it is away. Error kinds:
// Locked when the agent runs already, Lost when another owner took it over.
func RunAgent(ctx context.Context, a *app.App, o AgentOptions) (err error) {
	_ = process.MakePrivate() // where the system cannot, the sandbox has to
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

// runAgent works what comes for the agent of an open worker.
func runAgent(ctx context.Context, w *worker.Worker, conn bus.Bus, o AgentOptions) error {
	a := w.App
	if a.Getenv("GOGC") == "" {
		// An agent at work leaves a megabyte behind every few turns, and one that has
		// none gives everything back ([worker.Worker.FreeMemory]): to collect at twice the
		// size takes half as long.
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
	live, err := w.LiveRuntime(ctx, worker.RuntimeOptions{
		Dir: dir, Waits: true, Warn: display.Warn, Notify: waker, Stderr: o.Out, Starting: true, Store: turn.WithTail(turn.StoreOf(w.Store)),
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
	p := agent.New(agent.Options{
		Agent: w.Agent, Pool: fika.AgentName(w.Settings.Pool), Lease: w.Lease, Model: w.Settings.Model.ID, Store: agent.StoreOf(live.Queue()), Bus: redactedBus{conn, a.Secrets()}, Subjects: subjects,
		Work: live.Work, Compact: compactor(live), Summarise: summariser(live), Orphan: worker.EndStep, Recover: func() { w.UndoLeft(display.Warn) }, Wake: waker.Wake,
		Advance: func(ctx context.Context, run fika.RequestID) {
			if err := runs.Advance(ctx, run); err != nil {
				display.Warn(fmt.Sprintf("the run %s goes on when the hub has looked at it: %v", run, err))
			}
		},
		Display: display, Settings: func() agent.Settings { return processSettings(a, live.Settings()) },
		Now: a.Now, Sign: w.Heartbeat, Rest: w.FreeMemory, Poll: crash.Pace(pollTime),
	})
	w.OnHeartbeat(p.Beat, p.Lost)
	if o.Shutdown != nil {
		o.Shutdown(p.Shutdown)
	}
	return p.Run(ctx)
}

// compactor compacts the conversation of an agent for whoever asks over the bus.
func compactor(live *worker.LiveRuntime) agent.Compact {
	return func(ctx context.Context, c message.Control) (message.Compacted, error) {
		if c.Undo {
			undone, err := live.UndoCompaction(ctx)
			return message.Compacted{Undone: undone, Archived: []int64{}}, err
		}
		done, err := live.Compact(ctx, c.Rolling, c.Model)
		out := message.Compacted{
			Archived: []int64{}, Kept: done.Kept, Before: done.Before, Counted: done.Counted, After: done.After, Summary: done.Summary, Usage: done.Usage,
		}
		for _, e := range done.Archived {
			out.Archived = append(out.Archived, e.Seq)
		}
		return out, err
	}
}

// summariser sums up what an agent has in its window for whoever asks over the bus.
func summariser(live *worker.LiveRuntime) agent.Summarise {
	return func(ctx context.Context, c message.Control) (message.Summarised, error) {
		done, err := live.Summarise(ctx, c.Model)
		return message.Summarised{Summary: done.Summary, Entries: done.Entries, Model: done.Model, Taint: done.Taint, Usage: done.Usage}, err
	}
}

// processSettings are those that the process of an agent itself keeps to.
func processSettings(a *app.App, s config.Settings) agent.Settings {
	return agent.Settings{Limits: a.TurnLimits(s), MaxConcurrent: s.MaxConcurrent, MaxIdle: maxIdle(s)}
}

// maxIdle is how long an agent that is not persistent stays without work.
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

// workingFolder is where an agent works unless its settings name a workspace:
// where it was started, or when the hub starts it the project's folder, and
// without a project one below its context.
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

// allowStart takes back that an agent is to stay stopped: whoever starts it by
// hand wants it to run now, though not that the hub starts it again.
func allowStart(ctx context.Context, a *app.App, name fika.AgentName) error {
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := s.Agent(ctx, name)
	if err != nil || !row.Desired.Stopped() {
		return nil // opening says what is wrong, or makes the row
	}
	if state, err := holder(a, name); err == nil && state.Held {
		return nil // it is just stopping: opening says who has it
	}
	return s.SetDesired(ctx, row.ID, fika.DesiredNone)
}

// holder returns who holds an agent's context.
func holder(a *app.App, name fika.AgentName) (folder.LockState, error) {
	h, err := a.Home()
	if err != nil {
		return folder.LockState{}, err
	}
	return h.Folder(name).Inspect()
}
