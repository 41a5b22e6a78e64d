package api

import (
	"context"
	"time"
)

// Reader reads more about one thing, or across many.
type Reader interface {
	// Trace shows where the time and the money of a chain, a request with what it
	// delegated, or a run went. The name of a conversation stands for the chain that was
	// last active in it.
	Trace(ctx context.Context, id string) (Trace, error)
	// Search returns messages that have all the words, newest first.
	Search(ctx context.Context, words string, page Page) (List[FoundInfo], error)
	// Mentions returns, of each conversation, the newest message since a time in which an
	// agent names the principal, a person, if they have said nothing in it since; newest
	// first.
	Mentions(ctx context.Context, since time.Time) ([]FoundInfo, error)
	// Why says what a message of a chat, named by its seq, has led to for one agent, or why it
	// has not called it.
	Why(ctx context.Context, conversation string, seq int64, agent string) ([]Status, error)
	// Runs returns runs, newest first, whether they have ended or not.
	Runs(context.Context, Page) (List[RunInfo], error)
	// RunSteps returns the steps of a run as its definition has them, with the latest
	// attempt at each.
	RunSteps(ctx context.Context, run string) (RunInfo, []RunStep, error)
}

// Trace is how a piece of work spent its time and money. The sums are those of the ledger.
type Trace struct {
	ID       string                   `json:"id"`
	What     string                   `json:"what"`   // chain, request or run
	Hidden   int                      `json:"hidden"` // requests that may not be seen
	Start    time.Time                `json:"start"`
	End      time.Time                `json:"end"`
	Requests []TracedRequest          `json:"requests"` // each behind the one that it works for
	Total    Spent                    `json:"total"`
	Took     map[string]time.Duration `json:"took"` // by kind of span; they may overlap
}

// TracedRequest is a request with its spans in order.
type TracedRequest struct {
	ID    string    `json:"id"`
	Kind  string    `json:"kind"`
	State string    `json:"state"`
	Agent string    `json:"agent"`
	Level int       `json:"level"` // requests above it
	Start time.Time `json:"start"`
	End   time.Time `json:"end"` // or now
	Spent Spent     `json:"spent"`
	Spans []Span    `json:"spans"`
}

// Span is one activity of a request.
type Span struct {
	Kind  string        `json:"kind"` // wait, model, tool, compaction or commit
	Name  string        `json:"name"` // of the model or the tool
	Args  string        `json:"args"` // the beginning of a tool's arguments
	Start time.Time     `json:"start"`
	Took  time.Duration `json:"took"`
	Open  bool          `json:"open"` // it has not ended
	Spent Spent         `json:"spent"`
}

// FoundInfo is a message that was found.
type FoundInfo struct {
	Conversation string    `json:"conversation"`
	Seq          int64     `json:"seq"`
	From         string    `json:"from"`
	At           time.Time `json:"at"`
	Snippet      string    `json:"snippet"`
}

// RunStep is a step of a run.
type RunStep struct {
	Path    string    `json:"path"`
	Kind    string    `json:"kind"`
	State   string    `json:"state"` // empty: it has not begun
	Agent   string    `json:"agent,omitempty"`
	Request string    `json:"request,omitempty"`
	Needs   []string  `json:"needs,omitempty"` // paths of the steps that come before it
	Begun   time.Time `json:"begun,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}
