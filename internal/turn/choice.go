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

// Model is one that the calls of a turn may go to.
type Model struct {
	Provider  llm.Model
	ID        string // as usage reports name it
	Window    int64  // what it reads, in tokens
	MaxTokens int64
	Reasoning *llm.Reasoning
	Picture   Picture // nil: it is shown none
}

// ModelRule says when one of several models is used. All that it says has to hold;
// what is zero says nothing.
type ModelRule struct {
	Tokens  int64    // of what has been said, estimated
	Offered []string // tools of which the turn may use one
	Used    []string // tools of which the turn has called one
	Attempt int      // at the same work, from 1
	Use     int      // the place of the model: 0 is the first
}

// Choice is how a turn that has several models chooses one for each call. The zero
// value is one model alone.
type Choice struct {
	Further  []Model // behind that of the [Config], from the second to the last resort
	Rules    []ModelRule
	Escalate int // failed rounds in a row after which the next model is asked; 0: never
}

// round is what a committed model call came to.
type round struct {
	model  string
	choice string // why it went to that model
	calls  int    // tool calls that are known to have worked or failed
	failed int    // of these
	// useless says that it was no answer: empty, or not in the form asked for.
	useless bool
}

// isFailed reports whether nothing good came of the round.
func (r round) isFailed() bool { return r.useless || r.calls > 0 && r.failed == r.calls }

// countResult adds what became of a tool call. One that was interrupted tells
// nothing of the model.
func (r *round) countResult(isError, interrupted bool) {
	if interrupted {
		return
	}
	r.calls++
	if isError {
		r.failed++
	}
}

// restoreRounds brings back what earlier attempts of the request came to.
func (p *progress) restoreRounds(steps []fika.Step) {
	failed := map[fika.EntryID]bool{}
	for _, e := range p.own {
		if e.Type == fika.ToolResult && e.Meta.IsError {
			failed[e.ID] = true
		}
	}
	at := map[int]int{} // round to place
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

// said reports whether a model step left a text.
func (p *progress) said(s fika.Step) bool {
	return slices.ContainsFunc(p.own, func(e fika.Entry) bool {
		return e.ID == s.Entry && e.Type == fika.Message && strings.TrimSpace(e.Content) != ""
	})
}

// modelChoice decides which model the next call goes to: by what is committed and
// what the settings say, so that a turn that is taken up again after a crash goes
// on with the model it had. No earlier model comes back within a turn.
type modelChoice struct {
	*assignment
	*progress
	permits *permits
	window  *window
	Choice
	models []Model
	told   string // the model that observers know of
}

// last is the place of the model that the last round went to, and why it did.
func (m *modelChoice) last() (index int, why string) {
	if len(m.rounds) == 0 {
		return 0, ""
	}
	r := m.rounds[len(m.rounds)-1]
	i := slices.IndexFunc(m.models, func(x Model) bool { return x.ID == r.model })
	if i <= 0 { // the first, or one that the settings do not have any more
		return 0, ""
	}
	return i, r.choice
}

// choose gives the place of the model for the next call, and why it is that one;
// no reason: it is the first.
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
	return index, why, nil
}

// attempt is how many times the work has been begun, this one included.
func (m *modelChoice) attempt() int { return max(1, m.claimed.Request.Payload.Attempt) }

// escalated gives the model that failures at this one lead to, or the same.
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

// holds reports whether a rule holds, and what makes it do so.
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

// used are the models of a turn, with the call that ends it, if one does.
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

// tellModel tells observers of a model that is not the one they know of.
func (m *modelChoice) tellModel(index int, why string) {
	if id := m.models[index].ID; id != m.told {
		m.told = id
		m.observeEvent(Event{Kind: ModelChosen, Model: id, Text: why, Round: m.round + 1})
	}
}

// comesTo reports whether what has been said, as far as a model could be shown it,
// comes to so many tokens.
func (w *window) comesTo(ctx context.Context, tokens int64) (bool, error) {
	var size int64
	for _, e := range w.own {
		size += EstimateEntry(e)
	}
	if size >= tokens {
		return true, nil
	}
	cut := w.cut
	groups, left, err := w.readHistory(ctx, tokens-size)
	w.cut = cut // what is shown is read later
	if err != nil || left > 0 {
		return left > 0, err
	}
	for _, g := range groups {
		for _, e := range g {
			size += EstimateEntry(e)
		}
	}
	return size >= tokens, nil
}
