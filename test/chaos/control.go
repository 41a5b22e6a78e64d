package main

import (
	"context"
	"fmt"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// control leaves a guard out, in trials that only this guard protects. A harness that
// stays green then would notice nothing at all.
type control struct {
	guard string
	fault fault
}

func controls() []control {
	return []control{
		{"fence", fault{name: "stop-owner", config: withoutHub, strike: withoutFence}},
		{"claim", fault{name: "chat", strike: func(r *run) int { return r.scene("chat") }}},
		{"dedup", fault{name: "wire", strike: func(r *run) int { return r.scene("wire") }}},
		{"before", fault{name: "recover", strike: func(r *run) int { return killInTool(r) }}},
		{"once", fault{name: "executor", config: withExecutor, strike: killInExecutor}},
		{"due", fault{name: "run-unseen", strike: runUnseen}},
		{"board", fault{name: "taken-twice", config: takers(4), strike: takenTwice}},
		{"check", fault{name: "kill-check", strike: checkKilled}},
		{"stale", fault{name: "run-halted", strike: runHalted}},
		{"sync-bus", fault{name: "power-bus", strike: powerBus, disk: true}},
		{"sync-store", fault{name: "power-store", strike: powerStore, place: (*options).startServer, disk: true}},
	}
}

// scene plays the scene with a name, for a control.
func (r *run) scene(name string) int {
	for _, s := range scenes() {
		if s.name == name {
			r.play(s)
			return 1
		}
	}
	return 0
}

// killInTool kills an agent between the beginning and the end of an unsafe call.
func killInTool(r *run) int {
	if !r.start() {
		return 0
	}
	r.ask("ask", "arya", "long", "read")
	struck := 0
	if wait(patience/4, func() bool { return r.markers() > 0 }) {
		struck = r.signal(agentWords("arya"), syscall.SIGKILL)
	}
	r.settle()
	return struck
}

// deny has the group run every control: each must find a violation.
func (o options) deny(ctx context.Context, g *errgroup.Group, t *table) {
	o.seeds, o.keep = min(o.seeds, 5), false // red is what is wanted
	for _, c := range controls() {
		if o.control != "" && o.control != c.guard {
			continue
		}
		o.strike(ctx, g, c.fault, c.guard, func(out row) {
			out.kind, out.name = "control", fmt.Sprintf("without %s (%s)", c.guard, c.fault.name)
			switch {
			case out.runs == 0:
				out.note = "not possible on this machine"
			case out.fired == 0:
				out.bad, out.note = true, "it never struck: "+out.note
			case out.red == 0:
				out.bad, out.note = true, "nothing was noticed"
			default:
				out.note = fmt.Sprintf("noticed in %d of %d: %s", out.red, out.runs, out.note)
			}
			t.add(out)
		})
	}
}
