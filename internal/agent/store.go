package agent

import (
	"context"

	"fika"
	"fika/internal/outcome"
	"fika/internal/store"
)

// Store is what the process needs of the store, by use: see [StoreOf]. The turns
// it runs have their own view of it.
type Store struct {
	Queue         Queue
	Conversations Conversations
	Wishes        Wishes
	Outcomes      outcome.Announcements
}

// StoreOf is a store that does everything itself.
func StoreOf(s interface {
	Queue
	Conversations
	Wishes
	outcome.Announcements
}) Store {
	return Store{Queue: s, Conversations: s, Wishes: s, Outcomes: s}
}

// Queue is where the process finds its work, and is told to leave it.
type Queue interface {
	Claim(context.Context, store.Lease, store.Limits, func(fika.RequestID) bool) (*store.Claimed, error)
	ClaimNow(context.Context, store.Lease, store.Limits, func(fika.RequestID) bool) (*store.Claimed, error)
	Recover(context.Context, store.Lease) (store.Recovery, error)
	Signal(context.Context, store.Fence) (store.Signal, error)
	LookAgain(context.Context) error
}
