package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// Runs keeps runs and stores the plans for them.
type Runs interface {
	View(ctx context.Context, run fika.RequestID) (store.RunView, error)
	Definition(ctx context.Context, run fika.RequestID) (definition, inputs []byte, edition int64, err error)
	Apply(ctx context.Context, v store.RunView, p workflow.Plan, answer store.Answer) (store.Applied, error)
	LimitRun(ctx context.Context, v store.RunView, limit, reason string) error
	// AgentNames returns the names of all agents, sorted.
	AgentNames(ctx context.Context) ([]fika.AgentName, error)
	// Due returns the runs that somebody has to advance; with an id, that one only,
	// if it is due.
	Due(ctx context.Context, run fika.RequestID, limit int) ([]fika.RequestID, error)
}

// Outputs keeps the outputs of steps.
type Outputs interface {
	Output(ctx context.Context, row string) (workflow.Output, error)
	Items(ctx context.Context, row string, most int) ([]workflow.Output, error)
	// Named returns an output of some step of a run by its hash. It fails with
	// NotFound.
	Named(ctx context.Context, run fika.RequestID, hash string) (workflow.Output, error)
	// Workers returns the agents that work steps for which another agent was asked,
	// by row: members of a pool or backups.
	Workers(ctx context.Context, run fika.RequestID) (map[string]fika.AgentName, error)
}

// Discussions keeps the chats that are steps.
type Discussions interface {
	Discussions(ctx context.Context, run fika.RequestID) ([]store.Discussion, error)
	EndDiscussion(ctx context.Context, d store.Discussion, text string) ([]fika.AgentName, error)
	Entries(ctx context.Context, q store.EntryQuery) ([]fika.Entry, error)
}

// Options holds everything that an [Advancer] depends on.
type Options struct {
	Runs    Runs
	Outputs Outputs
	Chats   Discussions
	// Capable returns the agent with a capability that a prompt is meant for; "" if
	// no agent has it.
	Capable func(ctx context.Context, capability, prompt string) string
	// MayAsk returns why an agent that began a run may not ask another one; "" if it may. It
	// is not asked about the runs of people, who may start any workflow.
	MayAsk func(ctx context.Context, from, to fika.AgentName) string
	// Keep writes a text where an agent may read it, and returns the path.
	Keep func(agent fika.AgentName, name, text string) (string, error)
	// Wake tells agents that there is something for them to look at.
	Wake func(...fika.AgentName)
	// Said is called with each message that a run puts into a chat.
	Said func(store.Posted, fika.Conversation)
	// Tell is called with what has changed in a run; it may be nil.
	Tell func(store.Run, workflow.Plan)
	Log  *slog.Logger
}

// Advancer advances runs. It is safe for concurrent use.
type Advancer struct {
	opts Options

	mu    sync.Mutex
	known map[fika.RequestID]*frozen // definitions and inputs of the runs advanced last
}

// maxKnown bounds how many runs are remembered: reading one again costs little.
const maxKnown = 8

// frozen is what a run was given, decoded for use.
type frozen struct {
	sync.Mutex
	edition    int64
	definition *workflow.Definition
	inputs     map[string]any
	lists      map[string][]any
}

// New returns an Advancer. If o.Log is nil, nothing is logged.
func New(o Options) *Advancer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tell == nil {
		o.Tell = func(store.Run, workflow.Plan) {}
	}
	return &Advancer{opts: o, known: map[fika.RequestID]*frozen{}}
}

const (
	// dueBatch is how many runs one look advances; the next look advances the rest.
	dueBatch = 100
	// maxStale bounds how often a plan is worked out again because others were
	// quicker; after that many times, they have advanced the run.
	maxStale = 100
)

// AdvanceDue advances every run that is due, including those in which somebody ended
// something and died before advancing the run.
func (a *Advancer) AdvanceDue(ctx context.Context) {
	if err := a.endDiscussions(ctx, ""); err != nil {
		a.opts.Log.Warn("discussions", "err", err)
	}
	ids, err := a.opts.Runs.Due(ctx, "", dueBatch)
	if err != nil {
		a.opts.Log.Warn("look for runs", "err", err)
	}
	for _, id := range ids {
		if err := a.advance(ctx, id); err != nil {
			a.opts.Log.Warn("advance run", "run", id, "err", err)
		}
	}
}

// Advance advances a run until there is nothing more to do in it now. An error loses
// nothing: the run stays due.
func (a *Advancer) Advance(ctx context.Context, run fika.RequestID) error {
	return errors.Join(a.endDiscussions(ctx, run), a.advance(ctx, run))
}

func (a *Advancer) advance(ctx context.Context, run fika.RequestID) error {
	for stale := 0; stale < maxStale; {
		// Every process that ends a step advances the run, and all but the first find
		// nothing to do. Reading the whole run costs more than this question.
		due, err := a.opts.Runs.Due(ctx, run, 1)
		if err != nil || len(due) == 0 {
			return err
		}
		v, err := a.opts.Runs.View(ctx, run)
		if err != nil || v.Over() {
			return err
		}
		again, err := a.step(ctx, v)
		switch {
		case err != nil:
			return err
		case again == looksAgain:
			stale++
		case again == atRest:
			return nil
		}
	}
	return nil
}

// progress says what became of one plan.
type progress int

const (
	atRest     progress = iota // there was nothing to do
	moved                      // something was stored
	looksAgain                 // others were quicker
)

// step works out one plan and stores it.
func (a *Advancer) step(ctx context.Context, v store.RunView) (progress, error) {
	k, err := a.frozenOf(ctx, v)
	if err != nil {
		return atRest, err
	}
	k.Lock()
	defer k.Unlock()
	if limit, value := k.definition.Limits.Reached(v.Spent); v.Stop == "" && limit != "" {
		return moved, a.opts.Runs.LimitRun(ctx, v, limit, "the run came to its limit "+limit+" ("+value+")")
	}
	p, err := workflow.NextPlan(workflow.View{
		Run: string(v.ID), Definition: k.definition, Inputs: k.inputs, Rows: v.Rows, Outputs: outputs{ctx, a.opts.Outputs}, Lists: k.lists, Agents: func() ([]string, error) { return a.agentNames(ctx) },
		Now: v.Now, Paused: !v.Paused.IsZero() && v.Stop == "", Stop: v.Stop, Max: maxRows,
	})
	if err != nil {
		return atRest, err
	}
	if len(p.Rows) == 0 && p.Result == nil && !p.More && !v.Due && p.WakeAt.Equal(v.WakeAt) {
		return atRest, nil
	}
	given := planned{a.opts.Outputs, p}
	if err := a.prepare(ctx, v.ID, given, p.Calls); err != nil {
		return atRest, err
	}
	if v.Writer == fika.ByAgent {
		a.refuse(ctx, fika.AgentName(v.From), p.Calls)
	}
	var answer store.Answer
	if p.Result != nil {
		if answer, err = answers(ctx, given, v.Run, *p.Result); err != nil {
			return atRest, err
		}
	}
	done, err := a.opts.Runs.Apply(ctx, v, p, answer)
	if err != nil {
		return atRest, err
	}
	switch {
	case done.Stale:
		return looksAgain, nil
	case done.Overtaken:
		return atRest, nil
	}
	for _, said := range done.Said {
		a.opts.Said(said.Posted, said.Conversation)
	}
	if len(done.Wake) > 0 {
		a.opts.Wake(done.Wake...)
	}
	a.opts.Tell(done.Run, p)
	return moved, nil
}

// agentNames returns the names of the agents that a step may ask.
func (a *Advancer) agentNames(ctx context.Context) ([]string, error) {
	all, err := a.opts.Runs.AgentNames(ctx)
	var names []string
	for _, n := range all {
		if !fika.IsReserved(string(n)) {
			names = append(names, string(n))
		}
	}
	return names, err
}

// maxRows is how many rows one plan touches, so that storing it keeps nobody else
// waiting for long.
const maxRows = 100

// frozenOf returns what a run was given, reading it only once.
func (a *Advancer) frozenOf(ctx context.Context, v store.RunView) (*frozen, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k := a.known[v.ID]; k != nil && k.edition == v.Edition {
		return k, nil
	}
	definition, inputs, edition, err := a.opts.Runs.Definition(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	k := &frozen{edition: edition, lists: map[string][]any{}}
	if k.definition, err = workflow.Thaw(definition); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(inputs))
	dec.UseNumber()
	if err := dec.Decode(&k.inputs); err != nil {
		return nil, fika.Wrap(fika.Storage, "read run", err)
	}
	if len(a.known) >= maxKnown {
		clear(a.known)
	}
	a.known[v.ID] = k
	return k, nil
}
