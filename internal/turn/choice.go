package turn

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
)

// Model is a model that the calls of a turn may go to.
type Model struct {
	Provider  llm.Model
	ID        string // as usage reports name it
	Window    int64  // how many tokens it reads
	MaxTokens int64
	Reasoning *llm.Reasoning
	Picture   Picture // nil: it is shown no pictures
}

// ModelRule says when one of several models is used. All of its conditions have to hold;
// zero fields are no condition.
type ModelRule struct {
	Tokens  int64    // size of the conversation, estimated
	Offered []string // tools of which the turn may use one
	Used    []string // tools of which the turn has called one
	Attempt int      // attempts at the same work, from 1
	Use     int      // index of the model: 0 is the first
}

// Choice is how a turn with several models chooses one for each call. The zero value
// means a single model.
type Choice struct {
	Further  []Model // after the one of the [Config], from the second to the last resort
	Rules    []ModelRule
	Escalate int // consecutive failed rounds after which the next model is asked; 0: never
}

// round is the result of a committed model call.
type round struct {
	model  string
	choice string // why it went to that model
	calls  int    // tool calls that are known to have worked or failed
	failed int    // how many of these failed
	// useless says that the reply was no answer: empty, or not in the form asked for.
	useless bool
}

// isFailed reports whether nothing useful came of the round.
func (r round) isFailed() bool { return r.useless || r.calls > 0 && r.failed == r.calls }

// countResult adds the result of a tool call. An interrupted call says nothing about the
// model and does not count.
func (r *round) countResult(isError, interrupted bool) {
	if interrupted {
		return
	}
	r.calls++
	if isError {
		r.failed++
	}
}

// restoreRounds restores the rounds of earlier attempts of the request.
func (p *progress) restoreRounds(steps []fika.Step) {
	failed := map[fika.EntryID]bool{}
	for _, e := range p.own {
		if e.Type == fika.ToolResult && e.Meta.IsError {
			failed[e.ID] = true
		}
	}
	at := map[int]int{} // round to index
	for _, s := range steps {
		i, known := at[s.Round]
		switch {
		case s.Kind == fika.ModelStep:
			at[s.Round] = len(p.rounds)
			p.rounds = append(p.rounds, round{model: s.Model, choice: s.Choice, useless: readRecord(s.Blob).Rejected != "" || !p.said(s)})
		case s.Kind == fika.ToolStep && known:
			p.rounds[i].useless = false
			if s.State == fika.StepDone || s.State == fika.StepInterrupted {
				p.rounds[i].countResult(failed[s.Entry], s.State == fika.StepInterrupted)
			}
		}
	}
}

// said reports whether a model step produced a text.
func (p *progress) said(s fika.Step) bool {
	return slices.ContainsFunc(p.own, func(e fika.Entry) bool {
		return e.ID == s.Entry && e.Type == fika.Message && strings.TrimSpace(e.Content) != ""
	})
}

// modelChoice decides which model the next call goes to. It uses only what is committed
// and what the settings say, so that a turn resumed after a crash goes on with the model
// it had. A turn never goes back to an earlier model.
type modelChoice struct {
	*assignment
	*progress
	permits *permits
	window  *window
	Choice
	models []Model
	told   string // the model that observers know of
}

// last returns the index of the model that the last round went to, and why it did.
func (m *modelChoice) last() (index int, why string) {
	if len(m.rounds) == 0 {
		return 0, ""
	}
	r := m.rounds[len(m.rounds)-1]
	i := slices.IndexFunc(m.models, func(x Model) bool { return x.ID == r.model })
	if i <= 0 { // the first, or a model that the settings no longer have
		return 0, ""
	}
	return i, r.choice
}

// choose returns the index of the model for the next call, and why; no reason: it is the
// first.
func (m *modelChoice) choose(ctx context.Context) (index int, why string, err error) {
	index, why = m.last()
	if i, reason := m.escalated(index); i > index {
		index, why = i, reason
	}
	for k, r := range m.Rules {
		if r.Use <= index || r.Use >= len(m.models) {
			continue
		}
		holds, reason, err := m.holds(ctx, r)
		if err != nil {
			return 0, "", err
		}
		if holds {
			index, why = r.Use, fmt.Sprintf("rule %d: %s", k+1, reason)
		}
	}
	if n := len(m.failures); n > 0 { // after the last model, it begins again with the first
		last := m.failures[n-1]
		if i := indexOfModel(m.models, last.model); i >= index && i < len(m.models)-1 {
			index, why = i+1, "because "+last.model+" fails: "+last.why
		}
	}
	return index, why, nil
}

// attempt returns how many times the work has been begun, this time included.
func (m *modelChoice) attempt() int { return max(1, m.claimed.Request.Payload.Attempt) }

// escalated returns the model that failures lead to from the one at index, or index
// itself.
func (m *modelChoice) escalated(index int) (int, string) {
	if m.Escalate <= 0 || index == len(m.models)-1 {
		return index, ""
	}
	before := m.attempt() - 1
	if len(m.rounds) == 0 {
		if up := min(before/m.Escalate, len(m.models)-1); up > index {
			return up, "attempt " + strconv.Itoa(m.attempt())
		}
		return index, ""
	}
	failed, n := 0, len(m.rounds)-1
	for ; n >= 0 && m.rounds[n].isFailed() && m.rounds[n].model == m.models[index].ID; n-- {
		failed++
	}
	if n < 0 { // nothing has worked since this attempt began
		failed += before % m.Escalate
	}
	if failed < m.Escalate {
		return index, ""
	}
	return index + 1, "after " + failedRounds(failed)
}

func failedRounds(n int) string {
	if n == 1 {
		return "a failed round"
	}
	return strconv.Itoa(n) + " failed rounds"
}

// holds reports whether a rule holds, and why.
func (m *modelChoice) holds(ctx context.Context, r ModelRule) (bool, string, error) {
	var reasons []string
	if r.Attempt > 0 {
		if m.attempt() < r.Attempt {
			return false, "", nil
		}
		reasons = append(reasons, "attempt "+strconv.Itoa(m.attempt()))
	}
	if len(r.Used) > 0 {
		i := slices.IndexFunc(r.Used, m.hasUsed)
		if i < 0 {
			return false, "", nil
		}
		reasons = append(reasons, r.Used[i]+" was used")
	}
	if len(r.Offered) > 0 {
		i := slices.IndexFunc(r.Offered, m.mayUse)
		if i < 0 {
			return false, "", nil
		}
		reasons = append(reasons, r.Offered[i]+" is offered")
	}
	if r.Tokens > 0 {
		big, err := m.window.comesTo(ctx, r.Tokens)
		if err != nil || !big {
			return false, "", err
		}
		reasons = append(reasons, strconv.FormatInt(r.Tokens, 10)+" tokens")
	}
	return len(reasons) > 0, strings.Join(reasons, ", "), nil
}

func (m *modelChoice) hasUsed(name string) bool {
	return slices.ContainsFunc(m.own, func(e fika.Entry) bool { return e.Type == fika.ToolCall && e.To == name })
}

func (m *modelChoice) mayUse(name string) bool {
	for _, s := range m.permits.offeredSpecs() {
		if s.Name == name {
			return true
		}
	}
	return false
}

// used lists the models of a turn; final is the call that ends it, or nil.
func (m *modelChoice) used(final *store.ModelCommit) []fika.ModelUsed {
	if len(m.models) == 1 {
		return nil
	}
	rounds := m.rounds
	if final != nil {
		rounds = append(slices.Clip(rounds), round{model: final.Model, choice: final.Choice})
	}
	var out []fika.ModelUsed
	for _, r := range rounds {
		if n := len(out); n > 0 && out[n-1].Model == r.model {
			out[n-1].Calls++
			continue
		}
		out = append(out, fika.ModelUsed{Model: r.model, Calls: 1, Why: r.choice})
	}
	return out
}

// tellModel tells observers of the chosen model, unless they already know it.
func (m *modelChoice) tellModel(index int, why string) {
	if id := m.models[index].ID; id != m.told {
		m.told = id
		m.observeEvent(Event{Kind: ModelChosen, Model: id, Text: why, Round: m.round + 1})
	}
}

// comesTo reports whether the conversation, as far as a model could be shown it, has at
// least that many tokens.
func (w *window) comesTo(ctx context.Context, tokens int64) (bool, error) {
	var size int64
	for _, e := range w.own {
		size += EstimateEntry(e)
	}
	if size >= tokens {
		return true, nil
	}
	cut, cuts, err := w.frame(ctx)
	if err != nil {
		return false, err
	}
	shown, out := w.cut, w.cuts
	w.cut, w.cuts = cut, cuts
	groups, left, err := w.readHistory(ctx, tokens-size)
	w.cut, w.cuts = shown, out // the window itself is read later
	if err != nil || left > 0 {
		return left > 0, err
	}
	for _, g := range groups {
		for _, e := range g {
			size += EstimateEntry(*e)
		}
	}
	return size >= tokens, nil
}
