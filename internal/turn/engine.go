package turn

import (
	"context"
	"errors"
	"sync"
	"time"

	"fika"
	"fika/internal/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
)

// ErrStop, as the cause of a cancelled context, ends the current step and
// hands the request back instead of cancelling it.
var ErrStop = errors.New("the process is stopping")

// Prompter builds what the model is told besides the conversation: the system
// text, which should stay the same from turn to turn, and the state, which
// changes while the agent works.
type Prompter interface {
	System(context.Context, store.Claimed) (system, state string, err error)
}

// Compactor shortens a history that has become too long, so that it costs no
// more than room tokens (estimated; it may be negative). It returns the entry
// content and metadata to commit, or nil when there is nothing to compact. It
// never touches the request's own entries, nor what the request has to answer.
type Compactor interface {
	Compact(ctx context.Context, c store.Claimed, room int64) (*Compacting, error)
}

// Compacting is what a [Compactor] decided.
type Compacting struct {
	Content string
	Meta    fika.EntryMeta
	Usage   fika.Usage
	Model   string
	Done    func(context.Context) error // after the commit: files that follow it; may be nil
}

// Store is what a turn needs of the store, by use: each part of a turn is given
// the few methods that it calls. [StoreOf] is all of one.
type Store struct {
	Control   Control
	Steps     Steps
	ToolSteps ToolSteps
	Children  Children
	Approvals Approvals
	Outcomes  Outcomes
	History   History
	// Executions are steps that go to an executor; nil: none does.
	Executions Executions
}

// StoreOf is a store that does everything itself.
func StoreOf(s interface {
	Control
	Steps
	ToolSteps
	Children
	Approvals
	Outcomes
	History
}) Store {
	out := Store{Control: s, Steps: s, ToolSteps: s, Children: s, Approvals: s, Outcomes: s, History: s}
	out.Executions, _ = s.(Executions)
	return out
}

// Config is all that one turn depends on; [New] copies it.
type Config struct {
	Store     Store
	Model     llm.Model
	ModelID   string // as usage reports name it
	Window    int64  // the model's context window, in tokens
	MaxTokens int64
	Reasoning *llm.Reasoning
	Choice    Choice // among several models, of which the one above is the first
	Tools     *tool.Set
	Hooks     hook.Runner
	Prompt    Prompter
	Compactor Compactor                             // nil: never
	Summary   func(context.Context) (string, error) // as hooks are told; may be nil
	CompactAt float64                               // percent of Window
	WarnAt    float64                               // percent of Window; 0: never
	Limits    store.Limits
	TTL       time.Duration // how long what is said in chats is kept; 0: for ever
	MaxRounds int           // model calls in one turn
	Call      tool.Call     // what every tool call carries: agent, context, workspace, username …
	Guard     Guard         // of tool calls; nil: permissions and hooks alone
	Bounds    Bounds        // of the turn; nil: there are none
	Executor  Executor      // that runs tools; the zero one: they run here
	// Ask asks the person whose prompt it is about a call: nil when it may be
	// made, Denied when not. A nil Ask says that nobody is there.
	Ask    func(context.Context, Question) error
	AskFor time.Duration // how long a turn that can wait waits for an answer
	Grace  time.Duration // how long a paid result is held for a store that refuses; 0: for ever
	// Check says what is wrong with the form of an answer, in words for the model,
	// which is asked again; nil: it may be whatever it is.
	Check func(text string) error
	// Picture reads a picture that the model is to be shown; nil: it is shown none,
	// and reads the lines that tell of them.
	Picture Picture
	// Taint is what the model is shown of text from outside beside the window: it taints
	// the turn from its beginning.
	Taint fika.Taint
	// Mentioned resolves the agents that a final text in a chat concerns.
	Mentioned func(ctx context.Context, c fika.Conversation, text string) ([]fika.AgentName, error)
	// Callable says why the agent may not ask another one; empty: it may. nil: it
	// may ask everybody.
	Callable func(fika.AgentName) string
	// Stop, when closed, hands the request back between two steps; may be nil.
	Stop     <-chan struct{}
	Observer Observer
	Now      func() time.Time
}

// Engine works requests. An Engine may work several at once; each needs its
// own Observer if their events are not to mix.
type Engine struct {
	cfg Config
	mu  sync.Mutex // serialises the observer
}

// New makes an engine. MaxRounds 0 means 100; Observer, Hooks and Now have
// defaults.
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

// models are all that the calls of a turn may go to.
func (c *Config) models() []Model {
	first := Model{Provider: c.Model, ID: c.ModelID, Window: c.Window, MaxTokens: c.MaxTokens, Reasoning: c.Reasoning, Picture: c.Picture}
	return append([]Model{first}, c.Choice.Further...)
}

func (e *Engine) observeEvent(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg.Observer.Observe(ev)
}

// Run works the claimed request to an outcome, or until it is suspended,
// handed back or lost. When ctx ends, the running step is ended with it: the
// request becomes cancelled, or, with cause [ErrStop], is handed back.
func (e *Engine) Run(ctx context.Context, c store.Claimed) (Result, error) {
	t := newAttempt(e, c)
	t.observeEvent(Event{Kind: Started, Model: e.cfg.ModelID})
	res, err := t.concludeTurn(ctx, t.runSteps(ctx))
	if err == nil {
		t.observeEvent(Event{Kind: Ended, Outcome: &res})
	}
	return res, err
}
