package store

import (
	"context"
	"time"

	"fika"
)

// NewAgent describes an agent to [Agents.EnsureAgent].
type NewAgent struct {
	Name        fika.AgentName
	HomeID      string
	DisplayName string
	Description string
}

// Agents keeps who exists.
type Agents interface {
	// EnsureAgent makes the row if it is missing and brings the descriptions
	// up to date; it writes nothing when nothing differs.
	EnsureAgent(context.Context, NewAgent) (fika.Agent, error)
	// Agent finds one by name. NotFound.
	Agent(context.Context, fika.AgentName) (fika.Agent, error)
	// ListAgents gives all, by name.
	ListAgents(context.Context) ([]fika.Agent, error)
	// SetDesired stores what a person wants of the agent's process; wanting it
	// running also clears a failed state.
	SetDesired(context.Context, fika.AgentID, fika.Desired) error
	// SetState stores what the supervisor saw (failed, unhealthy, stopped).
	SetState(ctx context.Context, id fika.AgentID, s fika.AgentState, reason string) error
	// RenameAgent changes the name; ids stay. Conflict if the name is taken.
	RenameAgent(context.Context, fika.AgentID, fika.AgentName) error
	// DeleteAgent removes an agent with its ask and task conversations,
	// requests and notifications. Locked while somebody holds the lease.
	DeleteAgent(context.Context, fika.AgentID) error
	// ResetAsk completes the active ask conversation and makes a new, empty
	// one active.
	ResetAsk(context.Context, fika.AgentID) (fika.Conversation, error)
	// SwitchAsk makes an older ask conversation of this agent the active one
	// again. NotFound if it is not one of its ask conversations.
	SwitchAsk(context.Context, fika.AgentID, fika.ConversationID) error
	// ActiveAsk gives the active ask conversation, made on first use.
	ActiveAsk(context.Context, fika.AgentID) (fika.Conversation, error)
}

// Lease is the right to work for an agent until it lapses or is taken over.
type Lease struct {
	Agent fika.AgentID
	Epoch fika.Epoch
	Owner string
}

// Beat is what an owner says of itself with each renewal.
type Beat struct {
	State     fika.AgentState
	Processed int64
}

// Leases decides, with the folder's flock, who owns an agent.
type Leases interface {
	// Acquire takes the lease with a new epoch for d. With force it is taken
	// from whoever has it (the caller holds the flock of the owning home);
	// without, Locked while another's lease has not lapsed.
	Acquire(ctx context.Context, id fika.AgentID, owner string, d time.Duration, force bool) (Lease, error)
	// Renew extends the lease and stores seen_at. Lost if the epoch moved on.
	Renew(ctx context.Context, l Lease, d time.Duration, b Beat) error
	// Release ends the lease politely; a lost one is no error.
	Release(context.Context, Lease) error
}
