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
	disk   bool   // homes must be on a disk: it does something to one
	// place starts a server for this fault alone, because other homes would be
	// affected; nil: the fault does nothing to a server.
	place func(*options) (stop func(), err error)
}

func faults() []fault {
	return []fault{
		{name: "kill-agent", strike: func(r *run) int { return r.killing(agentWords("arya"), agentWords("gendry"), agentWords("hotpie")) }},
		{name: "kill-hub", strike: func(r *run) int { return r.killing(hubWords) }},
		{name: "kill-executor", config: withExecutor, strike: func(r *run) int { return r.killing(executorWords, executorWords, agentWords("arya"), hubWords) }},
		{name: "kill-all", strike: func(r *run) int { return r.killing("") }},
		{name: "kill-takers", strike: boardKilled},
		{name: "kill-check", strike: checkKilled},
		{name: "run-killed", strike: runKilled},
		{name: "run-halted", strike: runHalted},
		{name: "run-unseen", strike: runUnseen},
		{name: "stop-agent", strike: stopAgent},
		{name: "stop-owner", config: withoutHub, strike: stopOwner},
		{name: "bus-gone", strike: busGone},
		{name: "bus-deleted", strike: busDeleted},
		{name: "bus-full", strike: busFull, disk: true},
		{name: "store-locked", strike: storeLocked},
		{name: "store-full", strike: storeFull, engine: "sqlite", disk: true},
		{name: "store-full", strike: serverFull, engine: "postgres", place: (*options).serverOnSmallDisk},
		{name: "store-limit", strike: storeLimit, engine: "sqlite", disk: true},
		{name: "store-readonly", strike: storeReadOnly, engine: "sqlite", disk: true},
		{name: "store-readonly", strike: serverReadOnly, engine: "postgres", place: (*options).startServer},
		{name: "store-restarted", strike: serverRestarted, engine: "postgres", place: (*options).startServer},
		{name: "store-cut", strike: serverCut, engine: "postgres", place: (*options).startServer},
		{name: "store-refuses", strike: serverRefuses, engine: "postgres", place: (*options).startServer},
		{name: "store-silent", strike: serverSilent, engine: "postgres", place: (*options).startServer},
		{name: "provider", strike: provider},
		{name: "clock", strike: clock},
		{name: "tails", strike: tails},
		{name: "power-bus", strike: powerBus, disk: true},
		{name: "power-store", strike: powerStore, place: (*options).startServer, disk: true},
		{name: "pause-in-model", strike: pauseInModel},
		{name: "pause-in-tool", strike: pauseInTool},
		{name: "pause-unpublished", strike: pauseUnpublished},
		{name: "pause-without-hub", config: withoutHub, strike: pauseWithoutHub},
	}
}

// withoutHub is the setting for homes whose agents are started by hand.
const withoutHub = "[hub]\nautostart = false\n"

// notHere is the count of a fault that is not possible on this machine.
const notHere = -1

// errNotHere is the same as an error of place.
var errNotHere = errors.New("not possible on this machine")

// strikeAll has the group run every fault with its seeds.
func (o options) strikeAll(ctx context.Context, g *errgroup.Group, t *table) {
	for _, f := range faults() {
		if strings.HasPrefix(f.name, o.fault) && (f.engine == "" || f.engine == o.engine) {
			o.strike(ctx, g, f, "", func(out row) {
				if out.runs == 0 {
					out.note = "not possible on this machine"
				} else {
					out = out.judged()
				}
				t.add(out)
			})
		}
	}
}

// strike has the group run one fault once per seed, without a guard if one is named.
// told receives the combined result.
func (o options) strike(ctx context.Context, g *errgroup.Group, f fault, without string, told func(row)) {
	out := row{kind: "fault", name: f.name}
	var mu sync.Mutex
	over := 0
	for i := range o.seeds {
		g.Go(func() error {
			seed := o.seed + uint64(i)
			c, note, err := o.struck(ctx, f, seed, without)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			out.counts.add(c)
			out.strikes += c.strikes
			if note != "" && out.note == "" {
				out.note = fmt.Sprintf("seed %d: %s", seed, note)
			}
			if over++; over == o.seeds {
				if out.note == "" {
					out.note = fmt.Sprintf("%d strikes", out.strikes)
				}
				told(out)
			}
			return nil
		})
	}
}

// struck runs a fault in a home of its own. Where the fault is not possible it counts
// no run.
func (o options) struck(ctx context.Context, f fault, seed uint64, without string) (counts, string, error) {
	if err := ctx.Err(); err != nil {
		return counts{}, "", err
	}
	if f.disk && o.disk != "" {
		o.dir = o.disk
	}
	if f.place != nil {
		stop, err := f.place(&o)
		if errors.Is(err, errNotHere) {
			return counts{}, "", nil
		}
		if err != nil {
			return counts{}, "", err
		}
		defer stop()
	}
	r, err := o.newRun(f.config, seed)
	if err != nil {
		return counts{}, "", err
	}
	r.kills = 99 // faults strike at random: how often something is asked again is not theirs to say
	if err := r.tell("without", without); err != nil {
		return counts{}, "", err
	}
	struck := f.strike(r)
	r.finish()
	c := r.counts()
	note := o.clear(r)
	switch {
	case struck == notHere:
		return counts{}, "", nil
	case struck > 0:
		c.fired, c.strikes = 1, struck
	}
	return c, note, nil
}

// pause waits for a random time of up to d.
func (r *run) pause(d time.Duration) {
	time.Sleep(time.Duration(r.rng.Int64N(int64(d))))
}

// meanwhile does work beside f, then waits for both and for quiet.
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

// killing kills processes at random moments.
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

// provider makes the model server stall, cut, repeat and fail, and recover.
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

// planOf returns the plan of the job that a request is about.
func (r *run) planOf(a asked) []hop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[a.job-1].plan
}

// clock moves the clock back and forth by up to a day, leases included.
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
