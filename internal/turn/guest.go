package turn

import (
	"context"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
)

// Guest is another agent program, which does the turns of an agent in the place of a model
// and of fika's tools. A turn is one effect that is never repeated: what the program does in
// it is stored as it is told.
type Guest interface {
	// Program identifies the program: another one knows nothing of its sessions.
	Program() string
	// Open starts the program, unless it runs, and opens a session. The caller must close it.
	Open(context.Context, GuestOpen) (GuestSession, error)
	// Plan keeps what the program plans as the agent's list of things to do.
	Plan(ctx context.Context, text string) error
	// Redact returns a text without known keys.
	Redact(text string) string
	// Shorten returns the output of a tool as it is kept.
	Shorten(output, tool string) string
	// Offers reports whether the program may call a tool of fika's own, as far as the rights
	// of the turn go.
	Offers(tool string) bool
	// Bill returns the usage of a prompt with what it cost, as far as that is known: Cost is
	// what the program says; 0: nothing.
	Bill(fika.Usage) fika.Usage
	// Wake makes an agent look for work.
	Wake(fika.AgentName)
}

// GuestOpen says which session is opened, and how.
type GuestOpen struct {
	Kept   string // the id of the session to open again; empty: a new one
	Replay bool   // the program is to tell what was said in it last, if it can
	Mark   string // of its processes, see package process, if they end with the turn
	// Conversation is the one that the session is of: its program may have stayed since the
	// turn before.
	Conversation fika.ConversationID
	Rights       *fika.Rights
	Tools        []tool.Spec // fika's own tools, which the program reaches with [GuestHost.Call]
}

// GuestSession is a session of a program, for one turn.
type GuestSession interface {
	ID() string
	Known() bool        // it is the session that was asked for
	LastPrompt() string // what the program was prompted with last, if it was to tell; empty: not known
	// Prompt makes the program work, and tells host what it does, until it says that it has
	// ended. It fails with a [*GuestGone] if the program ends first, with the cause of ctx
	// when that ends, and with an error of host.
	Prompt(ctx context.Context, text string, host GuestHost) (GuestEnd, error)
	// Close ends the use of the program, which may stay for the next turn, and returns what its
	// confinement had to undo, a line each.
	Close() []string
}

// GuestHost is told what a program does, in order, and asked beside that whether it may.
type GuestHost interface {
	// Did takes an event. An error ends the turn.
	Did(GuestEvent) error
	// May reports whether a call may be made. It waits for a person if rules do not decide.
	May(context.Context, GuestCall) (bool, error)
	// Call calls a tool of fika's own as the agent whose turn it is, in the chain, with the
	// rights and within the limits of its request. It may be called beside the others. A call
	// that goes on when ctx ends is not made again by the same call. An error ends the turn.
	Call(ctx context.Context, name string, args json.RawMessage) (tool.Result, error)
}

// GuestEvent is one thing that a program tells of its turn.
type GuestEvent struct {
	Text    string // a piece of a message
	Message string // the message that Text belongs to, if the program says so
	Thought string
	Call    *GuestCall
	Plan    string
	Planned bool // Plan counts, also if it is empty
}

// GuestCall is a tool call of the program's own, as far as it is known now.
type GuestCall struct {
	ID     string
	Tool   string
	Args   json.RawMessage // an object
	Ready  bool            // Args are whole
	Ended  bool
	Failed bool
	Output string
}

// GuestEnd is how a prompt has ended.
type GuestEnd struct {
	Stop   string // end_turn, max_tokens, max_turn_requests, refusal or cancelled
	Usage  fika.Usage
	Cost   int64 // micro-dollars, of the whole session so far
	Priced bool  // Cost is known
}

// GuestGone is the error of a prompt whose program has ended.
type GuestGone struct{ Why string }

func (g *GuestGone) Error() string { return "its program " + g.Why }

// Guests keeps how the sessions of programs stand, and the questions that their turns wait
// for while they run.
type Guests interface {
	GuestSession(context.Context, fika.AgentID, fika.ConversationID) (store.GuestSession, error)
	PromptGuest(context.Context, store.Fence, store.GuestSession) (store.Signal, error)
	SettleGuest(ctx context.Context, f store.Fence, cost int64) error
	HoldApproval(context.Context, store.Fence, store.Approval, time.Time) (int64, store.Signal, error)
	Approval(context.Context, int64) (store.OpenApproval, error)
	EndHeld(context.Context, store.Fence, int64) (store.Approval, error)
	HoldTask(context.Context, store.Fence, store.Delegation) (store.Delegated, error)
	EndTask(context.Context, store.Fence, fika.RequestID) (task fika.Request, ended bool, err error)
	Request(context.Context, fika.RequestID) (store.RequestInfo, error)
	StepsBefore(context.Context, fika.RequestID) ([]fika.Step, error)
}
