package limit

import (
	"slices"
	"time"

	"fika"
)

// The limits of a chain, by the names under which they are stored.
const (
	Depth  = "depth"
	Turns  = "turns"
	Tokens = "tokens"
	Cost   = "cost"
	Age    = "time"
	Echo   = "echo"
)

// Limits bounds chains and an agent. A zero field sets no limit.
type Limits struct {
	MaxDepth  int
	MaxTurns  int
	MaxTokens int64
	MaxCost   int64         // micro-dollars
	MaxAge    time.Duration // since the chain's first turn began
	MaxEcho   int           // messages that two agents exchange without anything new

	// These bound one agent in an hour of the clock (from 14:00 to 15:00, in UTC).
	HourTurns  int
	HourTokens int64

	Budgets Budgets

	// Board says which tasks of the board the agent takes; nil: none.
	Board *Board

	// Rounds is how often work on a task of the board comes back from its check, or from its
	// reviewer, before it waits for a person.
	Rounds int

	// Backed means that the agent has a backup for work that it has no budget for:
	// such work waits for the backup for a moment before it fails.
	Backed bool
}

// Board says which tasks of the board an agent takes.
type Board struct {
	Most         int      // tasks that it has at once
	Capabilities []string // what it is good at, in lower case
	CallableBy   []string // from whom it takes work: agents, and [BoardUser]; nil: everybody
}

// Takes reports whether an agent with an id, which may be a member of a pool, takes a task,
// as far as that does not depend on other tasks.
func (b Board) Takes(id, pool fika.AgentID, t fika.BoardTask) bool {
	by := BoardUser
	if t.Writer == fika.ByAgent {
		by = t.CreatedBy
	}
	switch {
	case b.CallableBy != nil && !slices.Contains(b.CallableBy, by), t.Reviewer == id && id != "":
		return false
	case t.Agent != "":
		return t.Agent == id || t.Agent == pool
	}
	return t.Capability == "" || slices.Contains(b.Capabilities, t.Capability)
}

// BoardUser stands for people in [Board.CallableBy].
const BoardUser = "user"

// HoldingIn returns the limits that hold in a conversation: what a person has set for
// it takes precedence over the limits of its participants.
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

// Begin returns the name of the limit that forbids a chain a further turn; depth is
// that of the chain's messages so far. It returns "" if no limit does.
func (l Limits) Begin(c fika.Chain, depth int, now time.Time) string {
	switch {
	case l.MaxDepth > 0 && depth >= l.MaxDepth: // the answer would be deeper still
		return Depth
	case l.MaxTurns > 0 && c.Turns >= l.MaxTurns:
		return Turns
	}
	return l.Spent(c, now)
}

// Spent returns the name of the limit that ends a chain even between two steps of a
// turn, or "".
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

// Forward returns the name of the limit for which a final text is stored but notifies
// nobody, or "". echo means that the text only repeats what was said.
func (l Limits) Forward(depth int, echo bool) string {
	switch {
	case l.MaxDepth > 0 && depth >= l.MaxDepth:
		return Depth
	case echo:
		return Echo
	}
	return ""
}
