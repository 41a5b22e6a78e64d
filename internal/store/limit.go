package store

import (
	"time"

	"fika"
)

// Limits bounds chains, and an agent. Zero fields do not limit.
type Limits struct {
	MaxDepth  int
	MaxTurns  int
	MaxTokens int64
	MaxCost   int64         // micro-dollars
	MaxAge    time.Duration // since the chain's first turn began
	MaxEcho   int           // messages that two agents exchange without anything new

	// Of one agent, in an hour of the clock (from 14:00 to 15:00, in UTC).
	HourTurns  int
	HourTokens int64
}

// Of gives the limits that hold in a conversation: what a person has set for
// it goes before what those who take part bring along.
func (l Limits) Of(c fika.ChainLimits) Limits {
	set := func(n *int64, at *int64) {
		if n != nil {
			*at = *n
		}
	}
	depth, turns, echo, age := int64(l.MaxDepth), int64(l.MaxTurns), int64(l.MaxEcho), l.MaxAge.Milliseconds()
	set(c.Depth, &depth)
	set(c.Turns, &turns)
	set(c.Tokens, &l.MaxTokens)
	set(c.Cost, &l.MaxCost)
	set(c.Time, &age)
	set(c.Echo, &echo)
	l.MaxDepth, l.MaxTurns, l.MaxEcho, l.MaxAge = int(depth), int(turns), int(echo), time.Duration(age)*time.Millisecond
	return l
}

// Exceeded names what a turn has used up between two of its steps.
type Exceeded struct {
	Chain  string    // the limit of its chain; empty: none
	Until  time.Time // when the agent's next hour begins, if this one is used up
	Reason string    // for a person
}

// ChainInfo is a chain as it shows in one conversation.
type ChainInfo struct {
	fika.Chain
	Depth   int  // of its newest message there
	Current bool // something waits or runs
	Stopped int  // mentions that a limit has stopped
}
