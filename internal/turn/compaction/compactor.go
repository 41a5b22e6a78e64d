package compaction

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// Store reads a conversation.
type Store interface {
	Entries(context.Context, store.EntryQuery) ([]fika.Entry, error)
	WindowSpans(ctx context.Context, c fika.ConversationID, view fika.AgentID) ([]store.Span, *fika.Entry, error)
}

// Source provides the texts of the context.
type Source interface {
	Instructions() (string, error) // how to summarise
	Summary() (string, error)
	Goals() (string, error)
	Todos() (string, error)
}

// Config is everything that a [Compactor] depends on.
type Config struct {
	Store   Store
	Model   llm.Model
	ModelID string // as usage reports name it
	Window  int64  // of the model, in tokens
	Source  Source
	Hooks   hook.Runner
	Context string  // the name that hooks are given
	Drop    float64 // percent of the entries that a rolling compaction archives
	// Extra is what a person asks of the summary, besides the instructions; may be empty.
	Extra string
	// Save is called after the commit. It puts the new summary where prompts read it, if
	// the old one is still was. nil: the entry alone holds it, and Source.Summary is not
	// read.
	Save func(ctx context.Context, was, summary string) error
	// Warn is called with what a person should know; may be nil.
	Warn func(string)
}

// Compactor decides compactions of one context. It implements [turn.Compactor] and is
// safe for concurrent use.
type Compactor struct{ cfg Config }

// New returns a Compactor.
func New(cfg Config) *Compactor {
	if cfg.Window <= 0 {
		cfg.Window = 128_000
	}
	if cfg.Hooks == nil {
		cfg.Hooks = hook.None{}
	}
	if cfg.Warn == nil {
		cfg.Warn = func(string) {}
	}
	return &Compactor{cfg: cfg}
}

// Compact makes room before a model call of a turn, by a rolling compaction of what came
// before its request and of its own earlier rounds. It returns nil without an error if
// nothing may be archived. With an error, what it returns has nothing but the usage of the
// calls that were made.
func (c *Compactor) Compact(ctx context.Context, f turn.Full) (*turn.Compacting, error) {
	r, v := f.Claimed.Request, view{f.Claimed.Conversation, f.Claimed.Agent}
	entries, cut, err := readWindow(ctx, c.cfg.Store, v)
	if err != nil {
		return nil, err
	}
	var earlier, own, unread []fika.Entry
	for _, e := range entries {
		switch {
		case e.Request == r.ID && r.ID != "":
			own = append(own, e)
		case e.Seq > r.UptoSeq:
			unread = append(unread, e)
		default:
			earlier = append(earlier, e)
		}
	}
	units := c.divideEarlier(v, earlier, f.Claimed.Covers, r.Payload.Continue)
	units = append(units, DivideRounds(own)...)
	for _, u := range DivideUnits(unread, 0, false) { // said meanwhile, for a later turn
		u.Keep, u.Tokens = true, 0
		units = append(units, u)
	}
	h := historyOf(v, cut, units)
	plan := PlanRolling(units, 0, f.Room-c.summaryTokens(), nil)
	return c.decideRolling(ctx, h, plan, f.Ask)
}

// divideEarlier divides what came before a turn. In a chat the turn has to answer messages
// of agents, too.
func (c *Compactor) divideEarlier(v view, earlier []fika.Entry, waiting int, last bool) []Unit {
	if v.conv.Kind != fika.Chat {
		return DivideUnits(earlier, waiting, last)
	}
	units := DivideUnits(earlier, 0, last)
	for i := len(units) - 1; i >= 0 && waiting > 0; i-- {
		if units[i].Entries[0].Meta.WriterName != string(v.agent.Name) {
			units[i].Keep = true
			waiting--
		}
	}
	return units
}

// History reads what is in the window that an agent has of a conversation in which it has
// no turn under way. The newest waiting messages have not been read by anybody yet.
func (c *Compactor) History(ctx context.Context, conv fika.Conversation, agent fika.Agent, waiting int) (History, error) {
	v := view{conv, agent}
	entries, cut, err := readWindow(ctx, c.cfg.Store, v)
	return historyOf(v, cut, c.divideEarlier(v, entries, waiting, false)), err
}

// DecideRolling decides a rolling compaction that leaves at most room tokens, as far as
// it may; the model names what may go. It returns nil without an error if there is nothing
// to archive.
func (c *Compactor) DecideRolling(ctx context.Context, h History, room int64) (*turn.Compacting, error) {
	plan := PlanRolling(h.Units, c.cfg.Drop, room, nil)
	if len(plan.Archive) == 0 {
		return nil, nil
	}
	n, err := c.promptNotes(h)
	if err != nil {
		return nil, err
	}
	chosen, usage, err := c.chooseUnits(ctx, h.Units, n, room)
	if err != nil {
		return spentOn(usage, c.cfg.ModelID), err
	}
	done, err := c.decideRolling(ctx, h, PlanRolling(h.Units, c.cfg.Drop, room, chosen), nil)
	if done != nil {
		done.Usage = done.Usage.Add(usage)
	}
	return done, err
}

func (c *Compactor) decideRolling(ctx context.Context, h History, plan Plan, ask Ask) (*turn.Compacting, error) {
	if len(plan.Archive) == 0 {
		return nil, nil
	}
	n, err := c.promptNotes(h)
	if err != nil {
		return nil, err
	}
	messages := countMessages(h.Units)
	_, err = c.cfg.Hooks.Fire(ctx, hook.PreRollingCompact, hook.Payload{
		"context_name": c.cfg.Context, "message_count": messages, "non_system_count": messages, "summary": n.summary,
	})
	if err != nil {
		return nil, err
	}
	return c.decideCommit(ctx, plan, h, n, ask, "rolling", func(ctx context.Context, summary string) error {
		_, err := c.cfg.Hooks.Fire(ctx, hook.PostRollingCompact, hook.Payload{
			"context_name": c.cfg.Context, "message_count": plan.messageCount(), "summary": summary, "messages_archived": plan.CountArchived(),
		})
		return err
	})
}

// chooseUnits asks the model which units may go, if there is a choice. If the model
// fails or answers nonsense, the oldest go.
func (c *Compactor) chooseUnits(ctx context.Context, units []Unit, n notes, room int64) (map[int]bool, fika.Usage, error) {
	oldest := PlanRolling(units, c.cfg.Drop, room, nil)
	target := TargetCount(units, c.cfg.Drop)
	if oldest.CountArchived() > 2*target || len(units) < 3 {
		return nil, fika.Usage{}, nil // so much has to go that there is no choice
	}
	chosen, usage, err := c.askChoice(ctx, units, n, target)
	switch {
	case ctx.Err() != nil:
		return nil, usage, fika.Wrap(fika.Interrupted, "compact", ctx.Err())
	case err != nil:
		c.cfg.Warn("the model did not choose what to archive, so the oldest goes: " + err.Error())
	}
	return chosen, usage, nil
}

// DecideFull decides a full compaction. It returns nil without an error if there is
// nothing to archive.
func (c *Compactor) DecideFull(ctx context.Context, h History) (*turn.Compacting, error) {
	plan := PlanFull(h.Units)
	if len(plan.Archive) == 0 {
		return nil, nil
	}
	n, err := c.promptNotes(h)
	if err != nil {
		return nil, err
	}
	_, err = c.cfg.Hooks.Fire(ctx, hook.PreCompact, hook.Payload{
		"context_name": c.cfg.Context, "message_count": countMessages(h.Units), "summary": n.summary,
	})
	if err != nil {
		return nil, err
	}
	return c.decideCommit(ctx, plan, h, n, nil, "full", func(ctx context.Context, summary string) error {
		_, err := c.cfg.Hooks.Fire(ctx, hook.PostCompact, hook.Payload{
			"context_name": c.cfg.Context, "message_count": plan.messageCount(), "summary": summary,
		})
		return err
	})
}

// Ask asks the model of a turn with all that it would be sent next, and an instruction at
// the end.
type Ask = func(ctx context.Context, instruction string) (llm.Response, error)

// decideCommit summarises the archived units and returns what to commit. A summary that
// takes more than what it replaces is an error.
func (c *Compactor) decideCommit(ctx context.Context, p Plan, h History, n notes, ask Ask, how string, post func(context.Context, string) error) (*turn.Compacting, error) {
	summary, usage, err := c.summarise(ctx, p, n, ask)
	if err != nil {
		return spentOn(usage, c.cfg.ModelID), err
	}
	if was, now := p.Before-p.After+turn.EstimateTokens(n.summary), turn.EstimateTokens(summary); now >= max(was, leastWorth) {
		return spentOn(usage, c.cfg.ModelID), fika.Errorf(fika.Provider, "", "the summary (%d tokens) is longer than what it replaces (%d); nothing was changed", now, was)
	}
	upTo, kept := p.entryMarks(h.UpTo)
	return &turn.Compacting{
		Content: fmt.Sprintf("%s compaction: %d entries archived, %d kept", how, p.CountArchived(), p.CountKept()),
		Meta: fika.EntryMeta{UpTo: upTo, Kept: kept, Summary: summary, Was: n.summary, View: h.View, Usage: &usage,
			Writer: fika.ByAgent, WriterName: c.cfg.Context, Taint: fika.Taint{From: h.taintOf(p.Archive)}},
		Usage: usage, Model: c.cfg.ModelID,
		Done: func(ctx context.Context) error {
			if c.cfg.Save != nil {
				if err := c.cfg.Save(ctx, n.summary, summary); err != nil {
					return err
				}
			}
			return post(ctx, summary)
		},
	}, nil
}

// leastWorth is the size of a summary, in tokens, that is taken even for less text: by hand
// a person may compact a few words.
const leastWorth = 300

// spentOn returns what a compaction that came to nothing has cost; nil: nothing.
func spentOn(u fika.Usage, model string) *turn.Compacting {
	if u == (fika.Usage{}) {
		return nil
	}
	return &turn.Compacting{Usage: u, Model: model}
}

// promptNotes reads what says what the work is about. The summary of a conversation that
// has no file for it is the one of its last compaction.
func (c *Compactor) promptNotes(h History) (n notes, err error) {
	n.summary = h.Summary
	reads := []struct {
		into *string
		read func() (string, error)
	}{{&n.goals, c.cfg.Source.Goals}, {&n.todos, c.cfg.Source.Todos}, {&n.summary, c.cfg.Source.Summary}}
	if c.cfg.Save == nil {
		reads = reads[:2]
	}
	for _, r := range reads {
		if *r.into, err = r.read(); err != nil {
			return n, err
		}
		*r.into = strings.TrimSpace(*r.into)
	}
	return n, nil
}

// countMessages returns the number that hooks get as message_count.
func countMessages(units []Unit) int {
	n := 0
	for _, u := range units {
		for _, e := range u.Entries {
			if e.Type == fika.Message {
				n++
			}
		}
	}
	return n
}

func (p Plan) messageCount() int { return countMessages(p.Keep) }
