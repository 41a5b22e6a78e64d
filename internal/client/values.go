package client

import (
	"fika/internal/chat"
	"fika/internal/config"
	"fika/internal/store"
	"fika/internal/workflow"
)

// What is read comes in the values of the store and of package chat. They have
// names here, so that a face needs to know this package only.
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
	// Found is an entry that has the words that were searched for.
	Found = store.Found
	// ChainInfo is what one message has set off, and what of it is used.
	ChainInfo = store.ChainInfo
	// ModelChoice is how an agent chooses among several models.
	ModelChoice = config.ModelChoice
	// BudgetBalance is how a budget stands.
	BudgetBalance = store.BudgetBalance
	// UsageRow is what one agent has spent on one model.
	UsageRow = store.UsageRow
	// StoreMeta tells which database a home has.
	StoreMeta = store.Meta
	// Copied is how far a copy of a database has come.
	Copied = store.Copied
	// Posted is an entry that has been committed.
	Posted = store.Posted
	// Cleaned is what a clean-up removed.
	Cleaned = store.CleanupResult

	// Sent is what came of a message in a chat.
	Sent = chat.Sent
	// QueueItem is one piece of work in a chat.
	QueueItem = chat.Item
	// Why tells what an entry set going for one agent, and for what reason.
	Why = chat.Why
	// Node is an entry in the tree of answers.
	Node = chat.Node
)

// Team is a line for several agents.
type Team = workflow.Line

// Dropped is what was ended when a chat was stopped.
type Dropped struct {
	store.Dropped
	Runs []Run // of teams, that were begun in it
}

// IsBusy reports whether an error says that others write to the database for too
// long: the same may work a moment later.
func IsBusy(err error) bool { return store.IsBusy(err) }
