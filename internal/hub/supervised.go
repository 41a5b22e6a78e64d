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
	child         bool // started by this hub, not adopted
	ready         bool // it has given a sign of life
	asked         bool // it was started by this hub: auto_start has had its due
	stoppedByUser bool // a person wants it stopped
	wantedByUser  bool // a person wants it running
	failed        string
	out           string // why it begins nothing, as the last look found; empty: it does
	hindered      bool   // it failed before it was started, by [Options.Hindered]
	refused       bool   // it failed because its process found its settings wrong
	checked       int    // supervisor.reloads when it was last seen that nothing hinders it
	reloads       int    // supervisor.reloads then
	crashes       []time.Time
	left          time.Time     // when it ended last
	pause         time.Duration // from then on, before it is started again: backoff
	stopped       time.Time     // when it was told to stop; zero: it was not
}

// pauseFor says that the agent is not to be started again before its pause is over.
func (c *supervised) pauseFor(now time.Time, pause time.Duration) { c.left, c.pause = now, pause }

// mayStart reports whether it may be started. A clock that was set back does not
// prolong the pause.
func (c *supervised) mayStart(now time.Time) bool {
	passed := now.Sub(c.left)
	return passed < 0 || passed >= c.pause
}
