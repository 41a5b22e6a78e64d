package service

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	busnats "fika/internal/bus/nats"
	"fika/internal/sandbox"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/worker"
)

// Status is the state of a home.
type Status struct {
	Home    string
	Hub     fika.Process         // PID 0: no hub runs
	Trouble api.Status           // why the running hub does not answer; clear: it does
	HubFrom time.Time            // when the hub started; zero: unknown
	BusURL  string               // empty: none
	BusOwn  bool                 // the hub's own server
	BusUp   bool                 // the bus answers
	BusTrip time.Duration        // round-trip time
	Stream  *busnats.StreamState // of foreign requests; nil: no answer
	// Warnings say what foreign programs cannot rely on, or have lost, that the disk is full,
	// and what was not archived in time.
	Warnings []string
	Store    StoreMeta
	// StoreTrouble is why the store cannot be used; empty: it can. Then only what the home's
	// files, processes and bus show is known.
	StoreTrouble string
	Bytes        int64 // of the database, its log included
	Agents       []AgentView
	Waiting      int // requests and chats that all agents could take now
	Paused       bool
	Sandbox      SandboxStatus
	Budgets      []BudgetBalance
	Offers       []PlacedOffer // that wait for hosts that are down
	Schedules    []Schedule
	Guests       []GuestPrograms
	// Executors are the executors that the settings define.
	Executors []ExecutorStatus
}

// ExecutorStatus is the state of an executor.
type ExecutorStatus struct {
	Name    string
	User    string // the user that tools run as; empty: the user that runs it
	Host    string // where it runs; empty: here
	Running bool
}

// GuestPrograms are the programs of a guest that may stay after a turn.
type GuestPrograms struct {
	Agent fika.AgentName
	Count int
	Idle  int   // of Count: those that wait for a next turn
	Bytes int64 // of memory that they use
}

// guestPrograms returns the programs of the guests among agents, as far as this machine tells.
func (c *Service) guestPrograms(agents []AgentView) (out []GuestPrograms) {
	var memory map[string]int64 // by mark; nil: not looked yet
	for _, v := range agents {
		if !strings.HasPrefix(v.Model, fika.GuestModels) || v.PID == 0 {
			continue
		}
		if memory == nil {
			memory = process.MarkedMemory(worker.GuestMarks)
		}
		g, prefix := GuestPrograms{Agent: v.Row.Name}, worker.GuestMark(c.home.Root, v.Row.Name)
		for mark, bytes := range memory {
			conversation, own := strings.CutPrefix(mark, prefix)
			if !own {
				continue
			}
			g.Count, g.Bytes = g.Count+1, g.Bytes+bytes
			if !slices.ContainsFunc(v.Running, func(r RequestInfo) bool { return string(r.Conversation) == conversation }) {
				g.Idle++
			}
		}
		if g.Count > 0 {
			out = append(out, g)
		}
	}
	return out
}

// executors returns the state of the executors of this home.
func (c *Service) executors(ctx context.Context) ([]ExecutorStatus, error) {
	var out []ExecutorStatus
	for _, x := range c.config().Executors {
		var row store.ExecutorRow
		home, err := c.app.ExecutorHome(ctx, c.store, x)
		if err == nil {
			row, err = c.store.Executor(ctx, store.ExecutorID(home, x.Name))
		}
		if err != nil && !fika.IsKind(err, fika.NotFound) {
			return nil, err
		}
		out = append(out, ExecutorStatus{Name: x.Name, User: x.User, Host: x.Host, Running: row.Owner != "" && row.LeaseUntil.After(c.now())})
	}
	return out, nil
}

// SandboxStatus says how commands are confined by default.
type SandboxStatus struct {
	Tier  string   // full, landlock or none
	Lacks []string // what it does not protect from commands
	Why   string   // what prevents a stronger tier; empty: nothing does
}

// Status collects the state of everything. It needs no hub and starts none.
func (c *Service) Status(ctx context.Context) (Status, error) {
	if err := c.may("home.status"); err != nil {
		return Status{}, err
	}
	st := c.statusOfHome(ctx)
	h, s := c.home, c.store
	var err error
	if st.Store, err = s.Meta(ctx); err != nil {
		return st, err
	}
	st.Bytes = st.Store.Bytes
	if st.Store.NoWrites != "" {
		st.Warnings = append(st.Warnings, st.Store.NoWrites)
	}
	if c.app.ReadOnly() && strings.HasPrefix(st.Store.Engine, "sqlite") {
		st.Store.Path = h.DatabaseFile() // not the path of the copy that is read
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(st.Store.Path + suffix); err == nil {
			st.Bytes += info.Size()
		}
	}
	old, err := c.app.OldRowsWarning(ctx, s)
	if err != nil {
		return st, err
	}
	if old != "" {
		st.Warnings = append(st.Warnings, old)
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
	if st.Offers, err = c.Offers().Away(ctx); err != nil {
		return st, err
	}
	if st.Executors, err = c.executors(ctx); err != nil {
		return st, err
	}
	if st.Agents, err = c.Agents.List(ctx, false); err != nil {
		return st, err
	}
	st.Guests = c.guestPrograms(st.Agents)
	return st, nil
}

// statusOfHome collects what needs no store.
func (c *Service) statusOfHome(ctx context.Context) Status {
	h := c.home
	st := Status{Home: h.Root, Sandbox: c.Sandbox()}
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
	st.Warnings = append(st.Warnings, c.app.DamageWarnings()...)
	if c.Connected() {
		st.readBus(ctx, c)
	}
	return st
}

// readBus reads the state of the bus, without waiting for long.
func (st *Status) readBus(ctx context.Context, c *Service) {
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

// streamPatience is how long a status may wait for the numbers of a stream: a server
// may leave a question unanswered that the user may not ask.
const streamPatience = time.Second

// Sandbox finds out how commands are confined by default.
func (c *Service) Sandbox() SandboxStatus {
	found, err := c.app.SandboxProbe().Open(sandbox.Mode(c.config().Guard.SandboxMode))
	if err != nil {
		return SandboxStatus{Tier: string(sandbox.None), Why: err.Error(), Lacks: []string{"nothing is run"}}
	}
	return SandboxStatus{Tier: string(found.Tier()), Lacks: found.Lacks(), Why: found.WhyWeaker()}
}
