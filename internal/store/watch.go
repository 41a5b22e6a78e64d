package store

import (
	"context"
	"time"

	"fika"
)

// ActivityQuery narrows [Watch.Activity].
type ActivityQuery struct {
	Conversation fika.ConversationID // empty: all
	// DroppedSince bounds the dropped notifications that are told, by when they
	// were made; those that a limit dropped, and that can be continued, are
	// always told.
	DroppedSince time.Time
}

// Activity is what goes on, seen at one moment: nothing is on its way from one
// of the lists to another.
type Activity struct {
	PausedAll     bool
	Conversations []fika.Conversation // those the query is about and those of Requests, by name
	Brakes        []Brake
	// Requests are those of the conversation that have not ended, and those
	// that run elsewhere, oldest first.
	Requests []Underway
	// Notifications are those that are pending, claimed, dead or dropped,
	// oldest first.
	Notifications []NotificationInfo
}

// Brake is what pauses a conversation.
type Brake struct {
	Conversation fika.ConversationID
	Owner        string // who holds it; empty: it was paused until it is resumed
}

// Underway is a request that has not ended, with where it stands.
type Underway struct {
	RequestInfo
	WaitUntil time.Time // of a waiting one; zero: no bound
	Calls     int       // model calls made so far
	Tool      string    // that runs now; empty: none
	ToolSince time.Time
	Child     fika.RequestID // the oldest unfinished request that it is the parent of
}

// NotificationInfo is a notification with the names lists show.
type NotificationInfo struct {
	fika.Notification
	AgentName fika.AgentName
	CreatedAt time.Time
}

// NotificationFilter narrows [Watch.Notifications]: fields that are not empty
// must match. Conversation or Request must be given.
type NotificationFilter struct {
	Conversation fika.ConversationID
	Seq          int64
	Agent        fika.AgentID
	Request      fika.RequestID
}

// Watch looks at work from outside.
type Watch interface {
	// Activity reads what goes on in one conversation, or in all.
	Activity(context.Context, ActivityQuery) (Activity, error)
	// Notifications reads notifications in whatever state, by seq.
	Notifications(context.Context, NotificationFilter) ([]NotificationInfo, error)
	// EntryBySeq finds one entry of a conversation, expired or not. NotFound.
	EntryBySeq(context.Context, fika.ConversationID, int64) (fika.Entry, error)
}
