package turn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/tool"
)

const (
	// guestOrigin marks the tool calls of a guest in the conversation.
	guestOrigin = "acp"
	// maxGuestText bounds a message of a guest, in bytes; one that writes more is ended.
	maxGuestText = 4 << 20
)

// guestTurn lets a guest work the request, and commits what it does.
type guestTurn struct {
	*assignment
	*progress
	guest    Guest
	store    Guests
	signals  *signals
	permits  *permits
	exposure *exposure
	briefing *briefing
	window   *window
	composer *composer
	gate     *gate
	model    *modelCall
	rounds   *toolRound // for the check of its task
	tools    *toolCalls
	guard    Guard // of the program's own calls; nil: a person is asked about each
	check    func(text string) error
	now      func() time.Time

	mu      sync.Mutex // of what follows: a guest is answered beside what it tells
	over    bool
	message string // the message that text belongs to
	text    strings.Builder
	thought strings.Builder
	since   time.Time // when the part that is not committed yet began
	open    map[string]*guestCall

	offered  []tool.Spec           // fika's own tools that the program may call
	before   []fika.Step           // calls of interrupted tries whose results it may not have read
	table    map[string]*tableCall // calls that it makes, by [tableHash]
	working  sync.WaitGroup        // of them
	prompted context.Context       // ends with the turn of the program
}

// guestCall is a tool call of a guest on its way.
type guestCall struct {
	job
	planned, begun, asking, done bool
}

// run works the request. It returns what stops the turn, as the other steps of a turn do.
func (g *guestTurn) run(ctx context.Context) error {
	kept, err := g.kept(ctx)
	if err != nil {
		return err
	}
	if g.claimed.Resumed && kept.Request == g.fence.Request {
		g.since = g.now()
		if err := g.bookCut(ctx, g.guest.Bill(fika.Usage{})); err != nil {
			return err
		}
		return g.interrupted("the process of the agent ended in the middle of its turn")
	}
	if err := g.briefing.preparePrompt(ctx); err != nil {
		return err
	}
	entries, err := g.window.selectEntries(ctx)
	if err != nil {
		return err
	}
	if err := g.signals.checkSignals(ctx); err != nil {
		return err
	}
	g.permits.boundNow(ctx)
	g.offered = g.offer()
	if g.claimed.Request.RetryOf != "" {
		if err := g.lookBack(ctx); err != nil {
			return err
		}
	}
	s, err := g.guest.Open(ctx, GuestOpen{
		Kept: kept.Session, Replay: !kept.Settled, Mark: fmt.Sprintf("%s/0", g.fence.Request), Conversation: g.claimed.Conversation.ID, Rights: g.permits.rights, Tools: g.offered,
	})
	if err != nil {
		return g.signals.failTurn(ctx, fika.WithHint(fika.Errorf(fika.KindOf(err), "", "the program of @%s: %v", g.claimed.Agent.Name, err), hint.Doctor))
	}
	defer func() {
		for _, line := range s.Close() {
			g.observeEvent(Event{Kind: Warning, Text: line})
		}
	}()
	if !s.Known() {
		kept = store.GuestSession{}
	}
	return g.prompt(ctx, s, g.promptText(entries, kept, s.LastPrompt()), kept)
}

// offer returns fika's own tools that the program may call in this turn.
func (g *guestTurn) offer() []tool.Spec {
	return slices.DeleteFunc(g.permits.offeredSpecs(), func(s tool.Spec) bool { return !g.guest.Offers(s.Name) })
}

// lookBack reads which calls of interrupted tries of the request are not to be made twice.
func (g *guestTurn) lookBack(ctx context.Context) error {
	return g.retry.readAgain(ctx, func(ctx context.Context) error {
		steps, err := g.store.StepsBefore(ctx, g.fence.Request)
		g.before = unanswered(steps, g.guest.Offers)
		return err
	})
}

// kept reads how the session of this conversation stands.
func (g *guestTurn) kept(ctx context.Context) (kept store.GuestSession, err error) {
	err = g.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		kept, err = g.store.GuestSession(ctx, g.claimed.Agent.ID, g.claimed.Conversation.ID)
		return err
	})
	if kept.Program != g.guest.Program() {
		kept.Session, kept.Settled, kept.Cost = "", false, 0
	}
	return kept, err
}

// prompt sends the prompt and, if an answer is not in the form asked for, what is wrong
// with it, and returns how the turn ends.
func (g *guestTurn) prompt(ctx context.Context, s GuestSession, text string, kept store.GuestSession) error {
	g.round++
	g.open, g.since = map[string]*guestCall{}, g.now()
	cost := kept.Cost
	kept.Program, kept.Session, kept.Upto = g.guest.Program(), s.ID(), g.claimed.Request.UptoSeq
	for rejected := 0; ; rejected++ {
		kept.Prompt = digestOf(text)
		var sig store.Signal
		err := g.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
			sig, err = g.store.PromptGuest(ctx, g.fence, kept)
			return err
		})
		if err != nil {
			return err
		}
		if err := g.signals.applySignal(ctx, sig); err != nil {
			return err
		}
		prompted, ended := context.WithCancel(context.WithoutCancel(ctx))
		g.prompted, g.table = prompted, map[string]*tableCall{}
		end, err := s.Prompt(ctx, text, guestHost{g, ctx})
		g.mu.Lock()
		g.over = true
		g.mu.Unlock()
		ended()
		g.working.Wait()
		usage := g.book(end, &cost)
		if err != nil {
			return g.failed(ctx, err, usage)
		}
		if err := g.settle(ctx, cost); err != nil {
			return err
		}
		why := g.rejected(end)
		if why == "" || rejected >= maxRejected || ctx.Err() != nil {
			stop := g.ending(ctx, end, usage, why)
			again, err := g.checkTask(ctx, stop)
			if again == "" {
				return cmp.Or(err, stop)
			}
			text, kept.Cost, g.over, rejected = again, cost, false, -1
			continue
		}
		if err := g.commitRound(ctx, usage); err != nil {
			return err
		}
		g.observeEvent(Event{Kind: Warning, Text: "the answer is not in the form asked for; asking again: " + why})
		text, kept.Cost, g.over = "Your answer cannot be used: "+why, cost, false
	}
}

// book returns the usage of a prompt, with what it cost as far as that is known.
func (g *guestTurn) book(end GuestEnd, cost *int64) fika.Usage {
	u := end.Usage
	if end.Priced {
		if u.Cost = end.Cost - *cost; u.Cost < 0 { // the program counts from the beginning again
			u.Cost = end.Cost
		}
		*cost = end.Cost
	}
	return g.guest.Bill(u)
}

// bookCut commits the usage of a prompt that did not come to its end. What it cost beside
// that, nobody knows.
func (g *guestTurn) bookCut(ctx context.Context, usage fika.Usage) error {
	parts := []fika.Usage{usage}
	if rest := g.guest.Bill(fika.Usage{}); usage.Cost > 0 && rest.Unpriced {
		parts = append(parts, rest)
	}
	for _, u := range parts {
		if u == (fika.Usage{}) {
			continue
		}
		if err := g.signals.spend(ctx, store.Spent{Round: g.round, Kind: fika.FailedStep, Model: g.progress.model, Usage: u, StartedAt: g.since}); err != nil {
			return err
		}
		g.since = g.now()
	}
	return nil
}

func (g *guestTurn) settle(ctx context.Context, cost int64) error {
	return g.retry.persistWrite(ctx, func(ctx context.Context) error { return g.store.SettleGuest(ctx, g.fence, cost) })
}

// rejected says what is wrong with the form of an answer; empty: nothing.
func (g *guestTurn) rejected(end GuestEnd) string {
	if g.check == nil || end.Stop != "end_turn" {
		return ""
	}
	if err := g.check(g.text.String()); err != nil {
		return err.Error()
	}
	return ""
}

// ending returns the outcome of a turn that the guest has ended.
func (g *guestTurn) ending(ctx context.Context, end GuestEnd, usage fika.Usage, rejected string) error {
	if ctx.Err() != nil {
		return g.cut(ctx, usage)
	}
	commit := g.roundCommit(usage)
	failed := func(kind fika.Kind, reason string) error {
		if _, err := g.model.commitModel(ctx, commit); err != nil {
			return err
		}
		return &ending{state: fika.RequestFailed, kind: kind, reason: reason, stop: end.Stop, rejected: rejected != ""}
	}
	switch {
	case rejected != "":
		return failed(fika.Failed, "the answer was not in the form asked for: "+rejected)
	case end.Stop == "max_tokens":
		return failed(fika.Limit, "the answer was cut off at the output limit of its program")
	case end.Stop == "max_turn_requests":
		return failed(fika.Limit, "its program made as many model calls as it may in one turn, without a final answer")
	case end.Stop == "refusal":
		return failed(fika.Provider, "its program declined")
	case end.Stop == "cancelled":
		return failed(fika.Interrupted, "its program cancelled the turn by itself")
	case end.Stop != "end_turn":
		return failed(fika.Provider, fmt.Sprintf("its program ended the turn for a reason that is not known here: %.40q", end.Stop))
	case strings.TrimSpace(commit.Text) != "":
		return &ending{state: fika.Done, final: &commit}
	case g.model.maySayNothing():
		commit.Text = ""
		return &ending{state: fika.Done, final: &commit, stop: fika.Silent}
	}
	return failed(fika.Provider, "its program ended the turn without saying anything")
}

// failed returns the outcome of a turn whose prompt has failed.
func (g *guestTurn) failed(ctx context.Context, cause error, usage fika.Usage) error {
	var end *ending
	var gone *GuestGone
	switch {
	case fika.IsKind(cause, fika.Lost, fika.Storage):
		return cause
	case ctx.Err() != nil && !errors.As(cause, &end):
		return g.cut(ctx, usage)
	}
	if err := g.bookCut(ctx, usage); err != nil {
		return err
	}
	switch {
	case end != nil:
		return end
	case errors.As(cause, &gone):
		if err := g.commitSaid(ctx); err != nil {
			return err
		}
		return g.interrupted(gone.Error() + " in the middle of the turn")
	}
	return failedEnding(fika.Errorf(fika.Failed, "", "the program of @%s: %v", g.claimed.Agent.Name, cause))
}

// cut returns what the end of ctx means. A turn that was begun is not handed back: nobody
// may send its prompt again but a person.
func (g *guestTurn) cut(ctx context.Context, usage fika.Usage) error {
	if !fika.IsKind(context.Cause(ctx), fika.Lost) {
		if err := g.bookCut(ctx, usage); err != nil {
			return err
		}
	}
	if errors.Is(context.Cause(ctx), ErrStop) {
		if err := g.commitSaid(ctx); err != nil {
			return err
		}
		return g.interrupted("the process of the agent was stopped in the middle of its turn")
	}
	stop := g.signals.interruptedBy(ctx)
	if end := (*ending)(nil); errors.As(stop, &end) {
		g.mu.Lock()
		end.partial = g.guest.Redact(g.text.String())
		g.mu.Unlock()
	}
	return stop
}

// commitSaid keeps what the guest said last before it ended.
func (g *guestTurn) commitSaid(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if strings.TrimSpace(g.text.String()) == "" {
		return nil
	}
	return g.commitRound(ctx, fika.Usage{})
}

func (g *guestTurn) interrupted(why string) error {
	return &ending{state: fika.StateInterrupted, kind: fika.Interrupted, reason: why + "; " + hint.RequestRetry.With(g.fence.Request) + " continues"}
}

// guestHost is what a guest sees of a turn.
type guestHost struct {
	*guestTurn
	ctx context.Context // of the turn
}

// Did implements [GuestHost].
func (h guestHost) Did(e GuestEvent) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil
	}
	switch {
	case e.Call != nil:
		return h.called(h.ctx, *e.Call)
	case e.Planned:
		if err := h.guest.Plan(h.ctx, e.Plan); err != nil {
			h.observeEvent(Event{Kind: Warning, Text: "the plan was not kept: " + err.Error()})
		}
	case e.Thought != "":
		if h.thought.Len()+len(e.Thought) <= maxGuestText {
			h.thought.WriteString(e.Thought)
			h.observeEvent(Event{Kind: Reasoning, Text: e.Thought, Round: h.round})
		}
	case e.Text != "":
		return h.wrote(h.ctx, e)
	}
	return nil
}

// wrote takes a piece of a message. A message before it becomes an entry.
func (g *guestTurn) wrote(ctx context.Context, e GuestEvent) error {
	if e.Message != g.message && strings.TrimSpace(g.text.String()) != "" {
		if err := g.commitRound(ctx, fika.Usage{}); err != nil {
			return err
		}
	}
	g.message = e.Message
	if g.text.Len()+len(e.Text) > maxGuestText {
		return &ending{state: fika.RequestFailed, kind: fika.Limit, reason: fmt.Sprintf("its program wrote a message of more than %d MiB", maxGuestText>>20)}
	}
	g.text.WriteString(e.Text)
	g.observeEvent(Event{Kind: Text, Text: e.Text, Round: g.round})
	return nil
}

// called takes what is new about a tool call.
func (g *guestTurn) called(ctx context.Context, now GuestCall) error {
	c := g.open[now.ID]
	if c == nil {
		c = &guestCall{}
		g.open[now.ID] = c
	}
	if c.done || !now.Ready || c.asking && !now.Ended {
		return nil
	}
	if err := g.begin(ctx, c, now); err != nil || !now.Ended {
		return err
	}
	c.done = true
	c.result = &tool.Result{IsError: now.Failed, Text: g.guest.Redact(g.guest.Shorten(now.Output, now.Tool))}
	if now.Tool == "fetch" {
		c.result.Taint = "what a guest fetched"
	}
	return g.tools.commitResult(ctx, &c.job)
}

// plan commits a call with what was said before it.
func (g *guestTurn) plan(ctx context.Context, c *guestCall, now GuestCall) error {
	if c.planned {
		return nil
	}
	args := g.guest.Redact(string(now.Args))
	if !json.Valid([]byte(args)) {
		args = "{}"
	}
	sum := sha256.Sum256([]byte(now.Tool + "\x00" + args))
	return g.commitCall(ctx, c, store.PlannedCall{Tool: now.Tool, Args: args, ArgsHash: hex.EncodeToString(sum[:16]), Effect: fika.Unsafe, Origin: guestOrigin})
}

// commitCall commits that a call is planned, with what was said before it.
func (g *guestTurn) commitCall(ctx context.Context, c *guestCall, call store.PlannedCall) error {
	commit := g.roundCommit(fika.Usage{})
	call.CallID = fmt.Sprintf("call_%d", g.round)
	commit.Calls, commit.Passes = []store.PlannedCall{call}, g.permits.newlyPassed()
	planned, err := g.model.commitModel(ctx, commit)
	if err != nil {
		return err
	}
	g.nextRound()
	g.observeEvent(Event{Kind: Committed, Entries: planned.Entries, Round: commit.Round})
	c.planned = true
	c.step, c.origin = planned.Steps[0], call.Origin
	c.call = g.tools.toolCall(ctx, &c.job)
	return nil
}

// begin commits that a call begins.
func (g *guestTurn) begin(ctx context.Context, c *guestCall, now GuestCall) error {
	if err := g.plan(ctx, c, now); err != nil || c.begun {
		return err
	}
	var sig store.Signal
	err := g.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		if sig, err = g.tools.store.BeginTool(ctx, g.fence, c.step.N, "", g.mode); err == nil && sig.Moved && sig.Mode != fika.PlanMode {
			g.mode = sig.Mode // the program began it in any case
			sig, err = g.tools.store.BeginTool(ctx, g.fence, c.step.N, "", g.mode)
		}
		return err
	})
	if err == nil && sig.Moved && sig.Mode == fika.PlanMode {
		return planForGuest()
	}
	if err != nil {
		return err
	}
	sig.Paused = false // a pause waits for the end of the turn: its program cannot wait
	if err := g.signals.applySignal(ctx, sig); err != nil {
		return err
	}
	c.begun = true
	g.tellCalled(&c.job)
	return nil
}

// roundCommit returns what the guest has said since the last commit, as a model call.
func (g *guestTurn) roundCommit(u fika.Usage) store.ModelCommit {
	return store.ModelCommit{
		Round: g.round, Text: g.guest.Redact(g.text.String()), Reasoning: g.guest.Redact(g.thought.String()),
		Usage: u, Model: g.progress.model, StartedAt: g.since, Taint: g.exposure.taint,
	}
}

func (g *guestTurn) commitRound(ctx context.Context, u fika.Usage) error {
	commit := g.roundCommit(u)
	planned, err := g.model.commitModel(ctx, commit)
	if err != nil {
		return err
	}
	g.nextRound()
	g.observeEvent(Event{Kind: Committed, Entries: planned.Entries, Round: commit.Round})
	return nil
}

// nextRound begins a new part, once the last is committed.
func (g *guestTurn) nextRound() {
	g.round++
	g.since = g.now()
	g.text.Reset()
	g.thought.Reset()
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
