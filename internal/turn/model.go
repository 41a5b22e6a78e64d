package turn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/rights/limit"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/tool"
)

const (
	maxEmpty     = 3 // empty replies in a row before the turn fails
	maxAllErrors = 6 // rounds in a row in which no tool call worked
	maxRejected  = 2 // answers in the wrong form that are sent back before the turn fails
	maxCut       = 3 // answers in a row whose last call was cut off before the turn fails

	// cutOff takes the place of the hash of arguments that the provider cut off, so that
	// an owner after a crash does not run them either.
	cutOff = "cut off"
)

// Steps reads a request's steps, for a new owner, and makes the fenced writes about
// model calls.
type Steps interface {
	Steps(context.Context, fika.RequestID) ([]fika.Step, error)
	CommitModel(context.Context, store.Fence, store.ModelCommit) (store.Planned, error)
	CommitCompaction(ctx context.Context, f store.Fence, round int, content string, m fika.EntryMeta, u fika.Usage, model string) (fika.Entry, error)
	Spend(context.Context, store.Fence, store.Spent) ([]limit.Booked, error)
}

// modelCall asks the model and commits its answer.
type modelCall struct {
	*assignment
	*progress
	signals  *signals
	exposure *exposure
	permits  *permits
	records  *records
	briefing *briefing
	window   *window
	sizing   *sizing
	composer *composer
	failures *failures
	store    Steps

	choice *modelChoice
	now    func() time.Time
	tools  *tool.Set
	check  func(text string) error
	schema json.RawMessage
	trace  string

	used  Model  // the model the next call goes to
	why   string // why used was chosen; empty: it is the first
	empty int    // empty replies in a row
	cut   int    // answers in a row whose last call was cut off

	partial strings.Builder // what was streamed of the answer under way
}

// useLast selects the model of the last round or, in a new turn, the first.
func (m *modelCall) useLast() { m.use(m.choice.last()) }

// use makes the next call go to the model at index.
func (m *modelCall) use(index int, why string) {
	m.used, m.why = m.choice.models[index], why
	m.model, m.window.tokens = m.used.ID, m.used.Window
	m.composer.modelID, m.composer.picture = m.used.ID, m.used.Picture
}

// chooseModel decides which model the next call goes to, if there are several.
func (m *modelCall) chooseModel(ctx context.Context) error {
	if len(m.choice.models) == 1 {
		return nil
	}
	m.permits.boundNow(ctx) // which tools are offered
	index, why, err := m.choice.choose(ctx)
	if err != nil {
		return err
	}
	m.use(index, why)
	m.choice.tellModel(index, why)
	return nil
}

// askModel makes one model call and commits the result: tool calls are planned, a final
// text ends the turn.
func (m *modelCall) askModel(ctx context.Context) error {
	if err := m.chooseModel(ctx); err != nil {
		return err
	}
	m.briefing.noteMode()
	entries, err := m.fittingEntries(ctx)
	if err != nil {
		return err
	}
	m.permits.boundNow(ctx)
	if err := m.signals.checkHeld(ctx); err != nil {
		return err
	}
	m.round++
	started := m.now()
	m.partial.Reset()
	resp, err := m.used.Provider.Generate(ctx, m.modelRequest(entries), m.relayEvent)
	if llm.IsTooLong(err) && ctx.Err() == nil {
		if entries, err = m.shorterEntries(ctx, entries); err != nil {
			return err
		}
		started = m.now()
		m.partial.Reset()
		if resp, err = m.used.Provider.Generate(ctx, m.modelRequest(entries), m.relayEvent); llm.IsTooLong(err) && ctx.Err() == nil {
			return failedEnding(fika.Errorf(fika.Provider, "model call", "what has to be sent is too long for the model, even without the older part of the conversation: %v; a model with a larger window takes it (-m MODEL)", err))
		}
	}
	if err := m.countSpent(ctx, resp, err, started); err != nil {
		return err
	}
	if err != nil {
		return m.handleFailure(ctx, err, started)
	}
	return m.handleResponse(ctx, resp, started)
}

// countSpent commits what was paid for without an answer: attempts that failed, and an
// answer that broke off.
func (m *modelCall) countSpent(ctx context.Context, resp llm.Response, cause error, started time.Time) error {
	u := resp.Wasted
	if cause != nil {
		u = u.Add(resp.Usage)
	}
	if u == (fika.Usage{}) {
		return nil
	}
	err := m.signals.spend(ctx, store.Spent{Round: m.round, Kind: fika.FailedStep, Model: m.used.ID, Usage: u, StartedAt: started})
	if fika.IsKind(err, fika.Lost) && ctx.Err() != nil {
		return nil // the turn is no longer this process's, and what follows says so
	}
	return err
}

// handleFailure decides what a failed call means. Of one that was cancelled, what the model
// had said is kept.
func (m *modelCall) handleFailure(ctx context.Context, cause error, started time.Time) error {
	if ctx.Err() == nil {
		return m.failures.handle(ctx, cause, started)
	}
	stop := m.signals.interruptedBy(ctx)
	if end := (*ending)(nil); errors.As(stop, &end) {
		end.partial = m.partial.String()
	}
	return stop
}

// fittingEntries returns what the model is to be shown, after a compaction if the window is
// nearly full.
func (m *modelCall) fittingEntries(ctx context.Context) ([]fika.Entry, error) {
	m.window.final = m.sizing.compactor == nil || m.sizing.failed > 0
	entries, err := m.window.selectEntries(ctx)
	if err != nil {
		return nil, err
	}
	again, err := m.sizing.makeRoom(ctx, entries, func(ctx context.Context, instruction string) (llm.Response, error) {
		r := m.modelRequest(entries)
		r.Schema = nil // of the answer, not of a summary
		r.Messages = append(r.Messages, llm.Message{Role: llm.User, Text: instruction, Passing: true})
		return m.used.Provider.Generate(ctx, r, m.relayWaits)
	})
	if err != nil || !again {
		return entries, err
	}
	if err := m.signals.checkSpending(ctx); err != nil {
		return nil, err
	}
	return m.window.selectEntries(ctx)
}

// shorterEntries returns what the model is to be shown after the provider has refused
// entries as too long: a conversation that has been compacted or, where that is not
// possible, cut.
func (m *modelCall) shorterEntries(ctx context.Context, entries []fika.Entry) ([]fika.Entry, error) {
	m.observeEvent(Event{Kind: Warning, Text: "the provider says that the conversation is too long for the model; it is shortened, and the model is asked again"})
	if err := m.sizing.afterRefusal(ctx, entries); err != nil {
		return nil, err
	}
	if err := m.signals.checkSpending(ctx); err != nil {
		return nil, err
	}
	return m.window.selectEntries(ctx)
}

// relayWaits passes on that a call waits, and nothing of its answer.
func (m *modelCall) relayWaits(ev llm.Event) error {
	if ev.Kind != llm.Retrying {
		return nil
	}
	return m.relayEvent(ev)
}

// handleResponse decides what to do with a model's answer: plan its calls, end the turn,
// or ask again.
func (m *modelCall) handleResponse(ctx context.Context, resp llm.Response, started time.Time) error {
	m.progress.failures = nil
	m.lastIn = resp.Usage.Input + resp.Usage.Output
	m.usage = m.usage.Add(resp.Usage)
	end := stopEnding(resp)
	if end != nil || resp.Stop == llm.StopBadCall {
		resp.Calls, resp.Blob = nil, nil // what an answer that is not whole asks for is not done
	}
	commit := m.modelCommit(resp, started)
	switch {
	case end != nil:
		if _, err := m.commitModel(ctx, commit); err != nil {
			return err
		}
		return end
	case len(resp.Calls) > 0:
		return m.planCalls(ctx, commit, resp)
	case resp.Stop == llm.StopEnd && strings.TrimSpace(resp.Text) != "":
		if m.check != nil {
			if err := m.check(resp.Text); err != nil {
				return m.rejectAnswer(ctx, commit, err)
			}
		}
		return m.handIn(ctx, commit)
	case resp.Stop == llm.StopEnd && m.maySayNothing():
		commit.Text = ""
		return &ending{state: fika.Done, final: &commit, stop: fika.Silent}
	}
	if _, err := m.commitModel(ctx, commit); err != nil { // it was paid for
		return err
	}
	m.empty++
	if m.empty >= maxEmpty {
		return &ending{state: fika.RequestFailed, kind: fika.Provider,
			reason: fmt.Sprintf("the model answered nothing, %d times in a row", m.empty)}
	}
	m.observeEvent(Event{Kind: Warning, Text: "the model answered nothing; asking again"})
	return nil
}

// maySayNothing reports whether an empty answer ends the turn: that of an agent that was
// notified of a message, and not asked for an answer.
func (m *modelCall) maySayNothing() bool {
	return m.claimed.Request.Kind == fika.NotifyRequest && m.check == nil
}

// stopEnding returns the outcome of an answer that is not whole, as in the table in
// docs/internals/failures.md; nil if the turn goes on. The answer's text is kept in the conversation.
func stopEnding(resp llm.Response) *ending {
	failed := func(kind fika.Kind, format string, args ...any) *ending {
		return &ending{state: fika.RequestFailed, kind: kind, reason: fmt.Sprintf(format, args...), stop: string(resp.Stop)}
	}
	switch resp.Stop {
	case llm.StopEnd, llm.StopBadCall:
		return nil
	case llm.StopLength:
		if len(resp.Calls) > 0 {
			return nil
		}
		return failed(fika.Limit, "the answer was cut off at %s", outputLimit(resp))
	case llm.StopWindow:
		return failed(fika.Limit, "the answer was cut off because the conversation fills the model's context window; %s shortens it", hint.ContextCompact.With())
	case llm.StopRefusal:
		if resp.StopText == "" {
			return failed(fika.Provider, "the model declined and gave no reason")
		}
		return failed(fika.Provider, "the model declined: %s", resp.StopText)
	case llm.StopFilter:
		return failed(fika.Provider, "the provider's content filter stopped the answer")
	case llm.StopPause:
		return failed(fika.Provider, "the provider paused the answer again and again and did not finish it")
	case llm.StopFlood:
		return failed(fika.Limit, "the model asked for %s; none was run", resp.StopText)
	}
	return failed(fika.Provider, "the provider ended the answer for a reason that is not known here: %q; it may not be complete", resp.StopText)
}

// outputLimit names the limit that an answer has met, and the setting that moves it.
func outputLimit(resp llm.Response) string {
	if resp.MaxTokens == 0 {
		return "the provider's own output limit; max_tokens in the model's [[models]] entry sets another"
	}
	return fmt.Sprintf("the output limit of %d tokens, reasoning included; max_tokens in the model's [[models]] entry sets another", resp.MaxTokens)
}

// rejectAnswer sends back an answer that is not in the required form, or ends the turn
// after maxRejected of them.
func (m *modelCall) rejectAnswer(ctx context.Context, commit store.ModelCommit, wrong error) error {
	before := m.records.rejected
	kept := readRecord(commit.Blob)
	kept.Model, kept.Rejected = m.used.ID, "Your answer cannot be used: "+wrong.Error()
	commit.Blob = kept.blob()
	planned, err := m.commitModel(ctx, commit)
	if err != nil {
		return err
	}
	m.records.rejected++
	if before >= maxRejected {
		return &ending{state: fika.RequestFailed, kind: fika.Failed, rejected: true,
			reason: fmt.Sprintf("the answer was not in the form asked for, %d times in a row: %v", before+1, wrong)}
	}
	if len(planned.Entries) > 0 {
		m.records.byEntry[planned.Entries[0].ID] = kept
	}
	m.observeEvent(Event{Kind: Committed, Entries: planned.Entries, Round: m.round})
	m.observeEvent(Event{Kind: Warning, Text: "the answer is not in the form asked for; asking again: " + wrong.Error()})
	return nil
}

func (m *modelCall) modelRequest(entries []fika.Entry) llm.Request {
	messages := m.composer.composeMessages(entries)
	return llm.Request{
		System:    m.briefing.prompt.SystemText(m.composer.began),
		Messages:  messages,
		Tools:     m.permits.offeredTools(),
		MaxTokens: m.used.MaxTokens,
		Reasoning: m.used.Reasoning,
		Schema:    m.schema,
		Trace:     m.trace,
	}
}

// relayEvent passes streamed events on to the observer. They are for display and never
// the truth.
func (m *modelCall) relayEvent(ev llm.Event) error {
	out := Event{Round: m.round, Text: ev.Text, After: ev.After}
	switch ev.Kind {
	case llm.TextDelta:
		out.Kind = Text
		m.partial.WriteString(ev.Text)
	case llm.ReasoningDelta:
		out.Kind = Reasoning
	case llm.Retrying:
		out.Kind, out.Text = Retrying, ev.Reason
	case llm.Restarted:
		out.Kind, out.Text = Restarted, ev.Reason
		m.partial.Reset()
	default:
		return nil
	}
	m.observeEvent(out)
	return nil
}

func (m *modelCall) modelCommit(resp llm.Response, started time.Time) store.ModelCommit {
	kept := record{Model: m.used.ID, Told: m.composer.stateNews(), Found: m.permits.found, Message: resp.Blob}
	if !m.composer.known {
		kept.Began = m.composer.began
	}
	if m.round == 1 {
		m.keepAsked(&kept)
	}
	c := store.ModelCommit{
		Round: m.round, Text: resp.Text, Reasoning: resp.Reasoning,
		Usage: resp.Usage, Model: m.used.ID, Choice: m.why, StartedAt: started, Calls: m.plannedCalls(resp.Calls), Taint: m.exposure.taint,
	}
	if len(c.Calls) > 0 {
		c.Passes = m.permits.newlyPassed()
	}
	for i, call := range resp.Calls {
		if call.ID != c.Calls[i].CallID {
			kept.Message = nil // it names the call otherwise
		}
	}
	c.Blob = kept.blob()
	return c
}

// keepAsked adds to the record of a turn's first answer what the turn was asked.
func (m *modelCall) keepAsked(r *record) {
	a, b := m.briefing.asked, m.briefing
	if m.inChat() {
		r.Upto = m.claimed.Request.UptoSeq
	}
	if a != nil && (b.replaced != "" || a.Meta.Writer == fika.ByAgent && !m.inChat()) {
		r.Asked, r.Replaced = a.ID, b.replaced
	}
}

// plannedCalls gives every call a unique id: providers repeat and omit ids.
func (m *modelCall) plannedCalls(calls []llm.Call) []store.PlannedCall {
	seen := map[string]bool{}
	var out []store.PlannedCall
	for i, c := range calls {
		id := c.ID
		if id == "" || seen[id] {
			id = fmt.Sprintf("call_%d_%d", m.round, i+1)
		}
		seen[id] = true
		sum := sha256.Sum256([]byte(c.Name + "\x00" + c.Args))
		p := store.PlannedCall{CallID: id, Tool: c.Name, Args: c.Args, ArgsHash: hex.EncodeToString(sum[:16]), Effect: fika.Unsafe}
		if t, err := m.tools.Find(c.Name); err == nil {
			p.Effect = cmp.Or(t.Spec().Effect, fika.Unsafe)
		}
		out = append(out, p)
	}
	return out
}

// planCalls commits the calls before any of them runs. A call whose arguments the
// provider cut off is not run; its result is an error, and after maxCut such answers in a
// row the turn fails.
func (m *modelCall) planCalls(ctx context.Context, commit store.ModelCommit, resp llm.Response) error {
	m.empty = 0
	truncated := resp.Stop == llm.StopLength
	if m.cut++; !truncated {
		m.cut = 0
	}
	if m.cut >= maxCut {
		resp.Calls, resp.Blob = nil, nil
		if _, err := m.commitModel(ctx, m.modelCommit(resp, commit.StartedAt)); err != nil {
			return err
		}
		return &ending{state: fika.RequestFailed, kind: fika.Limit, stop: string(resp.Stop),
			reason: fmt.Sprintf("the arguments of a tool call were cut off, %d times in a row, at %s", m.cut, outputLimit(resp))}
	}
	if truncated {
		commit.Calls[len(commit.Calls)-1].ArgsHash = cutOff
	}
	planned, err := m.commitModel(ctx, commit)
	if err != nil {
		return err
	}
	if len(planned.Entries) > 0 {
		m.records.byEntry[planned.Entries[0].ID] = readRecord(commit.Blob)
	}
	m.pending = append(m.pending, planned.Steps...)
	m.observeEvent(Event{Kind: Committed, Entries: planned.Entries, Round: m.round})
	if truncated && len(planned.Steps) > 0 {
		m.cutStep = planned.Steps[len(planned.Steps)-1].N
		m.observeEvent(Event{Kind: Warning, Text: "the arguments of a tool call were cut off at " + outputLimit(resp)})
	}
	return nil
}

// commitModel stores a model call that does not end the turn.
func (m *modelCall) commitModel(ctx context.Context, c store.ModelCommit) (planned store.Planned, err error) {
	err = m.retry.persistWrite(ctx, func(ctx context.Context) (err error) {
		planned, err = m.store.CommitModel(ctx, m.fence, c)
		return err
	})
	if err == nil {
		m.own = append(m.own, planned.Entries...)
		m.rounds = append(m.rounds, round{
			model: c.Model, choice: c.Choice,
			useless: len(c.Calls) == 0 && (strings.TrimSpace(c.Text) == "" || readRecord(c.Blob).Rejected != ""),
		})
		m.signals.tellSpent(planned.Booked)
	}
	return planned, err
}
