package store

import (
	"context"
	"time"

	"fika"
)

// ConversationFilter narrows [Conversations.ListConversations].
type ConversationFilter struct {
	Kind  fika.ConversationKind // empty: all
	Agent fika.AgentID          // owner, or participant of a chat; empty: all
	Limit int                   // newest first; 0: no limit
}

// ConversationInfo is a conversation with what lists show.
type ConversationInfo struct {
	fika.Conversation
	AgentName    fika.AgentName // owner of an ask or task
	Messages     int            // entries of type message, not expired
	Participants []string       // names, in order of joining
	Pending      int            // notifications not yet covered
	Running      int            // requests running or waiting
}

// EntryQuery selects entries of one conversation, oldest first.
type EntryQuery struct {
	Conversation fika.ConversationID
	Since        int64            // seq > Since
	Upto         int64            // seq <= Upto; 0: no bound
	Types        []fika.EntryType // empty: all
	Last         int              // only the last N that match; 0: no bound
	First        int              // only the first N that match; 0: no bound
}

// Post is a message a person (or a tool of an agent) puts into a conversation.
type Post struct {
	Conversation fika.ConversationID
	ID           fika.EntryID // empty: made by the store; a repeat of a known id changes nothing
	From         string
	Writer       fika.Writer
	WriterName   string
	Content      string
	ReplyTo      fika.EntryID
	Notify       []fika.AgentName // whom it concerns: already resolved, existing
	TTL          time.Duration    // 0: never expires
	Chain        fika.RequestID   // empty: the post roots a new chain
	Depth        int              // of the post; its notifications carry the same
}

// Posted tells what [Conversations.Post] committed.
type Posted struct {
	Entry    fika.Entry
	Notified []fika.AgentName
	Paused   bool // the conversation, or everything, is paused: notifications wait
	Repeat   bool // the id was known; Entry is the stored one
}

// Dropped tells what stopping a chat ended.
type Dropped struct {
	Notifications int
	Requests      []fika.RequestID // asked to cancel
}

// Lifted is a hold that ended because its owner was not heard of any more.
type Lifted struct {
	Conversation fika.Conversation
	Owner        string
	Notice       fika.Entry
	Ring         []fika.AgentName // who has work now
}

// CleanupOptions says what [Conversations.Cleanup] may remove.
type CleanupOptions struct {
	DryRun   bool
	EmptyAge time.Duration // empty chats older than this
}

// CleanupResult tells what was, or would be, removed.
type CleanupResult struct {
	Expired int // entries, of whatever type
	Chats   []fika.ConversationName
}

// Conversations keeps conversations and their entries.
type Conversations interface {
	// CreateChat makes a chat. Conflict if the name is taken.
	CreateChat(context.Context, fika.ConversationName) (fika.Conversation, error)
	// Conversation finds one by name, ConversationByID by id. NotFound.
	Conversation(context.Context, fika.ConversationName) (fika.Conversation, error)
	ConversationByID(context.Context, fika.ConversationID) (fika.Conversation, error)
	// ListConversations gives newest activity first.
	ListConversations(context.Context, ConversationFilter) ([]ConversationInfo, error)
	// AskConversations gives all ask conversations of an agent, oldest first;
	// it is cheap: each opening of a context's folder asks it.
	AskConversations(context.Context, fika.AgentID) ([]fika.Conversation, error)
	// Participants gives the names of those who take part, in order of joining.
	Participants(context.Context, fika.ConversationID) ([]string, error)
	// Join makes a person take part in a chat before they have said anything.
	Join(ctx context.Context, c fika.ConversationID, person string) error
	// DeleteConversation cancels what runs in it, then removes it with its
	// entries, notifications and requests.
	DeleteConversation(context.Context, fika.ConversationID) error
	// RenameConversation changes a chat's name. Conflict if taken.
	RenameConversation(context.Context, fika.ConversationID, fika.ConversationName) error
	// Search finds entries by words (full text), newest first.
	Search(ctx context.Context, query string, f ConversationFilter) ([]Found, error)
	// IndexWords prepares what a search would prepare, in batches of a few
	// hundred entries: that many batches, or all when 0. Without it a search
	// after a long time takes long.
	IndexWords(ctx context.Context, batches int) error
}

// Found is an entry that a search found.
type Found struct {
	fika.Entry
	ConversationName fika.ConversationName
	Snippet          string
}

// Entries reads and appends.
type Entries interface {
	// Entries reads what the query selects, expired ones left out.
	Entries(context.Context, EntryQuery) ([]fika.Entry, error)
	// EntryByID finds one entry of a conversation. NotFound.
	EntryByID(context.Context, fika.ConversationID, fika.EntryID) (fika.Entry, error)
	// Before reads up to limit entries with seq <= upto, newest first: the
	// pages from which a turn builds its window. Compactions are included.
	Before(ctx context.Context, c fika.ConversationID, upto int64, limit int) ([]fika.Entry, error)
	// OfRequest reads the entries a request wrote, in order.
	OfRequest(context.Context, fika.RequestID) ([]fika.Entry, error)
	// Post appends a message with its notifications; mentioned agents join.
	Post(context.Context, Post) (Posted, error)
	// Pin makes a message or notice stay when its time to live is over, or
	// takes that back, and returns it. Invalid for other entries: they stay and
	// go with their turn.
	Pin(ctx context.Context, c fika.ConversationID, seq int64, pinned bool) (fika.Entry, error)
	// AppendCompaction appends a compaction entry outside a turn (clear,
	// manual compaction, undo) and returns it.
	AppendCompaction(ctx context.Context, c fika.ConversationID, from, content string, m fika.EntryMeta) (fika.Entry, error)
	// Import appends foreign entries that the conversation does not have yet
	// (by id), keeping order, ids and times, and returns how many were new.
	Import(context.Context, fika.ConversationID, []fika.Entry) (int, error)
	// LastCompaction gives the newest compaction with seq <= upto that no
	// later entry has undone, or nil.
	LastCompaction(ctx context.Context, c fika.ConversationID, upto int64) (*fika.Entry, error)
}

// Brakes pauses, resumes and stops.
type Brakes interface {
	// SetPaused pauses or resumes one conversation, and with it the tasks that
	// its turns have delegated, and returns the agents that now have work (to
	// be rung).
	SetPaused(ctx context.Context, c fika.ConversationID, paused bool) ([]fika.AgentName, error)
	// Hold pauses one conversation for owner, who has to say so again within d
	// ([Brakes.KeepHold]), and reports whether it was not paused before. It is
	// paused for as long as anybody holds it, or SetPaused has paused it;
	// resuming it with SetPaused lets go of everything.
	Hold(ctx context.Context, c fika.ConversationID, owner string, d time.Duration) (first bool, err error)
	// KeepHold says so again. Lost when somebody has resumed it meanwhile, or d
	// had passed.
	KeepHold(ctx context.Context, c fika.ConversationID, owner string, d time.Duration) error
	// LetGo ends owner's hold, and returns the agents that now have work. One
	// that is gone is no error.
	LetGo(ctx context.Context, c fika.ConversationID, owner string) ([]fika.AgentName, error)
	// LiftBrakes ends the holds whose time has passed, each with a notice.
	LiftBrakes(context.Context) ([]Lifted, error)
	// SetAllPaused stores the brake for all conversations, new ones included.
	SetAllPaused(ctx context.Context, paused bool) ([]fika.AgentName, error)
	// AllPaused reads it.
	AllPaused(context.Context) (bool, error)
	// StopChat drops pending notifications and asks running turns to cancel.
	StopChat(context.Context, fika.ConversationID) (Dropped, error)
	// ContinueChain makes the notifications that a limit dropped, here or
	// elsewhere in a chain that began here, pending again under a new root at
	// depth 0. NotFound if no limit stopped anything.
	ContinueChain(context.Context, fika.ConversationID) ([]fika.AgentName, error)
	// Cleanup removes, in one transaction, expired entries of chats, and chats
	// without messages that have been so for EmptyAge. Pinned entries stay, and
	// whatever is in a chat that has a request which has not ended. Seqs are
	// not used again; mentions that nobody has answered are dropped with their
	// message, with the reason "expired".
	Cleanup(context.Context, CleanupOptions) (CleanupResult, error)
}
