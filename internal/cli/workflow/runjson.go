package workflow

import (
	"math"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/hint"
	"fika/internal/workflow"
)

// runJSON is a run as --json prints it.
type runJSON struct {
	ID           fika.RequestID        `json:"id"`
	Workflow     *string               `json:"workflow"`
	Title        string                `json:"title"`
	State        string                `json:"state"` // running, ending, paused, done, failed, cancelled
	Error        *string               `json:"error"`
	Limit        *string               `json:"limit"` // which ended it: max_cost, max_tokens, max_turns, max_time
	Answer       *string               `json:"answer"`
	Results      []resultJSON          `json:"results"`
	From         string                `json:"from"`
	Request      fika.RequestID        `json:"request"`
	Conversation fika.ConversationName `json:"conversation"`
	Turns        int                   `json:"turns"`
	Tokens       int64                 `json:"tokens"`
	CostUSD      *float64              `json:"cost_usd"` // null: no price is known
	StartedAt    time.Time             `json:"started_at"`
	PausedAt     *time.Time            `json:"paused_at"`
	FinishedAt   *time.Time            `json:"finished_at"`
}

// resultJSON is what became of a step whose output is part of the run's result.
type resultJSON struct {
	Step  string  `json:"step"`
	Agent *string `json:"agent"`
	State string  `json:"state"` // not_begun, or the state of a step
	Error *string `json:"error"`
}

// stateOf returns the state of a run, for people and programs.
func stateOf(r service.Run) string {
	switch {
	case r.Over():
		return string(r.State)
	case r.Stop != "":
		return "ending"
	case !r.Paused.IsZero():
		return "paused"
	}
	return "running"
}

func toRunJSON(r service.Run) runJSON {
	j := runJSON{
		ID: r.ID, Workflow: command.Optional(r.Name), Title: r.Title, State: stateOf(r), Error: command.Optional(r.Outcome.Error), Answer: command.Optional(r.Outcome.Answer),
		Results: []resultJSON{}, From: r.From, Request: r.Request, Conversation: r.Where, Turns: r.Spent.Turns, Tokens: r.Spent.Tokens, CostUSD: command.ChargedUSD(r.Spent.Cost, r.Spent.Tokens),
		StartedAt: r.Begun.UTC(), PausedAt: command.JSONTime(r.Paused), FinishedAt: command.JSONTime(r.Ended),
	}
	if r.Result != nil {
		j.Limit = command.Optional(r.Result.Limit)
		for _, p := range r.Result.Parts {
			state := string(p.State)
			if state == "" {
				state = "not_begun"
			}
			j.Results = append(j.Results, resultJSON{p.Step, command.Optional(p.Agent), state, command.Optional(p.Error)})
		}
	}
	return j
}

// stepJSON is an attempt at a step of a run, as --json prints it.
type stepJSON struct {
	Path         string     `json:"path"`
	Attempt      int        `json:"attempt"`
	Kind         string     `json:"kind"`
	State        string     `json:"state"`
	Reason       *string    `json:"reason"`
	Error        *string    `json:"error"`
	Agent        *string    `json:"agent"`     // that was asked
	WorkedBy     *string    `json:"worked_by"` // if another works on it: a member of a pool, or a backup
	Request      *string    `json:"request"`
	Conversation *string    `json:"conversation"`
	Approval     *int64     `json:"approval"`
	Items        *int       `json:"items"`
	ItemsDone    *int       `json:"items_done"`
	ItemsFailed  *int       `json:"items_failed"`
	Turns        int        `json:"turns"`
	Tokens       int64      `json:"tokens"`
	CostUSD      *float64   `json:"cost_usd"` // null: no price is known
	StartedAt    time.Time  `json:"started_at"`
	NotBefore    *time.Time `json:"not_before"`
	FinishedAt   *time.Time `json:"finished_at"`
}

func toStepJSON(s service.RunStep) stepJSON {
	j := stepJSON{
		Path: s.Path, Attempt: s.Attempt, Kind: s.Kind, State: string(s.State), Reason: command.Optional(s.Reason), Error: command.Optional(s.Error),
		Agent: command.Optional(string(s.Agent)), WorkedBy: command.Optional(string(s.Worker)), Request: command.Optional(string(s.Request)), Conversation: command.Optional(string(s.Conversation)),
		Turns: s.Usage.Turns, Tokens: s.Usage.Tokens, CostUSD: command.ChargedUSD(s.Usage.Cost, s.Usage.Tokens), StartedAt: s.Begun.UTC(), NotBefore: command.JSONTime(s.NotBefore), FinishedAt: command.JSONTime(s.Ended),
	}
	if s.Approval > 0 {
		j.Approval = &s.Approval
	}
	if s.Kind == workflow.KindEach {
		j.Items, j.ItemsDone, j.ItemsFailed = &s.Count, &s.Done, &s.Failed
	}
	return j
}

// money returns an amount in US dollars as people read it; "" for none.
func money(usd float64) string {
	if usd == 0 {
		return ""
	}
	return term.Dollars(int64(math.Round(usd * 1e6)))
}

// outcomeOf returns an error of the kind of a run's outcome, or nil if the run is done.
func outcomeOf(r service.Run) error {
	switch r.State {
	case fika.Done:
		return nil
	case fika.Cancelled:
		return fika.Errorf(fika.Interrupted, "", "run %s was cancelled: %s", r.ID, r.Reason)
	}
	kind := r.Outcome.ErrorKind
	if kind == "" {
		kind = fika.Failed
	}
	return fika.Errorf(kind, "", "run %s failed: %s (%s continues where it stopped)", r.ID, r.Outcome.Error, hint.WorkflowResume.With(r.ID))
}
