package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"fika/internal/llm/llmtest"
)

// fault is something that breaks while fika works. It returns how often it
// struck; a fault that never strikes proves nothing.
type fault struct {
	name   string
	config string
	strike func(*run) int
	engine string // the only one that can have it; empty: any
	// place starts a server for this fault alone, as others would feel what it
	// does; nil: it does nothing to a server.
	place func(*options) (stop func(), err error)
}

func faults() []fault {
	return []fault{
		{name: "kill-agent", strike: func(r *run) int { return r.killing(agentWords("arya"), agentWords("gendry"), agentWords("hotpie")) }},
		{name: "kill-hub", strike: func(r *run) int { return r.killing(hubWords) }},
		{name: "kill-all", strike: func(r *run) int { return r.killing("") }},
		{name: "stop-agent", strike: stopAgent},
		{name: "stop-owner", config: withoutHub, strike: func(r *run) int { return stopOwner(r, "", "") }},
		{name: "bus-gone", strike: busGone},
		{name: "bus-deleted", strike: busDeleted},
		{name: "bus-full", strike: busFull},
		{name: "store-locked", strike: storeLocked},
		{name: "store-full", strike: storeFull, engine: "sqlite"},
		{name: "store-full", strike: serverFull, engine: "postgres", place: (*options).serverOnSmallDisk},
		{name: "store-limit", strike: storeLimit, engine: "sqlite"},
		{name: "store-readonly", strike: storeReadOnly, engine: "sqlite"},
		{name: "store-readonly", strike: serverReadOnly, engine: "postgres", place: (*options).startServer},
		{name: "store-restarted", strike: serverRestarted, engine: "postgres", place: (*options).startServer},
		{name: "store-cut", strike: serverCut, engine: "postgres", place: (*options).startServer},
		{name: "store-refuses", strike: serverRefuses, engine: "postgres", place: (*options).startServer},
		{name: "store-silent", strike: serverSilent, engine: "postgres", place: (*options).startServer},
		{name: "provider", strike: provider},
		{name: "clock", strike: clock},
		{name: "tails", strike: tails},
		{name: "power-bus", strike: powerBus},
		{name: "power-store", strike: powerStore, place: (*options).startServer},
		{name: "pause-in-model", strike: pauseInModel},
		{name: "pause-in-tool", strike: pauseInTool},
		{name: "pause-unpublished", strike: pauseUnpublished},
		{name: "pause-without-hub", config: withoutHub, strike: pauseWithoutHub},
	}
}

// withoutHub is the setting of homes whose agents are started by hand.
const withoutHub = "[hub]\nautostart = false\n"

// notHere is how often a fault struck that this machine cannot have.
const notHere = -1

// errNotHere says the same of a place.
var errNotHere = errors.New("not possible on this machine")

// strikeAll runs every fault with its seeds.
func (o options) strikeAll(ctx context.Context, t *table) error {
	for _, f := range faults() {
		if !strings.HasPrefix(f.name, o.fault) || f.engine != "" && f.engine != o.engine {
			continue
		}
		out, err := o.strike(ctx, f, "")
		if err != nil {
			return err
		}
		out.bad = out.red > 0 || out.runs > 0 && (out.fired == 0 || out.done == 0)
		if out.runs == 0 {
			out.note = "not possible on this machine"
		}
		t.add(out)
	}
	return nil
}

// strike runs one fault once per seed, without one of the guards if one is
// named.
func (o options) strike(ctx context.Context, f fault, without string) (row, error) {
	out := row{kind: "fault", name: f.name}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.jobs)
	for i := range o.seeds {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			o := o
			if f.place != nil {
				stop, err := f.place(&o)
				if errors.Is(err, errNotHere) {
					return nil
				}
				if err != nil {
					return err
				}
				defer stop()
			}
			r, err := o.newRun(f.config, o.seed+uint64(i))
			if err != nil {
				return err
			}
			r.kills = 99 // faults strike at random: how often something is asked again is not theirs to say
			if err := r.tell("without", without); err != nil {
				return err
			}
			struck := f.strike(r)
			r.finish()
			c := r.counts()
			switch {
			case struck == notHere:
				return nil
			case struck > 0:
				c.fired = 1
			}
			note := o.clear(r)
			mu.Lock()
			defer mu.Unlock()
			out.counts.add(c)
			if note != "" && out.note == "" {
				out.note = fmt.Sprintf("seed %d: %s", o.seed+uint64(i), note)
			}
			return nil
		})
	}
	return out, g.Wait()
}

// pause waits a random time up to d.
func (r *run) pause(d time.Duration) {
	time.Sleep(time.Duration(r.rng.Int64N(int64(d))))
}

// meanwhile does work beside f, then waits for both and for rest.
func (r *run) meanwhile(n int, f func() int) int {
	if !r.start() {
		return 0
	}
	var work sync.WaitGroup
	work.Go(func() { r.all(n) })
	struck := f()
	work.Wait()
	r.ask("ask", "arya", "read")
	r.settle()
	r.rest()
	return struck
}

// killing ends processes at random moments.
func (r *run) killing(words ...string) int {
	return r.meanwhile(8, func() (n int) {
		for range 3 {
			r.pause(300 * time.Millisecond)
			n += r.signal(words[r.rng.IntN(len(words))], syscall.SIGKILL)
			if r.hubPID() == 0 {
				r.start()
			}
		}
		return n
	})
}

// provider is a model server that stalls, cuts, repeats and errs, and comes to
// itself.
func provider(r *run) int {
	_ = r.tell("pace", "200") // so that a stall is noticed soon
	struck := map[asked]int{}
	var total int
	var mu sync.Mutex
	r.model.fault = func(a asked) llmtest.Script {
		mu.Lock()
		defer mu.Unlock()
		if struck[a]++; struck[a] > 1 || r.rng.IntN(3) > 0 {
			return nil
		}
		total++
		return [...]llmtest.Script{
			{llmtest.Status(500, "overloaded", 0)},
			{llmtest.Status(429, "slow down", time.Second)},
			{llmtest.Text("ans"), llmtest.Cut()},
			{llmtest.Text("ans"), llmtest.Stall()},
			{llmtest.Stall()},
			{llmtest.Error("server_error", "sorry")},
			{llmtest.Call("x", "bash", `{"command": "echo beg`), llmtest.Cut()},
			append(r.model.script(a, r.planOf(a)), llmtest.NoDone()),
		}[r.rng.IntN(8)]
	}
	r.meanwhile(8, func() int { return 0 })
	return total
}

// planOf is the plan of the job that is asked about.
func (r *run) planOf(a asked) []hop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[a.job-1].plan
}

// clock goes back and forth by up to a day, leases included.
func clock(r *run) int {
	return r.meanwhile(8, func() int {
		for range 5 {
			r.pause(150 * time.Millisecond)
			ms := r.rng.Int64N(2*86400_000) - 86400_000
			_ = r.tell("clock", fmt.Sprint(ms))
		}
		_ = r.tell("clock", "0")
		return 1
	})
}
