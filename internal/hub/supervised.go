package hub

import (
	"time"

	"fika"
)

// supervised is one agent under supervision.
type supervised struct {
	spec          Spec
	entry         bool // it has an [[agents]] entry: the hub may start it
	proc          fika.Process
	running       bool
	child         bool      // started by this hub, not adopted
	ready         bool      // it has given a sign of life
	heard         time.Time // its last heartbeat
	asked         bool      // this hub has started it once, which satisfies auto_start
	stoppedByUser bool      // a person wants it stopped
	wantedByUser  bool      // a person wants it running
	failed        string
	out           string // why it begins nothing, as of the last look; empty: it does
	hindered      bool   // it failed before its start, because of [Options.Hindered]
	refused       bool   // it failed because its process found its settings invalid
	checked       int    // supervisor.reloads when it was last found not hindered
	reloads       int    // supervisor.reloads when it failed
	crashes       []time.Time
	left          time.Time     // when it last ended
	pause         time.Duration // backoff after left, before the next start
	stopped       time.Time     // when it was told to stop; zero: it was not
}

// pauseFor prevents the agent from being started before its pause is over.
func (c *supervised) pauseFor(now time.Time, pause time.Duration) { c.left, c.pause = now, pause }

// mayStart reports whether the agent's pause is over. A clock that was set back does
// not prolong it.
func (c *supervised) mayStart(now time.Time) bool {
	passed := now.Sub(c.left)
	return passed < 0 || passed >= c.pause
}
