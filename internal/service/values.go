package service

import (
	"fika/internal/chat"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/workflow"
)

// Values of the store and of package chat have names here, so that a user interface
// needs to know this package only.
type (
	// RequestInfo is a request with the names of its agent and conversation.
	RequestInfo = store.RequestInfo
	// RequestFilter chooses requests.
	RequestFilter = store.RequestFilter
	// Accepted is a request that has been committed.
	Accepted = store.Accepted
	// ConversationInfo is a conversation with what goes on in it.
	ConversationInfo = store.ConversationInfo
	// ConversationFilter chooses conversations.
	ConversationFilter = store.ConversationFilter
	// EntryQuery chooses entries of one conversation.
	EntryQuery = store.EntryQuery
	// Found is an entry that contains the words of a search.
	Found = store.Found
	// ModelChoice is how an agent chooses among several models.
	ModelChoice = config.ModelChoice
	// BudgetBalance is the balance of a budget.
	BudgetBalance = store.BudgetBalance
	// UsageRow is what one agent has spent on one model.
	UsageRow = store.UsageRow
	// StoreMeta describes the database of a home.
	StoreMeta = store.Meta
	// Copied is the progress of copying a database.
	Copied = store.Copied
	// Posted is an entry that has been committed.
	Posted = store.Posted
	// Input is a text that waits for a turn, or waited.
	Input = store.Input
	// Cleaned is what a clean-up removed.
	Cleaned = store.CleanupResult

	// Sent is the effect of a message in a chat.
	Sent = chat.Sent
	// QueueItem is one piece of work in a chat.
	QueueItem = chat.Item
	// Why says what an entry started for one agent, and why.
	Why = chat.Why
	// Node is an entry in the tree of answers.
	Node = chat.Node
)

// InputWithdrawn is the state of an input that was taken back.
const InputWithdrawn = store.InputWithdrawn

// Team is a line for several agents.
type Team = workflow.Line

// Dropped is what was ended when a chat was stopped.
type Dropped struct {
	store.Dropped
	Runs []Run // unfinished runs of teams that were begun in it
}

// IsBusy reports whether an error means that others have kept the database locked for
// too long: the same operation may succeed a moment later.
func IsBusy(err error) bool { return store.IsBusy(err) }
