package fika

import "time"

// ConversationID identifies a conversation across renames.
type ConversationID string

// ConversationKind says what a conversation is for.
type ConversationKind string

// The kinds of conversation.
const (
	Ask  ConversationKind = "ask"  // an agent's ongoing conversation
	Task ConversationKind = "task" // one request, isolated, never loaded later
	Chat ConversationKind = "chat" // shared, many participants
	// Workflow holds how a run began, and its result.
	Workflow ConversationKind = "workflow"
)

// ConversationStatus is active until a conversation is completed (a task that
// has ended, an ask that was reset).
type ConversationStatus string

// The statuses.
const (
	Active    ConversationStatus = "active"
	Completed ConversationStatus = "completed"
)

// Conversation is an ordered, append-only list of entries.
type Conversation struct {
	ID      ConversationID
	Name    ConversationName
	Kind    ConversationKind
	Agent   AgentID // owner of an ask or task; empty for a chat
	Status  ConversationStatus
	Paused  bool
	LastSeq int64
	Limits  ChainLimits // of this conversation alone
	Run     RequestID   // the workflow run that it is part of; empty if none
	Mode    Mode        // set for it by a person; empty: none
	// ArchivedTo is the seq up to which entries may be in an archive instead.
	ArchivedTo int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// ChainLimits are the limits on chains that a person has set for one conversation. A
// nil field leaves the limit to the participants; 0 removes it.
type ChainLimits struct {
	Depth  *int64 `json:"depth,omitempty"`
	Turns  *int64 `json:"turns,omitempty"`
	Tokens *int64 `json:"tokens,omitempty"`
	Cost   *int64 `json:"cost,omitempty"` // micro-dollars
	Time   *int64 `json:"time,omitempty"` // milliseconds
	Echo   *int64 `json:"echo,omitempty"` // messages without new content
}

// NotificationState is the state of a notification.
type NotificationState string

// The notification states. Held is not one of them: a pending notification is held
// while its chat is paused.
const (
	NotificationPending NotificationState = "pending"
	NotificationClaimed NotificationState = "claimed"
	NotificationDone    NotificationState = "done"
	NotificationDropped NotificationState = "dropped"
	NotificationDead    NotificationState = "dead"
)

// Notification says "this entry concerns that agent", until a turn has covered it.
type Notification struct {
	ID           int64
	Conversation ConversationID
	Seq          int64
	Agent        AgentID
	Chain        RequestID
	Depth        int
	State        NotificationState
	Reason       string
	Request      RequestID // the request that claimed it
}
