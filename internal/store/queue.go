package store

import (
	"context"
	"time"

	"fika"
)

// NewRequest asks for work. ID empty: made by the store.
type NewRequest struct {
	ID           fika.RequestID
	Kind         fika.RequestKind // RunRequest, AskRequest or TaskRequest
	Origin       fika.Origin
	Agent        fika.AgentID
	Conversation fika.ConversationName // of an ask: empty means the active one; unknown names are made
	RetryOf      fika.RequestID
	Parent       fika.RequestID
	Chain        fika.RequestID // empty: the request is a root
	Depth        int
	Deadline     time.Time // zero: none
	Payload      fika.Payload
	// Limits bounds what [Queue.Begin] begins. Accept does not look at them.
	Limits Limits
}

// Accepted tells what [Queue.Accept] stored. Repeat: the id was known with the
// same agent and body; Request is the stored one, whatever its state.
type Accepted struct {
	Request      fika.Request
	Conversation fika.Conversation
	Repeat       bool
}

// Claimed is a request that now belongs to the claimer, with all it needs to
// begin. Fence is its right to write.
type Claimed struct {
	Fence        Fence
	Request      fika.Request
	Conversation fika.Conversation
	Agent        fika.Agent
	Resumed      bool            // it ran before: steps may exist
	Waited       fika.WaitReason // what it was suspended for until now; empty: nothing
	Covers       int             // notifications it settles
	Prompt       *fika.Entry     // the entry made of the prompt; nil for a notify
	Noticed      []fika.Entry    // notices this claim posted (a limit was hit), each To its own conversation
}

// RequestFilter narrows [Queue.ListRequests]; newest first.
type RequestFilter struct {
	Agent        fika.AgentID
	Conversation fika.ConversationID
	States       []fika.RequestState
	Kinds        []fika.RequestKind
	Since        time.Time // finished or created after
	Limit        int
}

// RequestInfo is a request with the names lists show.
type RequestInfo struct {
	fika.Request
	AgentName        fika.AgentName
	ConversationName fika.ConversationName
}

// Work is an agent that has something to claim now.
type Work struct {
	Agent  fika.AgentName
	ID     fika.AgentID
	Open   int       // claimable requests and chats
	Oldest time.Time // since when the oldest waits
}

// Queue is requests, from acceptance to outcome.
type Queue interface {
	// Accept commits a request and its conversation. Conflict if the id is
	// known with another agent or body.
	Accept(context.Context, NewRequest) (Accepted, error)
	// Begin is Accept and Claim of that one request in a single transaction,
	// for whoever holds the lease. Locked while the agent has a running or
	// waiting request in the conversation, Limit when its hour is used up.
	Begin(context.Context, Lease, NewRequest) (Claimed, error)
	// Claim takes the next piece of work of the leased agent: asks and runs
	// first, then chats, then tasks, oldest first; nothing in a paused
	// conversation nor in one where the agent already has a running or waiting
	// request; nothing at all for an agent that a person wants stopped. A
	// waiting request whose reason is over is taken again. Nil when there is
	// nothing. Lost if the lease is gone.
	//
	// What begins is counted in its chain, once. A chain that has come to a
	// limit begins no more: its notifications are dropped with the reason
	// "limit", its requests fail, and one notice says so where it stopped and
	// where the chain began. An agent whose hour is used up begins nothing but
	// goes on with what it had begun: its work waits, one notice an hour says
	// so in each conversation, and the agent's row says until when.
	Claim(context.Context, Lease, Limits) (*Claimed, error)
	// Recover takes over the running requests of earlier owners: queued ones
	// are claimed again (attempts grow; the third start without progress makes
	// it dead), foreground ones end as interrupted. Orphans are the started
	// steps whose process groups must be ended before anything else.
	Recover(context.Context, Lease) (Recovery, error)
	// Request reads one. NotFound. A unique prefix of at least 6 characters
	// is accepted.
	Request(context.Context, fika.RequestID) (RequestInfo, error)
	// Children reads the tasks that a request has delegated, by step.
	Children(context.Context, fika.RequestID) ([]Child, error)
	// ListRequests reads many.
	ListRequests(context.Context, RequestFilter) ([]RequestInfo, error)
}

// Recovery is what [Queue.Recover] found.
type Recovery struct {
	Claimed     []Claimed
	Orphans     []fika.Step
	Interrupted []fika.RequestID
	Dead        []fika.RequestID
}

// Wishes changes requests from outside their turn.
type Wishes interface {
	// Cancel ends an open or waiting request at once and asks a running one to
	// stop (cancel_at). A terminal one is left as it is. The request as it now
	// stands is returned.
	Cancel(ctx context.Context, id fika.RequestID, reason string) (fika.Request, error)
	// Retry makes a new request (retry_of) of a terminal one that did not end
	// done; it takes over dead notifications. It belongs to the same chain,
	// but to a new one if a limit has ended that. Conflict for a done one.
	Retry(context.Context, fika.RequestID) (fika.Request, error)
	// Expire cancels requests past their deadline and returns them.
	Expire(context.Context) ([]fika.RequestID, error)
	// WithWork lists agents that have something to claim; not those whose hour
	// is used up (fika.Agent.Held), unless they can go on with what they began.
	WithWork(context.Context) ([]Work, error)
	// Unannounced lists terminal queued requests whose response was not yet
	// published, oldest first; MarkAnnounced notes those that were.
	Unannounced(ctx context.Context, agent fika.AgentID, limit int) ([]RequestInfo, error)
	MarkAnnounced(context.Context, ...fika.RequestID) error
	// Park keeps a bus message that could not be understood.
	Park(ctx context.Context, subject string, body []byte, reason string) error
}
