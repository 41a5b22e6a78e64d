package daemon

import (
	"strings"
	"testing"
	"time"

	"fika/internal/store"
)

// TestOnDemand walks hosts that start on demand through what happens to them: each line says
// how things stand then, and what follows from it.
func TestOnDemand(t *testing.T) {
	const within = time.Minute
	type line struct {
		after  time.Duration // the line before
		up     bool
		silent bool // its hub has given no sign of life since it was last said what to do
		wanted bool
		busy   bool
		held   bool
		want   store.OnDemandWish
		state  store.OnDemandState // what is stored then
		run    command
		reason string // part of what is stored
		failed string // why the command that is run then fails
		wish   store.OnDemandWish
	}
	const start, stop = store.WantStart, store.WantStop
	const rests, starting, failed, draining, stopping, stopped = store.OnDemandRests, store.OnDemandStarting, store.OnDemandFailed, store.OnDemandDraining, store.OnDemandStopping, store.OnDemandStopped
	for name, lines := range map[string][]line{
		"work begins it, idleness ends it, and again": {
			{state: rests},
			{wanted: true, state: starting, run: startCommand},
			{after: 2 * time.Second, wanted: true, state: starting},
			{after: 30 * time.Second, up: true, wanted: true, state: rests},
			{up: true, busy: true, held: true, state: rests},
			{up: true, held: true, state: rests},
			{after: 9 * time.Minute, up: true, held: true, state: rests},
			{up: true, busy: true, state: rests},
			{after: 9 * time.Minute, up: true, state: rests},
			{after: 10 * time.Minute, up: true, held: true, state: draining},
			{after: time.Second, up: true, silent: true, state: draining},
			{after: 5 * time.Second, up: true, held: true, state: draining},
			{after: 5 * time.Second, up: true, state: stopping, run: stopCommand},
			{after: 5 * time.Second, up: true, state: stopping},
			{after: 5 * time.Second, state: rests},
			{wanted: true, state: starting, run: startCommand},
		},
		"what comes while it is drained is worked first": {
			{up: true, state: rests},
			{after: 10 * time.Minute, up: true, held: true, state: draining},
			{after: 5 * time.Second, up: true, wanted: true, state: rests},
		},
		"a start that fails is tried again later each time": {
			{wanted: true, state: starting, run: startCommand, failed: "exit status 3"},
			{after: time.Second, wanted: true, state: failed, reason: "exit status 3"},
			{after: 28 * time.Second, wanted: true, state: failed, reason: "exit status 3"},
			{after: 2 * time.Second, wanted: true, state: starting, run: startCommand},
			{after: within, wanted: true, state: failed, reason: "was not up within"},
			{after: 58 * time.Second, wanted: true, state: failed},
			{after: time.Second, state: failed},
			{after: time.Second, wanted: true, state: starting, run: startCommand},
			{after: 3 * time.Second, up: true, state: rests},
		},
		"who comes after a hub that was killed waits": {
			{wanted: true, state: starting, run: startCommand},
			{after: 59 * time.Second, wanted: true, state: starting},
		},
		"by hand, whatever there is to do": {
			{want: start, state: starting, run: startCommand},
			{after: 5 * time.Second, up: true, want: start, state: rests},
			{up: true, want: start, state: rests, wish: ""},
			{up: true, busy: true, held: true, want: stop, state: draining, wish: stop},
			{after: 5 * time.Second, up: true, wanted: true, want: stop, state: stopping, run: stopCommand, wish: stop},
			{after: 5 * time.Second, wanted: true, want: stop, state: rests, wish: stop},
			{wanted: true, want: stop, state: stopped, wish: stop},
			{after: time.Hour, wanted: true, want: stop, state: stopped, wish: stop},
			{wanted: true, want: start, state: starting, run: startCommand},
		},
		"who starts it otherwise has it": {
			{want: stop, state: stopped, wish: stop},
			{up: true, want: stop, state: rests, wish: ""},
			{up: true, state: rests},
		},
		"a stop that fails is tried again later": {
			{up: true, state: rests},
			{after: 10 * time.Minute, up: true, state: draining},
			{after: 5 * time.Second, up: true, state: stopping, run: stopCommand, failed: "no such zone"},
			{after: time.Second, up: true, state: rests, reason: "no such zone"},
			{after: 10 * time.Minute, up: true, state: draining},
			{after: 5 * time.Second, up: true, state: stopping, run: stopCommand},
			{after: within, up: true, state: rests, reason: "was still up"},
		},
		"agents that do not end keep it": {
			{up: true, state: rests},
			{after: 10 * time.Minute, up: true, held: true, state: draining},
			{after: drainTime, up: true, held: true, state: rests, reason: "have not ended"},
		},
	} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		row := store.OnDemand{Name: "box", IdleFor: 10 * time.Minute, Stops: true}
		seen := now
		for i, l := range lines {
			now = now.Add(l.after)
			if !l.silent {
				seen = now
			}
			row.Want = l.want
			got, run := demand{OnDemand: row, now: now, up: l.up, seen: seen, wanted: l.wanted, busy: l.busy, held: l.held}.next(within)
			if got.State != l.state || run != l.run || !strings.Contains(got.Reason, l.reason) || (l.reason == "") != (got.Reason == "") && l.state == rests {
				t.Errorf("%s, line %d: %+v, command %d", name, i+1, got, run)
			}
			if got.Want != l.wish && (l.wish != "" || l.want == stop) {
				t.Errorf("%s, line %d: somebody wants %q", name, i+1, got.Want)
			}
			if row = got; l.failed != "" {
				row = demand{OnDemand: row, now: now}.failed(l.failed)
			}
		}
	}
}
