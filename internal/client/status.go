package client

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"fika"
	busnats "fika/internal/bus/nats"
	"fika/internal/sandbox"
	"fika/internal/store"
)

// Status is how a home is.
type Status struct {
	Home    string
	Hub     fika.Process         // PID 0: no hub runs
	Trouble string               // why the hub that runs does not answer; empty: it does
	HubFrom time.Time            // since when; zero: not known
	BusURL  string               // empty: none
	BusOwn  bool                 // the hub's own server
	BusUp   bool                 // it answers
	BusTrip time.Duration        // how long that took
	Stream  *busnats.StreamState // of foreign requests; nil: it did not tell
	// Warnings say what programs that are not fika cannot rely on, or have lost.
	Warnings  []string
	Store     StoreMeta
	Bytes     int64 // of the database, its log included
	Agents    []AgentView
	Waiting   int // requests and chats that could be taken now, of all agents
	Paused    bool
	Sandbox   SandboxStatus
	Budgets   []BudgetBalance
	Schedules []Schedule
	// Executors are those that the settings define.
	Executors []ExecutorStatus
}

// ExecutorStatus is how an executor is.
type ExecutorStatus struct {
	Name    string
	User    string // whom tools run as; empty: who runs it
	Running bool
}

// executors tells how the executors of this home are.
func (c *Client) executors(ctx context.Context) ([]ExecutorStatus, error) {
	var out []ExecutorStatus
	list := c.config().Executors
	if len(list) == 0 {
		return nil, nil
	}
	home, err := c.home.ID()
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		row, err := c.store.Executor(ctx, store.ExecutorID(home, x.Name))
		if err != nil {
			return nil, err
		}
		out = append(out, ExecutorStatus{Name: x.Name, User: x.User, Running: row.Owner != "" && row.LeaseUntil.After(c.now())})
	}
	return out, nil
}

// SandboxStatus is how commands are confined where nothing else is said.
type SandboxStatus struct {
	Tier  string   // full, landlock or none
	Lacks []string // what it does not keep commands from
	Why   string   // what keeps a stronger tier from working; empty: nothing does
}

// Status looks at everything; it needs no hub and starts none.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var st Status
	var err error
	h := c.home
	st.Home = h.Root
	st.Sandbox = c.Sandbox()
	if p, up := h.HubProcess(); up {
		st.Hub = p
		st.HubFrom = h.HubSince()
		st.BusURL, st.BusOwn = c.config().NATS.Server, false
		if !c.app.External(c.config(), h) {
			st.BusOwn = true
			if info, err := busnats.ReadEndpoint(h.RunDir()); err == nil {
				st.BusURL = info.URL
			}
		}
	}
	st.Trouble = c.trouble
	st.Warnings = append(st.Warnings, busnats.DamageWarnings(h.RunDir())...)
	if c.Connected() {
		st.readBus(ctx, c)
	}
	s := c.store
	if st.Store, err = s.Meta(ctx); err != nil {
		return st, err
	}
	st.Bytes = st.Store.Bytes
	if c.app.ReadOnly() && strings.HasPrefix(st.Store.Engine, "sqlite") {
		st.Store.Path = h.DatabaseFile() // not that of the copy that is read
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(st.Store.Path + suffix); err == nil {
			st.Bytes += info.Size()
		}
	}
	if st.Paused, err = s.AllPaused(ctx); err != nil {
		return st, err
	}
	work, err := s.WithWork(ctx)
	if err != nil {
		return st, err
	}
	for _, w := range work {
		st.Waiting += w.Open
	}
	if st.Schedules, err = c.Schedules().List(ctx); err != nil {
		return st, err
	}
	if st.Budgets, err = c.Budgets().List(ctx); err != nil {
		return st, err
	}
	if st.Executors, err = c.executors(ctx); err != nil {
		return st, err
	}
	st.Agents, err = c.Agents.List(ctx, false)
	return st, err
}

// readBus asks the bus how it is, and does not wait for long.
func (st *Status) readBus(ctx context.Context, c *Client) {
	var err error
	if st.BusTrip, err = busnats.RoundTrip(c.bus); err != nil {
		return
	}
	st.BusUp = true
	ctx, cancel := context.WithTimeout(ctx, streamPatience)
	defer cancel()
	s, err := busnats.ReadStream(ctx, c.bus, c.subjects.Prefix)
	switch {
	case err == nil:
		st.Stream = &s
	case errors.Is(err, busnats.ErrNoJetStream) || !st.BusOwn:
		st.Warnings = append(st.Warnings, busnats.UnkeptWarning(err))
	}
}

// streamPatience is how long a status may wait for the numbers of a stream: a
// server may leave the question of somebody who may not ask unanswered.
const streamPatience = time.Second

// Sandbox finds out how commands are confined where nothing else is said.
func (c *Client) Sandbox() SandboxStatus {
	found, err := c.app.SandboxProbe().Open(sandbox.Mode(c.config().Guard.SandboxMode))
	if err != nil {
		return SandboxStatus{Tier: string(sandbox.None), Why: err.Error(), Lacks: []string{"nothing is run"}}
	}
	return SandboxStatus{Tier: string(found.Tier()), Lacks: found.Lacks(), Why: found.WhyWeaker()}
}
