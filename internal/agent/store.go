package agent

import (
	"context"

	"fika"
	"fika/internal/report/outcome"
	"fika/internal/store"
)

// Store is what the process needs of the store, grouped by use: see [StoreOf]. Turns
// have their own view of the store.
type Store struct {
	Queue         Queue
	Conversations Conversations
	Lifecycle     Lifecycle
	Outcomes      outcome.Announcements
}

// StoreOf returns a Store in which s does everything.
func StoreOf(s interface {
	Queue
	Conversations
	Lifecycle
	outcome.Announcements
}) Store {
	return Store{Queue: s, Conversations: s, Lifecycle: s, Outcomes: s}
}

// Queue gives the process its work, and tells it when to leave work.
type Queue interface {
	Claim(context.Context, store.Lease, store.Limits, func(fika.RequestID) bool) (*store.Claimed, error)
	ClaimNow(context.Context, store.Lease, store.Limits, func(fika.RequestID) bool) (*store.Claimed, error)
	Recover(context.Context, store.Lease) (store.Recovery, error)
	Signal(context.Context, store.Fence) (store.Signal, error)
	LookAgain(context.Context) error
}

// Lifecycle says whether a person wants the process to run or to stop.
type Lifecycle interface {
	Look(context.Context, store.Lease) (store.Looked, error)
	SetDesired(context.Context, fika.AgentID, fika.Desired) error
	ReplaceDesired(ctx context.Context, id fika.AgentID, from, to fika.Desired) error
}

// Conversations moves the pointer to the active ask conversation.
type Conversations interface {
	Conversation(context.Context, fika.ConversationName) (fika.Conversation, error)
	ActiveAsk(context.Context, fika.AgentID) (fika.Conversation, error)
	ResetAsk(context.Context, fika.AgentID) (fika.Conversation, error)
	SwitchAsk(context.Context, fika.AgentID, fika.ConversationID) error
	Cancel(ctx context.Context, id fika.RequestID, reason string) (fika.Request, error)
}
