package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
)

const (
	maxEmpty     = 3 // empty replies in a row before the turn fails
	maxAllErrors = 6 // rounds in a row in which no tool call worked
	maxRejected  = 2 // answers in another form than asked for that are sent back

	// cutOff stands for the hash of arguments that the provider cut off, so
	// that an owner after a crash does not run them either.
	cutOff = "cut off"
)

// askModel makes one model call and commits what came of it: tool calls are
// planned, a final text ends the turn.
func (w *attempt) askModel(ctx context.Context) error {
	entries, err := w.window(ctx)
	if err != nil {
		return err
	}
	if again, err := w.compact(ctx, entries); err != nil {
		return err
	} else if again {
		if entries, err = w.window(ctx); err != nil {
			return err
		}
	}
	w.boundNow(ctx)
	w.round++
	started := w.cfg.Now()
	resp, err := w.cfg.Model.Generate(ctx, w.request(entries), w.stream)
	if err != nil {
		return w.failTurn(ctx, err)
	}
	return w.handleResponse(ctx, resp, started)
}

// handleResponse decides what an answer of the model is.
func (w *attempt) handleResponse(ctx context.Context, resp llm.Response, started time.Time) error {
	w.lastIn = resp.Usage.Input + resp.Usage.Output
	w.usage = w.usage.Add(resp.Usage)
	commit := w.modelCommit(resp, started)
	switch {
	case len(resp.Calls) > 0:
		return w.planCalls(ctx, commit, resp.Truncated)
	case strings.TrimSpace(resp.Text) != "":
		if resp.Truncated {
			w.tell(Event{Kind: Warning, Text: "the provider cut the answer at its output limit (max_tokens)"})
		}
		if w.cfg.Check != nil {
			if err := w.cfg.Check(resp.Text); err != nil {
				return w.reject(ctx, commit, err)
			}
		}
		return &ending{state: fika.Done, final: &commit}
	case resp.Refusal != "":
		if _, err := w.commitModel(ctx, commit); err != nil {
			return err
		}
		return &ending{state: fika.RequestFailed, kind: fika.Provider, reason: "the model declined: " + resp.Refusal}
	}
	if _, err := w.commitModel(ctx, commit); err != nil { // it was paid for
		return err
	}
	w.empty++
	if w.empty >= maxEmpty {
		return &ending{state: fika.RequestFailed, kind: fika.Provider,
			reason: fmt.Sprintf("the model answered nothing, %d times in a row", w.empty)}
	}
	w.tell(Event{Kind: Warning, Text: "the model answered nothing; asking again"})
	return nil
}

// reject sends an answer back that is not in the form that was asked for, or
// ends the turn when that has been done often enough.
func (w *attempt) reject(ctx context.Context, commit store.ModelCommit, wrong error) error {
	before := 0
	for _, r := range w.records {
		if r.Rejected != "" {
			before++
		}
	}
	kept := readRecord(commit.Blob)
	kept.Model, kept.Rejected = w.cfg.ModelID, "Your answer cannot be used: "+wrong.Error()
	commit.Blob = kept.blob()
	planned, err := w.commitModel(ctx, commit)
	if err != nil {
		return err
	}
	if before >= maxRejected {
		return &ending{state: fika.RequestFailed, kind: fika.Failed, rejected: true,
			reason: fmt.Sprintf("the answer was not in the form asked for, %d times in a row: %v", before+1, wrong)}
	}
	if len(planned.Entries) > 0 {
		w.records[planned.Entries[0].ID] = kept
	}
	w.tell(Event{Kind: Committed, Entries: planned.Entries, Round: w.round})
	w.tell(Event{Kind: Warning, Text: "the answer is not in the form asked for; asking again: " + wrong.Error()})
	return nil
}

func (w *attempt) request(entries []fika.Entry) llm.Request {
	return llm.Request{
		System:    w.system,
		Messages:  w.messages(entries),
		Tools:     w.offered(),
		MaxTokens: w.cfg.MaxTokens,
		Reasoning: w.cfg.Reasoning,
	}
}

// stream passes on what arrives; it is display, never truth.
func (w *attempt) stream(ev llm.Event) error {
	out := Event{Round: w.round, Text: ev.Text, After: ev.After}
	switch ev.Kind {
	case llm.TextDelta:
		out.Kind = Text
	case llm.ReasoningDelta:
		out.Kind = Reasoning
	case llm.Retrying:
		out.Kind, out.Text = Retrying, ev.Reason
	case llm.Restarted:
		out.Kind, out.Text = Restarted, ev.Reason
	default:
		return nil
	}
	w.tell(out)
	return nil
}

func (w *attempt) modelCommit(resp llm.Response, started time.Time) store.ModelCommit {
	kept := record{Model: w.cfg.ModelID, State: w.news(), Message: resp.Blob}
	c := store.ModelCommit{
		Round: w.round, Text: resp.Text, Reasoning: resp.Reasoning,
		Usage: resp.Usage, Model: w.cfg.ModelID, StartedAt: started, Calls: w.plannedCalls(resp.Calls), Taint: w.taint,
	}
	if len(c.Calls) > 0 {
		c.Passes = w.passesNow()
	}
	for i, call := range resp.Calls {
		if call.ID != c.Calls[i].CallID {
			kept.Message = nil // it names the call otherwise
		}
	}
	c.Blob = kept.blob()
	return c
}

// plannedCalls names the calls uniquely: providers repeat and omit ids.
func (w *attempt) plannedCalls(calls []llm.Call) []store.PlannedCall {
	seen := map[string]bool{}
	var out []store.PlannedCall
	for i, c := range calls {
		id := c.ID
		if id == "" || seen[id] {
			id = fmt.Sprintf("call_%d_%d", w.round, i+1)
		}
		seen[id] = true
		sum := sha256.Sum256([]byte(c.Name + "\x00" + c.Args))
		p := store.PlannedCall{CallID: id, Tool: c.Name, Args: c.Args, ArgsHash: hex.EncodeToString(sum[:16]), Effect: fika.Unsafe}
		if t, err := w.cfg.Tools.Find(c.Name); err == nil {
			p.Effect = orUnsafe(t.Spec().Effect)
		}
		out = append(out, p)
	}
	return out
}

func orUnsafe(e fika.Effect) fika.Effect {
	if e == "" {
		return fika.Unsafe
	}
	return e
}

// planCalls commits the calls before any of them runs. A call whose arguments the
// provider cut off is answered with an error instead of being run.
func (w *attempt) planCalls(ctx context.Context, commit store.ModelCommit, truncated bool) error {
	w.empty = 0
	if truncated {
		commit.Calls[len(commit.Calls)-1].ArgsHash = cutOff
	}
	planned, err := w.commitModel(ctx, commit)
	if err != nil {
		return err
	}
	if len(planned.Entries) > 0 {
		w.records[planned.Entries[0].ID] = readRecord(commit.Blob)
	}
	w.pending = append(w.pending, planned.Steps...)
	w.tell(Event{Kind: Committed, Entries: planned.Entries, Round: w.round})
	if truncated && len(planned.Steps) > 0 {
		w.cutStep = planned.Steps[len(planned.Steps)-1].N
	}
	return nil
}

// commitModel stores a model call that does not end the turn.
func (w *attempt) commitModel(ctx context.Context, c store.ModelCommit) (planned store.Planned, err error) {
	err = w.persist(ctx, func(ctx context.Context) (err error) {
		planned, err = w.cfg.Store.CommitModel(ctx, w.fence, c)
		return err
	})
	if err == nil {
		w.own = append(w.own, planned.Entries...)
	}
	return planned, err
}
