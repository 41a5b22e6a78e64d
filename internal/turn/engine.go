package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Store is what a turn needs of the store.
type Store interface {
	Steps
	Approvals
	Outcomes
	History
}

// Steps are the fenced writes between the beginning of a turn and its end.
type Steps interface {
	Signal(context.Context, store.Fence) (store.Signal, error)
	Steps(context.Context, fika.RequestID) ([]fika.Step, error)
	CommitModel(context.Context, store.Fence, store.ModelCommit) (store.Planned, error)
	BeginTool(ctx context.Context, f store.Fence, n int, preHash string) (store.Signal, error)
	RecordProcess(ctx context.Context, f store.Fence, n int, p fika.Process) error
	CommitTool(ctx context.Context, f store.Fence, n int, c store.ToolCommit) (fika.Entry, error)
	CommitCompaction(ctx context.Context, f store.Fence, round int, content string, m fika.EntryMeta, u fika.Usage, model string) (fika.Entry, error)
}

// Outcomes end a turn, or suspend it.
type Outcomes interface {
	Exceeded(context.Context, store.Fence, store.Limits) (store.Exceeded, error)
	Delegate(context.Context, store.Fence, []store.Delegation) (store.Delegated, error)
	Await(context.Context, store.Fence) (store.Awaited, error)
	Finish(context.Context, store.Fence, store.Finish) (store.Finished, error)
	Suspend(ctx context.Context, f store.Fence, reason fika.WaitReason, until time.Time) error
	HandBack(context.Context, store.Fence) error
}

// History is what was said before.
type History interface {
	Before(ctx context.Context, c fika.ConversationID, upto int64, limit int) ([]fika.Entry, error)
	OfRequest(context.Context, fika.RequestID) ([]fika.Entry, error)
	Blobs(context.Context, []fika.Entry) (map[fika.EntryID]json.RawMessage, error)
	LastCompaction(ctx context.Context, c fika.ConversationID, upto int64) (*fika.Entry, error)
}

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

// Config is all that one turn depends on; [New] copies it.
type Config struct {
	Store     Store
	Model     llm.Model
	ModelID   string // as usage reports name it
	Window    int64  // the model's context window, in tokens
	MaxTokens int64
	Reasoning *llm.Reasoning
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
	// Ask asks the person whose prompt it is about a call: nil when it may be
	// made, Denied when not. A nil Ask says that nobody is there.
	Ask    func(context.Context, Question) error
	AskFor time.Duration // how long a turn that can wait waits for an answer
	Grace  time.Duration // how long a paid result is held for a store that refuses; 0: for ever
	// Check says what is wrong with the form of an answer, in words for the model,
	// which is asked again; nil: it may be whatever it is.
	Check func(text string) error
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

func (w *attempt) tell(ev Event) {
	ev.Claimed = &w.claimed
	w.Engine.tell(ev)
}

func (e *Engine) tell(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg.Observer.Observe(ev)
}

// Run works the claimed request to an outcome, or until it is suspended,
// handed back or lost. When ctx ends, the running step is ended with it: the
// request becomes cancelled, or, with cause [ErrStop], is handed back.
func (e *Engine) Run(ctx context.Context, c store.Claimed) (Result, error) {
	t := &attempt{Engine: e, claimed: c, fence: c.Fence, began: time.Now()}
	t.tell(Event{Kind: Started, Model: e.cfg.ModelID})
	res, err := t.conclude(ctx, t.run(ctx))
	if err == nil {
		t.tell(Event{Kind: Ended, Outcome: &res})
	}
	return res, err
}

// conclude turns what stopped a turn into its result; an outcome is committed.
func (w *attempt) conclude(ctx context.Context, stop error) (Result, error) {
	if r := (*released)(nil); errors.As(stop, &r) {
		return r.Result, nil
	}
	end, over := outcomeOf(stop)
	if !over {
		return Result{}, stop
	}
	return w.finish(ctx, end)
}

// outcomeOf says how a turn that cannot go on ends. It is not over when the
// right to write is gone, or when the store takes nothing: then the next owner
// finds the request as it was. Anything else is an outcome, so that no request
// stays running with nobody at work.
func outcomeOf(err error) (*ending, bool) {
	var end *ending
	switch {
	case errors.As(err, &end):
		return end, true
	case fika.IsKind(err, fika.Lost, fika.Storage):
		return nil, false
	}
	return failed(err), true
}

// attempt is one request being worked.
type attempt struct {
	*Engine
	claimed store.Claimed
	fence   store.Fence

	began     time.Time               // right after the claim
	round     int                     // model calls so far
	system    string                  // assembled once per turn
	state     string                  // likewise; shown where it differs from what the window shows of it
	shown     string                  // the newest state in the window that was built last
	prompt    string                  // what a pre_message hook made of the prompt; empty: as stored
	names     map[string]bool         // what this agent is called in the window
	own       []fika.Entry            // the request's entries, in order
	seen      []fika.Entry            // what the model was shown last
	records   map[fika.EntryID]record // of model calls, by the entry they produced
	recalled  map[fika.EntryID]bool   // whose records were looked for
	pending   []fika.Step             // tool steps without a result
	used      []fika.ToolUsed
	usage     fika.Usage
	lastIn    int64 // input tokens the provider counted last; 0: unknown
	errors    int   // rounds in a row in which every tool call failed
	empty     int   // empty replies in a row
	cutStep   int   // the step whose arguments the provider cut off; 0: none
	warned    bool
	approvals map[int]store.Approval // what was asked about steps, by step
	refusals  int                    // of people
	rights    *fika.Rights           // what the turn may do; nil: what its tools allow
	committed string                 // what it passes on, as it was committed last
	taint     fika.Taint             // what it has read from outside
	named     []string               // hosts that people have named

	asked      *fika.Entry // what the turn answers: the prompt, or the newest message of others
	omitted    int         // entries that did not fit into the window
	compaction int64       // seq of the last one; 0: none
	cut        *fika.Entry // the last compaction before the window; nil: none
	compacted  bool        // a compaction was tried in this turn
}

// Each step of a turn returns nil to go on, or an error that stops the turn:
// an *ending, a *released, or what the store or the model said.

// ending is the outcome that a turn comes to.
type ending struct {
	state  fika.RequestState
	kind   fika.Kind
	reason string
	limit  string // of its chain, that ends the turn
	// rejected says that no answer was in the form asked for.
	rejected bool
	final    *store.ModelCommit
}

func (e *ending) Error() string { return fmt.Sprintf("%s: %s", e.state, e.reason) }

// released says that the request leaves this turn without an outcome: it was
// suspended or handed back.
type released struct{ Result }

func (r *released) Error() string { return fmt.Sprintf("%s: %s", r.State, r.Reason) }

func failed(err error) *ending {
	state := fika.RequestFailed
	if fika.KindOf(err) == fika.Interrupted {
		state = fika.Cancelled
	}
	return &ending{state: state, kind: fika.KindOf(err), reason: err.Error()}
}

// run settles what is pending, looks whether anybody wants a stop, and asks the
// model, until one of its steps stops the turn.
func (w *attempt) run(ctx context.Context) error {
	if err := w.loadSteps(ctx); err != nil {
		return err
	}
	if err := w.preparePrompt(ctx); err != nil {
		return err
	}
	if len(w.pending) > 0 { // what people said before is known to what goes on
		if _, err := w.window(ctx); err != nil {
			return err
		}
	}
	for {
		if err := w.runTools(ctx); err != nil {
			return err
		}
		if err := w.checkSignals(ctx); err != nil {
			return err
		}
		if w.round >= w.cfg.MaxRounds {
			return &ending{state: fika.RequestFailed, kind: fika.Limit,
				reason: fmt.Sprintf("%d model calls without a final answer; the limit is max_recursion_depth", w.round)}
		}
		if err := w.askModel(ctx); err != nil {
			return err
		}
	}
}

// checkSignals looks between two steps whether the turn should go on.
func (w *attempt) checkSignals(ctx context.Context) error {
	if ctx.Err() != nil {
		return w.interrupted(ctx)
	}
	select {
	case <-w.cfg.Stop:
		return w.handBack(ctx, "the process is stopping")
	default:
	}
	if w.claimedJustNow() {
		return nil
	}
	var sig store.Signal
	err := w.read(ctx, func(ctx context.Context) (err error) {
		sig, err = w.cfg.Store.Signal(ctx, w.fence)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.applySignal(ctx, sig); err != nil {
		return err
	}
	return w.checkLimits(ctx)
}

// justNow is for how long what a claim has read is taken for the present.
const justNow = 20 * time.Millisecond

// claimedJustNow reports whether the claim, which takes nothing that is paused
// or cancelled, has only been made.
func (w *attempt) claimedJustNow() bool {
	return w.round == 0 && !w.claimed.Resumed && w.claimed.Request.Deadline.IsZero() && time.Since(w.began) < justNow
}

// applySignal stops the turn when a person or a deadline asks for it.
func (w *attempt) applySignal(ctx context.Context, sig store.Signal) error {
	switch {
	case sig.Cancel:
		return &ending{state: fika.Cancelled, kind: fika.Interrupted, reason: orElse(sig.Reason, "cancelled")}
	case sig.Deadline:
		return &ending{state: fika.Cancelled, kind: fika.Limit, reason: "its deadline has passed"}
	case sig.Paused && w.claimed.Request.Origin != fika.Foreground:
		err := w.persist(ctx, func(ctx context.Context) error {
			return w.cfg.Store.Suspend(ctx, w.fence, fika.WaitPause, time.Time{})
		})
		if err != nil {
			return err
		}
		return &released{Result{State: fika.Waiting, Reason: "paused"}}
	}
	return nil
}

// interrupted decides what an ended context means. Who has lost the agent ends
// nothing: the next owner finds the request as it was.
func (w *attempt) interrupted(ctx context.Context) error {
	if cause := context.Cause(ctx); fika.IsKind(cause, fika.Lost) {
		return cause
	}
	if errors.Is(context.Cause(ctx), ErrStop) {
		return w.handBack(ctx, "the process is stopping")
	}
	reason := "cancelled"
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &ending{state: fika.Cancelled, kind: fika.Limit, reason: "its deadline has passed"}
	} else if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		reason = cause.Error()
	}
	return &ending{state: fika.Cancelled, kind: fika.Interrupted, reason: reason}
}

// failTurn decides what an error of a step means that has not reached the store:
// after a stop or a cancel it is that, else it ends the turn.
func (w *attempt) failTurn(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return w.interrupted(ctx)
	}
	return failed(err)
}

func (w *attempt) handBack(ctx context.Context, reason string) error {
	err := w.persist(ctx, func(ctx context.Context) error { return w.cfg.Store.HandBack(ctx, w.fence) })
	if err != nil {
		return err
	}
	return &released{Result{State: fika.Open, Reason: reason}}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
