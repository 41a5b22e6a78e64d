package store

import (
	"context"
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

// Budgets tells how much of their limits chains and agents have used.
//
// That an agent's hour is used up stands in its row (fika.Agent.HeldUntil and
// HeldReason): whoever wants to say why its work is held reads that.
type Budgets interface {
	// Exceeded reads, between two steps of a running turn, whether its chain or
	// its agent's hour is used up. If it is the hour, the agent is noted as
	// held, with one notice; not for a foreground request, whose person is there.
	Exceeded(context.Context, Fence, Limits) (Exceeded, error)
	// Chains gives the chains that go on in a conversation, and if none does
	// the one that did last. Newest first.
	Chains(context.Context, fika.ConversationID) ([]ChainInfo, error)
	// SetLimits stores the limits that hold in one conversation, whoever takes
	// part. They count from the next turn on.
	SetLimits(context.Context, fika.ConversationID, fika.ChainLimits) error
}
