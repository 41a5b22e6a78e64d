package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/extension/editor"
	"fika/internal/rights/guard"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/turn/approval"
	"fika/internal/workflow"
)

// Approvals is the interface to tool calls that wait for a person's approval.
type Approvals struct{ c *Service }

// The values of the store that describe approvals.
type (
	// OpenApproval is a question with the agent that asks it.
	OpenApproval = store.OpenApproval
	// ApprovalAnswer is a person's answer.
	ApprovalAnswer = store.ApprovalAnswer
	// StepQuestion is what a step of a run asks.
	StepQuestion = workflow.Question
)

// StepQuestionOf returns what a step of a run asks; ok is false if a tool call is asked
// about.
func StepQuestionOf(a OpenApproval) (q StepQuestion, ok bool) {
	return q, a.FlowStep != "" && json.Unmarshal([]byte(a.Args), &q) == nil
}

// The states of a question.
const (
	ApprovalOpen    = store.ApprovalOpen
	ApprovalGiven   = store.ApprovalGiven
	ApprovalExpired = store.ApprovalExpired
)

// Approvals returns the interface to the approvals of this home.
func (c *Service) Approvals() *Approvals { return &Approvals{c} }

// Open returns the questions that wait for an answer, oldest first.
func (a *Approvals) Open(ctx context.Context) ([]OpenApproval, error) {
	return a.c.sight().approvals(ctx)
}

// Find returns one question, answered or not, or NotFound.
func (a *Approvals) Find(ctx context.Context, n int64) (OpenApproval, error) {
	open, err := a.c.store.Approval(ctx, n)
	if err != nil {
		return open, err
	}
	v := a.c.sight()
	if err := v.check("approval.show", relation(v.approval(open)), fmt.Sprintf("approval %d", n)); err != nil {
		return OpenApproval{}, err
	}
	return open, nil
}

// Answer stores the answer and wakes the agent that waits for it. It returns Conflict
// if the question has been answered already or nobody waits for the answer any more.
func (a *Approvals) Answer(ctx context.Context, n int64, answer ApprovalAnswer) error {
	if err := a.c.may("approval.answer"); err != nil {
		return err
	}
	open, err := a.Find(ctx, n)
	if err != nil {
		return err
	}
	err = a.c.onceOnly(ctx, "approval.answer", []any{n, answer}, func(to *store.Store) error {
		_, err := to.AnswerApproval(ctx, n, answer)
		return err
	})
	if err != nil {
		return err
	}
	if open.FlowStep != "" {
		run, err := a.c.store.Run(ctx, open.Request)
		if err == nil {
			_, err = a.c.Runs().advanced(ctx, run.ID)
		}
		return err
	}
	a.c.wakeHub(ctx, open.Agent)
	return nil
}

// RuleFor returns the rule that allows calls like that of a question from now on. It
// fails with Conflict if the rules no longer ask about the call, and with Invalid if a
// step of a run asks, or if no rule would win over the one that asks.
func (a *Approvals) RuleFor(q OpenApproval) (guard.Rule, error) {
	if q.FlowStep != "" {
		return guard.Rule{}, fika.Errorf(fika.Invalid, "", "%d is asked by a step of a run, about which there are no rules: approve it without --always", q.N)
	}
	if strings.HasPrefix(q.Tool, editor.Prefix) {
		return guard.Rule{}, fika.Errorf(fika.Invalid, "", "%s belongs to a program that an editor has for one session, and the next one of that name may be another: approve it without --always", q.Tool)
	}
	s, err := a.c.app.Settings(q.Agent, nil, true)
	if err != nil {
		return guard.Rule{}, err
	}
	call := a.callOf(q)
	if slices.ContainsFunc(guard.ParseBound(q.Bound), func(b guard.BoundTo) bool { return b.Name == approval.BoundHosts }) {
		r, ok := approval.ReachingRule(s.Guard.Rules, s.Sandbox.Hosts, call)
		if !ok {
			return guard.Rule{}, fika.Errorf(fika.Invalid, "", "no one rule allows the hosts that this call needs: approve it without --always, or name them in hosts of [sandbox]")
		}
		return r, nil
	}
	d := guard.Decide(call, s.Guard.Rules, guard.Facts{Default: guard.Ask, Writes: guard.Ask}) // it was asked: where no rule does, the mode or the settings do
	if d.Do != guard.Ask {
		return guard.Rule{}, fika.Errorf(fika.Conflict, "", "the rules do not ask about this call any more; approve it without --always")
	}
	r, ok := d.AllowingRule(call)
	if !ok && (d.Rule == nil || d.Unknown) {
		return guard.Rule{}, fika.Errorf(fika.Invalid, "", "no rule can allow this call, because nobody can know what it runs: approve it without --always")
	}
	if !ok {
		return guard.Rule{}, fika.Errorf(fika.Invalid, "", "no rule would win over the one at %s: change that, and approve this call without --always", d.Rule.Where)
	}
	return r, nil
}

func (a *Approvals) callOf(q OpenApproval) guard.Call {
	call := guard.Call{Tool: q.Tool, Workspace: q.Workspace, Home: a.c.app.Getenv("HOME")}
	call.Read([]byte(q.Args))
	return call
}

// Spares reports whether nobody would be asked about the call of a question again once a
// rule is there: a command may have other parts that ask.
func (a *Approvals) Spares(ctx context.Context, q OpenApproval, r guard.Rule) (bool, error) {
	s, err := a.c.app.Settings(q.Agent, nil, true)
	if err != nil {
		return false, err
	}
	conv, err := a.c.Chats.FindAnyKind(ctx, string(q.Conversation))
	if err != nil {
		return false, err
	}
	call, facts := a.callOf(q), guard.Facts{Default: guard.Ask, Writes: guard.Ask}
	if own := guard.Action(s.Guard.Default); conv.Mode == "" || conv.Mode == fika.AutoMode { // else the mode asks where no rule does
		if f := (guard.Facts{Default: own, Writes: own}); guard.Decide(call, s.Guard.Rules, f).Do == guard.Ask {
			facts = f
		}
	}
	return guard.Decide(call, append(slices.Clone(s.Guard.Rules), r), facts).Do == guard.Allow, nil
}

// AddRule writes the rule that a person makes of their answer to a question, for calls
// like it, into the home's config.toml.
func (a *Approvals) AddRule(ctx context.Context, n int64, rule guard.Rule) error {
	if err := a.c.may("approval.answer-always"); err != nil {
		return err
	}
	has := func() (any, error) {
		conf, err := a.c.app.Config()
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(conf.Rules, func(r guard.Rule) bool { return r.TOML() == rule.TOML() }), nil
	}
	return a.c.intent(ctx, "approval.answer-always", []any{n, rule.TOML()}, wish{want: true, state: has, do: func() error {
		if there, err := has(); there == true || err != nil {
			return err
		}
		return config.AddRule(a.c.home.ConfigFile(), rule)
	}})
}
