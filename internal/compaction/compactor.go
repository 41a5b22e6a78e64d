package compaction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// Store reads a conversation.
type Store interface {
	Entries(context.Context, store.EntryQuery) ([]fika.Entry, error)
	LastCompaction(ctx context.Context, c fika.ConversationID, upto int64) (*fika.Entry, error)
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
	// Save is called after the commit. It puts the new summary where prompts read it, if
	// the old one is still was.
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
// before its request. room is how many tokens history may cost. It returns nil without
// an error if nothing may be archived.
func (c *Compactor) Compact(ctx context.Context, claimed store.Claimed, room int64) (*turn.Compacting, error) {
	r := claimed.Request
	entries, floor, taint, err := readWindow(ctx, c.cfg.Store, claimed.Conversation.ID, r.UptoSeq)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fika.Entry) bool { return e.Request == r.ID })
	h := History{Units: DivideUnits(entries, claimed.Covers, r.Payload.Continue), UpTo: floor, Taint: taint}
	// The room gained should last for a while, and the summary takes some of it.
	return c.DecideRolling(ctx, h, room*4/5-c.cfg.Window/summaryOf)
}

// History reads what is in the window of a conversation that no turn is working in. The
// newest waiting messages have not been read by anybody yet.
func (c *Compactor) History(ctx context.Context, conv fika.Conversation, waiting int) (History, error) {
	entries, floor, taint, err := readWindow(ctx, c.cfg.Store, conv.ID, conv.LastSeq)
	return History{Units: DivideUnits(entries, waiting, false), UpTo: floor, Taint: taint}, err
}

// DecideRolling decides a rolling compaction that leaves at most room tokens, as far as
// it may. It returns nil without an error if there is nothing to archive.
func (c *Compactor) DecideRolling(ctx context.Context, h History, room int64) (*turn.Compacting, error) {
	units := h.Units
	if plan := PlanRolling(units, c.cfg.Drop, room, nil); len(plan.Archive) == 0 {
		return nil, nil
	}
	n, err := c.promptNotes()
	if err != nil {
		return nil, err
	}
	messages := countMessages(units)
	_, err = c.cfg.Hooks.Fire(ctx, hook.PreRollingCompact, hook.Payload{
		"context_name": c.cfg.Context, "message_count": messages, "non_system_count": messages, "summary": n.summary,
	})
	if err != nil {
		return nil, err
	}
	chosen, usage, err := c.chooseUnits(ctx, units, n, room)
	if err != nil {
		return nil, err
	}
	plan := PlanRolling(units, c.cfg.Drop, room, chosen)
	return c.decideCommit(ctx, plan, h, n, usage, "rolling", func(ctx context.Context, summary string) error {
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
	n, err := c.promptNotes()
	if err != nil {
		return nil, err
	}
	_, err = c.cfg.Hooks.Fire(ctx, hook.PreCompact, hook.Payload{
		"context_name": c.cfg.Context, "message_count": countMessages(h.Units), "summary": n.summary,
	})
	if err != nil {
		return nil, err
	}
	return c.decideCommit(ctx, plan, h, n, fika.Usage{}, "full", func(ctx context.Context, summary string) error {
		_, err := c.cfg.Hooks.Fire(ctx, hook.PostCompact, hook.Payload{
			"context_name": c.cfg.Context, "message_count": plan.messageCount(), "summary": summary,
		})
		return err
	})
}

// decideCommit summarises the archived units and returns what to commit.
func (c *Compactor) decideCommit(ctx context.Context, p Plan, h History, n notes, usage fika.Usage, how string, post func(context.Context, string) error) (*turn.Compacting, error) {
	was := n.summary
	summary, used, err := c.summariseUnits(ctx, p.Archive, n)
	if err != nil {
		return nil, err
	}
	usage = usage.Add(used)
	upTo, kept := p.entryMarks(h.UpTo)
	return &turn.Compacting{
		Content: fmt.Sprintf("%s compaction: %d entries archived, %d kept", how, p.CountArchived(), p.CountKept()),
		Meta:    fika.EntryMeta{UpTo: upTo, Kept: kept, Summary: summary, Was: was, Usage: &usage, Taint: fika.Taint{From: h.taintOf(p.Archive)}},
		Usage:   usage, Model: c.cfg.ModelID,
		Done: func(ctx context.Context) error {
			if err := c.cfg.Save(ctx, was, summary); err != nil {
				return err
			}
			return post(ctx, summary)
		},
	}, nil
}

func (c *Compactor) promptNotes() (n notes, err error) {
	for _, r := range []struct {
		into *string
		read func() (string, error)
	}{{&n.summary, c.cfg.Source.Summary}, {&n.goals, c.cfg.Source.Goals}, {&n.todos, c.cfg.Source.Todos}} {
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
