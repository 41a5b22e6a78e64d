package main

import (
	"context"
	"fmt"
	"syscall"
)

// control leaves a guard out, in trials that it alone protects. A harness that
// stays green then would see nothing at all.
type control struct {
	guard string
	fault fault
}

func controls() []control {
	return []control{
		{"fence", fault{name: "stop-owner", config: withoutHub, strike: func(r *run) int { return stopOwner(r, "commit-model-step.after", "fence") }}},
		{"claim", fault{name: "chat", strike: func(r *run) int { return r.scene("chat") }}},
		{"dedup", fault{name: "wire", strike: func(r *run) int { return r.scene("wire") }}},
		{"before", fault{name: "recover", strike: func(r *run) int { return killInTool(r) }}},
		{"sync-bus", fault{name: "power-bus", strike: powerBus}},
		{"sync-store", fault{name: "power-store", strike: powerStore, place: (*options).startServer}},
	}
}

// scene plays a scene by name, for a control.
func (r *run) scene(name string) int {
	for _, s := range scenes() {
		if s.name == name {
			r.play(s)
			return 1
		}
	}
	return 0
}

// killInTool kills an agent between the beginning and the end of an unsafe
// call.
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

// deny runs every control: each must find a violation.
func (o options) deny(ctx context.Context, t *table) error {
	o.seeds = min(o.seeds, 5)
	for _, c := range controls() {
		if o.control != "" && o.control != c.guard {
			continue
		}
		o := o
		o.keep = false // red is what is wanted
		out, err := o.strike(ctx, c.fault, c.guard)
		if err != nil {
			return err
		}
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
	}
	return nil
}
