package limit

import (
	"time"

	"fika"
)

// The limits of a chain, as they are stored.
const (
	Depth  = "depth"
	Turns  = "turns"
	Tokens = "tokens"
	Cost   = "cost"
	Age    = "time"
	Echo   = "echo"
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

	Budgets Budgets

	// Backed says that others take over what the agent has no budget for: work that
	// would fail for it waits for them for a moment first.
	Backed bool
}

// HoldingIn gives the limits that hold in a conversation: what a person has set for
// it goes before what those who take part bring along.
func (l Limits) HoldingIn(c fika.ChainLimits) Limits {
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

// Begin names the limit at which a chain begins no further turn, whose
// messages so far are depth deep; "" for none.
func (l Limits) Begin(c fika.Chain, depth int, now time.Time) string {
	switch {
	case l.MaxDepth > 0 && depth >= l.MaxDepth: // the answer would be deeper still
		return Depth
	case l.MaxTurns > 0 && c.Turns >= l.MaxTurns:
		return Turns
	}
	return l.Spent(c, now)
}

// Spent names the limit that ends a chain even between two steps of a turn; ""
// for none.
func (l Limits) Spent(c fika.Chain, now time.Time) string {
	switch {
	case l.MaxTokens > 0 && c.Tokens >= l.MaxTokens:
		return Tokens
	case l.MaxCost > 0 && c.Cost >= l.MaxCost:
		return Cost
	case l.MaxAge > 0 && c.Turns > 0 && now.Sub(c.StartedAt) >= l.MaxAge:
		return Age
	}
	return ""
}

// Forward names the limit at which a final text is stored and forwards
// nothing; "" for none. echo: it only repeats what was said.
func (l Limits) Forward(depth int, echo bool) string {
	switch {
	case l.MaxDepth > 0 && depth >= l.MaxDepth:
		return Depth
	case echo:
		return Echo
	}
	return ""
}
