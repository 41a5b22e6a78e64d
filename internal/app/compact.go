package app

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/compaction"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// compactor is nil unless the settings want automatic compaction. summary.md
// belongs to the active conversation, so no other one is compacted.
func (w *workshop) compactor(c store.Claimed, s config.Settings, m llm.Model) turn.Compactor {
	if !s.AutoCompact || c.Conversation.ID != c.Agent.ActiveAsk {
		return nil
	}
	return w.own.newCompactor(s, m, w.hooks, w.inbox.warn)
}

func (own *Owned) newCompactor(s config.Settings, m llm.Model, hooks hook.Runner, warn func(string)) *compaction.Compactor {
	return compaction.New(compaction.Config{
		Store: own.Store, Model: m, ModelID: s.Model.ID, Window: s.ContextWindow, Source: archivist{texts{folder: own.Folder}},
		Hooks: hooks, Context: string(own.Folder.Name), Drop: s.RollingCompactDrop, Warn: warn,
		Save: func(_ context.Context, was, now string) error { return own.saveSummary(was, now, warn) },
	})
}

// archivist gives a compaction its texts.
type archivist struct{ texts }

// Instructions implements [compaction.Source].
func (a archivist) Instructions() (string, error) {
	return a.folder.Home.Prompt(folder.CompactionPrompt)
}

func (own *Owned) summary(context.Context) (string, error) {
	return texts{folder: own.Folder}.Summary()
}

// saveSummary writes a new summary over the one it was made from. What a
// person wrote meanwhile stays, and the new one is put behind it.
func (own *Owned) saveSummary(was, now string, warn func(string)) error {
	for {
		text, err := own.Folder.Read(folder.Summary)
		if err != nil {
			return err
		}
		body := strings.TrimSpace(text.Body)
		switch body {
		case now:
			return nil
		case was:
			body = now
		default:
			warn(own.Folder.TextPath(folder.Summary) + " was changed meanwhile: the new summary is put behind what it says")
			body += "\n\n" + now
		}
		if body != "" {
			body += "\n"
		}
		if _, err = own.Folder.WriteIf(folder.Summary, text.Hash, body); !fika.IsKind(err, fika.Conflict) {
			return err
		}
	}
}

// mendSummary finishes what a crash between the commit of a compaction and the
// writing of summary.md left undone. A summary that is not what the compaction
// was made from, or was written after it, was edited and stays.
func (own *Owned) mendSummary(ctx context.Context) error {
	if own.Agent.ActiveAsk == "" {
		return nil
	}
	last, err := own.Store.Entries(ctx, store.EntryQuery{Conversation: own.Agent.ActiveAsk, Types: []fika.EntryType{fika.Compaction}, Last: 1})
	if err != nil || len(last) == 0 {
		return err
	}
	m := last[0].Meta
	if m.Was == m.Summary {
		return nil
	}
	info, err := os.Stat(own.Folder.TextPath(folder.Summary))
	if err == nil && info.ModTime().After(last[0].At) {
		return nil
	}
	text, err := own.Folder.Read(folder.Summary)
	if err != nil || strings.TrimSpace(text.Body) != m.Was {
		return err
	}
	return own.saveSummary(m.Was, m.Summary, func(string) {})
}

// CompactOptions is a compaction by hand.
type CompactOptions struct {
	Context fika.AgentName
	Rolling bool
	DryRun  bool // decide and change nothing; no model is asked
	Wait    time.Duration
	Flags   map[string]string
	Person
}

// Compacted tells what a compaction did, or would do. Sizes are in tokens.
type Compacted struct {
	Context  fika.AgentName
	Archived []fika.Entry
	Kept     int
	Before   int64
	// Counted: Before is what the provider counted, else it is estimated.
	Counted bool
	After   int64 // estimated; of a dry run without the new summary
	Summary string
	Usage   fika.Usage
}

// Compact makes the window of a context shorter. Error kinds: Locked while
// somebody has the context, Conflict when there is nothing to compact,
// Provider, Denied when a hook forbids it.
func (a *App) Compact(ctx context.Context, o CompactOptions) (done Compacted, err error) {
	if o.DryRun {
		return a.planCompaction(ctx, o)
	}
	own, err := a.Own(ctx, OwnOptions{Name: o.Context, Kind: folder.LockCommand, Wait: o.Wait, Flags: o.Flags, Must: true})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	for _, n := range own.Notes() {
		o.Warn(n)
	}
	if err := own.recoverForeground(ctx, o.Warn); err != nil {
		return done, err
	}
	shop, err := own.workshop(ctx, workshopOptions{
		dir: a.Dir(), stdin: o.Stdin, stderr: o.Stderr, warn: o.Warn, verbose: o.Verbose, bell: Ringer{Bus: bus.Nobody{}},
	})
	if err != nil {
		return done, err
	}
	model, err := a.Model(own.Settings)
	if err != nil {
		return done, err
	}
	return own.compact(ctx, own.newCompactor(own.Settings, model, shop.hooks, o.Warn), o)
}

func (own *Owned) compact(ctx context.Context, c *compaction.Compactor, o CompactOptions) (Compacted, error) {
	conv, err := own.Store.ActiveAsk(ctx, own.Agent.ID)
	if err != nil {
		return Compacted{}, err
	}
	h, err := history(ctx, own.Store, c, conv)
	if err != nil {
		return Compacted{}, err
	}
	decide := c.Whole
	if o.Rolling {
		decide = func(ctx context.Context, h compaction.History) (*turn.Compacting, error) {
			return c.Roll(ctx, h, own.Settings.ContextWindow/2)
		}
	}
	decided, err := decide(ctx, h)
	if err != nil {
		return Compacted{}, err
	}
	if decided == nil {
		return Compacted{}, nothingToCompact(own.Folder.Name)
	}
	entry, err := own.Store.AppendCompaction(ctx, conv.ID, string(own.Agent.Name), decided.Content, decided.Meta)
	if err != nil {
		return Compacted{}, err
	}
	if err := decided.Done(ctx); err != nil {
		o.Warn(err.Error())
	}
	done := report(own.Folder.Name, h, archivedBy(h, decided.Meta))
	done.Summary, done.Usage = decided.Meta.Summary, decided.Usage
	done.After += turn.Estimate(done.Summary)
	return done, own.Mirror.Append(ctx, entry)
}

func nothingToCompact(name fika.AgentName) error {
	return fika.Errorf(fika.Conflict, "", "there is nothing to compact in context %q", name)
}

// history reads what may be compacted; unread messages are not.
func history(ctx context.Context, s *store.Store, c *compaction.Compactor, conv fika.Conversation) (compaction.History, error) {
	conv, err := s.ConversationByID(ctx, conv.ID)
	if err != nil {
		return compaction.History{}, err
	}
	infos, err := s.ListConversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: conv.Agent})
	if err != nil {
		return compaction.History{}, err
	}
	waiting := 0
	for _, i := range infos {
		if i.ID == conv.ID {
			waiting = i.Pending
		}
	}
	return c.History(ctx, conv, waiting)
}

// planCompaction looks without owning anything: locks forbid writes only.
func (a *App) planCompaction(ctx context.Context, o CompactOptions) (Compacted, error) {
	settings, err := a.Settings(o.Context, o.Flags, false)
	if err != nil {
		return Compacted{}, err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return Compacted{}, err
	}
	agent, err := s.Agent(ctx, o.Context)
	if err != nil || agent.ActiveAsk == "" {
		if err == nil {
			err = nothingToCompact(o.Context)
		}
		return Compacted{}, err
	}
	conv, err := s.ConversationByID(ctx, agent.ActiveAsk)
	if err != nil {
		return Compacted{}, err
	}
	h, err := history(ctx, s, compaction.New(compaction.Config{Store: s}), conv)
	if err != nil {
		return Compacted{}, err
	}
	plan := compaction.Full(h.Units)
	if o.Rolling {
		plan = compaction.Rolling(h.Units, settings.RollingCompactDrop, settings.ContextWindow/2, nil)
	}
	if len(plan.Archive) == 0 {
		return Compacted{}, nothingToCompact(o.Context)
	}
	return report(o.Context, h, plan), nil
}

// archivedBy is the plan that a decision stands for.
func archivedBy(h compaction.History, m fika.EntryMeta) compaction.Plan {
	kept := map[int64]bool{}
	for _, seq := range m.Kept {
		kept[seq] = true
	}
	var p compaction.Plan
	for _, u := range h.Units {
		p.Before += u.Tokens
		if first := u.Entries[0].Seq; first > m.UpTo || kept[first] {
			p.Keep = append(p.Keep, u)
			p.After += u.Tokens
		} else {
			p.Archive = append(p.Archive, u)
		}
	}
	return p
}

func report(name fika.AgentName, h compaction.History, p compaction.Plan) Compacted {
	done := Compacted{Context: name, Kept: p.Kept(), Before: p.Before, After: p.After}
	for _, u := range p.Archive {
		done.Archived = append(done.Archived, u.Entries...)
	}
	for i := len(h.Units) - 1; i >= 0 && !done.Counted; i-- {
		for _, e := range h.Units[i].Entries {
			if u := e.Meta.Usage; u != nil && e.Seq > h.UpTo && u.Input+u.Output > 0 {
				done.Before, done.Counted = u.Input+u.Output, true
			}
		}
	}
	return done
}

// UndoCompaction takes the last compaction of a context back: what it archived
// is in the window again, and the summary is what it was before, unless it was
// edited since. Error kind NotFound when there is none.
func (a *App) UndoCompaction(ctx context.Context, name fika.AgentName, wait time.Duration, warn func(string)) (content string, err error) {
	own, err := a.command(ctx, name, true, wait, warn)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	conv, err := own.Store.ActiveAsk(ctx, own.Agent.ID)
	if err != nil {
		return "", err
	}
	last, err := own.Store.LastCompaction(ctx, conv.ID, math.MaxInt64)
	if err != nil {
		return "", err
	}
	if last == nil {
		return "", fika.Errorf(fika.NotFound, "", "context %q has no compaction to take back", name)
	}
	entry, err := own.Store.AppendCompaction(ctx, conv.ID, string(own.Agent.Name), "taken back: "+firstLine(last.Content),
		fika.EntryMeta{Undo: last.Seq, Summary: last.Meta.Was, Was: last.Meta.Summary})
	if err != nil {
		return "", err
	}
	now, err := own.summary(ctx)
	if err != nil {
		return "", err
	}
	if now == last.Meta.Summary {
		err = own.saveSummary(now, last.Meta.Was, warn)
	} else {
		warn("summary.md was edited after the compaction and stays as it is")
	}
	if err != nil {
		return "", err
	}
	return last.Content, own.Mirror.Append(ctx, entry)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
