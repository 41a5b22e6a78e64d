package turn

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn/prompt"
)

// ErrStop, as the cause of a cancelled context, ends the current step and hands the
// request back instead of cancelling it.
var ErrStop = errors.New("the process is stopping")

// Prompter builds what the model is told besides the conversation.
type Prompter interface {
	Prompt(context.Context, store.Claimed) (prompt.Prompt, error)
}

// Compactor shortens a conversation that has become too long for the model's window. It
// returns the content and metadata of the entry to commit, or nil when there is nothing to
// compact. With an error, what it returns holds only the usage of the calls that it made.
// It never removes the messages that the request has to answer, nor the newest round of
// the turn.
type Compactor interface {
	Compact(context.Context, Full) (*Compacting, error)
}

// Full is a conversation that has become too long in the middle of a turn.
type Full struct {
	Claimed store.Claimed
	Room    int64 // what its entries and the summary may cost, in estimated tokens; may be negative
	// Ask asks the model with all that it would be sent next, and an instruction at the end.
	// nil: that does not fit its window.
	Ask func(ctx context.Context, instruction string) (llm.Response, error)
}

// Compacting is what a [Compactor] decided.
type Compacting struct {
	Content string
	Meta    fika.EntryMeta
	Usage   fika.Usage
	Model   string
	Done    func(context.Context) error // run after the commit, for files that follow it; may be nil
}

// Store is what a turn needs from the store, split by use: each part of a turn is given
// the few methods that it calls. [StoreOf] builds one from a single value.
type Store struct {
	Control   Control
	Steps     Steps
	ToolSteps ToolSteps
	Children  Children
	TaskWaits TaskWaits
	Approvals Approvals
	Outcomes  Outcomes
	History   History
	// Executions holds the steps that go to an executor; nil: none does.
	Executions Executions
	// Guests holds the sessions of guests; nil: there are none.
	Guests Guests
}

// StoreOf returns a Store whose parts are all s. Executions and Guests are set if s
// implements them.
func StoreOf(s interface {
	Control
	Steps
	ToolSteps
	Children
	TaskWaits
	Approvals
	Outcomes
	History
}) Store {
	out := Store{Control: s, Steps: s, ToolSteps: s, Children: s, TaskWaits: s, Approvals: s, Outcomes: s, History: s}
	out.Executions, _ = s.(Executions)
	out.Guests, _ = s.(Guests)
	return out
}

// Config is everything that a turn depends on; [New] copies it.
type Config struct {
	Store     Store
	Model     llm.Model
	ModelID   string // as usage reports name it
	Window    int64  // the model's context window, in tokens
	MaxTokens int64
	Reasoning *llm.Reasoning
	Choice    Choice // among several models, of which Model is the first
	Guest     Guest  // works the turns in the place of Model and Tools; nil: there is none
	Tools     *tool.Set
	Hooks     hook.Runner
	Prompt    Prompter
	Compactor Compactor // nil: never
	// Continuation returns what introduces the summary that a conversation begins with where
	// no file holds it; nil: nothing does.
	Continuation func() string
	Summary      func(context.Context) (string, error) // the summary passed to hooks; may be nil
	CompactAt    float64                               // percent of Window
	WarnAt       float64                               // percent of Window; 0: never
	Limits       store.Limits
	TTL          time.Duration // how long chat messages are kept; 0: for ever
	MaxRounds    int           // model calls in one turn
	// Patience is how long a provider is asked again that fails for now, from its first
	// failure on; 0: not at all.
	Patience time.Duration
	Call     tool.Call // what every tool call carries: agent, context, workspace, username …
	Guard    Guard     // of tool calls; nil: only permissions and hooks decide
	// GuestGuard judges the calls that Guest makes of tools of its own; nil: a person is asked
	// about each.
	GuestGuard Guard
	Bounds     Bounds   // of the turn; nil: none
	Executor   Executor // runs tools; zero value: they run in this process
	// Ask asks the person at the terminal about a call. It returns nil when the call may
	// be made and an error of kind Denied when it may not. A nil Ask means that nobody
	// is there.
	Ask    func(context.Context, Question) error
	AskFor time.Duration // how long a turn that can wait waits for an answer
	Grace  time.Duration // how long a paid result is held while the store refuses it; 0: for ever
	// Check reports what is wrong with the form of an answer, in words for the model,
	// which is asked again; nil: any form is accepted.
	Check func(text string) error
	// Schema is the JSON Schema that providers with a mode for it hold the answer to; nil:
	// any text. Check decides all the same.
	Schema json.RawMessage
	// Trace is the header traceparent of model calls ([llm.Request]); empty: none is sent.
	Trace string
	// Work is the task of the board that is worked; nil: none is.
	Work Work
	// Picture reads a picture that the model is to be shown; nil: it is shown no
	// pictures and reads the lines that mention them.
	Picture Picture
	// Taint describes text from outside that the model is shown besides the window; it
	// taints the turn from the beginning.
	Taint fika.Taint
	// Mentioned resolves the agents that a final text in a chat concerns.
	Mentioned func(ctx context.Context, c fika.Conversation, text string) ([]fika.AgentName, error)
	// Callable says why the agent may not ask another one; empty: it may. A nil Callable
	// lets it ask everybody.
	Callable func(context.Context, fika.AgentName) string
	// Stop, when closed, makes the turn hand its request back between two steps; may be
	// nil.
	Stop     <-chan struct{}
	Observer Observer
	Now      func() time.Time
}

// Engine works requests. It may work several at once, but their events mix unless each
// has an Engine with an Observer of its own.
type Engine struct {
	cfg Config
	mu  sync.Mutex // serialises the observer
}

// New returns an Engine. MaxRounds 0 means 100, Window 0 means 128,000 tokens; Observer,
// Hooks and Now have defaults.
func New(cfg Config) *Engine {
	if cfg.MaxRounds == 0 {
		cfg.MaxRounds = 100
	}
	if cfg.Window == 0 {
		cfg.Window = 128_000
	}
	for i := range cfg.Choice.Further {
		if m := &cfg.Choice.Further[i]; m.Window == 0 {
			m.Window = cfg.Window
		}
	}
	if cfg.Observer == nil {
		cfg.Observer = ObserverFunc(func(Event) {})
	}
	if cfg.Hooks == nil {
		cfg.Hooks = hook.None{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Engine{cfg: cfg}
}

// models returns all the models that the calls of a turn may go to, the first choice
// first.
func (c *Config) models() []Model {
	first := Model{Provider: c.Model, ID: c.ModelID, Window: c.Window, MaxTokens: c.MaxTokens, Reasoning: c.Reasoning, Picture: c.Picture}
	return append([]Model{first}, c.Choice.Further...)
}

func (e *Engine) observeEvent(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg.Observer.Observe(ev)
}

// Run works the claimed request until it has an outcome or is suspended, handed back or
// lost. When ctx ends, the running step ends with it: the request becomes cancelled or,
// if the cause is [ErrStop], is handed back. An error means that no outcome could be
// committed.
func (e *Engine) Run(ctx context.Context, c store.Claimed) (Result, error) {
	t := newAttempt(e, c)
	t.observeEvent(Event{Kind: Started, Model: e.cfg.ModelID})
	res, err := t.concludeTurn(ctx, t.runSteps(ctx))
	if err == nil {
		t.observeEvent(Event{Kind: Ended, Outcome: &res})
	}
	return res, err
}
