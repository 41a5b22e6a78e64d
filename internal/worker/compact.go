package worker

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/llm"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/tool/note"
	"fika/internal/turn"
	"fika/internal/turn/compaction"
)

// autoCompactor returns nil if the settings ask for no automatic compaction.
func (r *Runtime) autoCompactor(c store.Claimed, s config.Settings, m llm.Model) turn.Compactor {
	if !s.AutoCompact {
		return nil
	}
	return compaction.New(r.compactionConfig(c.Conversation, c.Agent, s, m, r.inbox.warn))
}

// compactionConfig returns what compactions of an agent's conversation depend on. The
// summary of its active conversation is in summary.md, where a person can edit it; that of
// any other is in the compaction entry alone.
func (r *Runtime) compactionConfig(conv fika.Conversation, a fika.Agent, s config.Settings, m llm.Model, warn func(string)) compaction.Config {
	f := r.worker.Folder
	c := compaction.Config{
		Store: r.worker.Store, Model: m, ModelID: s.Model.ID, Window: s.ContextWindow, Source: compactionSource{PromptSource{Folder: f, Project: ProjectFilesOf(r.worker.App)}},
		Hooks: r.hooks, Context: string(f.Name), Drop: s.RollingCompactDrop, Warn: warn,
	}
	if conv.ID == a.ActiveAsk {
		c.Save = func(_ context.Context, was, now string) error { return Summary{f}.Replace(was, now, warn) }
	}
	return c
}

// compactionSource provides the texts of a compaction.
type compactionSource struct{ PromptSource }

// Instructions implements [compaction.Source].
func (s compactionSource) Instructions() (string, error) {
	return s.Folder.Home.Prompt(folder.CompactionPrompt, s.Project.prompts()...)
}

// Compaction is what a person asks for.
type Compaction struct {
	Chat         fika.ConversationName // a chat: the agent's view of it is compacted; empty: its active conversation is
	Rolling      bool
	Instructions string // what the summary should hold in particular
}

// MaxInstructions bounds the instructions of a compaction, in bytes.
const MaxInstructions = 8 << 10

// CompactOptions are the options of a compaction by hand.
type CompactOptions struct {
	Context fika.AgentName
	Compaction
	DryRun bool // plan only: change nothing and call no model
	Wait   time.Duration
	Flags  map[string]string
	app.Person
}

// Compacted is what a compaction did, or would do. Sizes are in tokens.
type Compacted struct {
	Context  fika.AgentName
	Archived []fika.Entry
	Kept     int
	Before   int64
	// Counted: Before was counted by the provider, otherwise it is estimated.
	Counted bool
	After   int64 // estimated; in a dry run without the new summary
	Summary string
	Usage   fika.Usage
}

// Message returns the result as it is sent over the bus.
func (c Compacted) Message() message.Compacted {
	out := message.Compacted{
		Archived: []int64{}, Kept: c.Kept, Before: c.Before, Counted: c.Counted, After: c.After, Summary: c.Summary, Usage: c.Usage,
	}
	for _, e := range c.Archived {
		out.Archived = append(out.Archived, e.Seq)
	}
	return out
}

// IsHeldByAgent reports whether err says that a context is in use by its agent's process,
// which must then do the work itself.
func IsHeldByAgent(err error) bool {
	var held *folder.HeldError
	return errors.As(err, &held) && !held.Stale && held.Info.Kind == folder.LockAgent
}

// Compact shortens the window of a context. Error kinds: Locked while another process
// holds the context, Conflict if there is nothing to compact, Provider, Denied if a
// hook forbids it.
func Compact(ctx context.Context, a *app.App, o CompactOptions) (done Compacted, err error) {
	if o.DryRun {
		return planCompaction(ctx, a, o)
	}
	w, err := Open(ctx, a, Options{Name: o.Context, Kind: folder.LockCommand, Wait: o.Wait, Flags: o.Flags, Must: true})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, n := range w.Notes() {
		o.Warn(n)
	}
	if err := w.recoverForeground(ctx, o.Warn); err != nil {
		return done, err
	}
	r, err := w.newRuntime(ctx, w.Settings, RuntimeOptions{
		Dir: a.Dir(), Stdin: o.Stdin, Stderr: o.Stderr, Warn: o.Warn, Verbose: o.Verbose, Notify: app.Waker{Bus: bus.Nobody{}},
	}, w.newInbox(o.Warn), &note.Versions{})
	if err != nil {
		return done, err
	}
	model, err := a.Model(w.Settings)
	if err != nil {
		return done, err
	}
	return r.compactWith(ctx, model, o.Compaction, o.Warn)
}

// Compact shortens the window of the agent's conversation or of a chat while the agent's process
// holds the context and no turn runs. model writes the summary; empty means the agent's
// own. Error kinds: Conflict if there is nothing to compact, Provider, Denied if a hook
// forbids it.
func (l *LiveRuntime) Compact(ctx context.Context, what Compaction, model string) (Compacted, error) {
	r, err := l.current(ctx, place{})
	if err != nil {
		return Compacted{}, err
	}
	settings := r.settings
	if model != "" {
		if settings, err = l.worker.App.Settings(l.worker.Folder.Name, map[string]string{"model": model}, l.quiet); err != nil {
			return Compacted{}, err
		}
	}
	m, err := l.worker.App.Model(settings)
	if err != nil {
		return Compacted{}, err
	}
	return r.compactWith(ctx, m, what, l.opts.Warn)
}

// UndoCompaction reverts the last compaction, like the function [UndoCompaction].
func (l *LiveRuntime) UndoCompaction(ctx context.Context) (string, error) {
	return l.worker.undoCompaction(ctx, l.opts.Warn)
}

// compactWith lets a model decide what is archived and how it is summarised, and
// commits the result.
func (r *Runtime) compactWith(ctx context.Context, m llm.Model, what Compaction, warn func(string)) (Compacted, error) {
	w := r.worker
	if len(what.Instructions) > MaxInstructions {
		return Compacted{}, fika.Errorf(fika.Invalid, "", "the instructions have %d bytes; at most %d are taken", len(what.Instructions), MaxInstructions)
	}
	active, err := w.Store.ActiveAsk(ctx, w.Agent.ID)
	conv := active
	if err == nil && what.Chat != "" {
		conv, err = w.Store.Conversation(ctx, what.Chat)
	}
	if err != nil {
		return Compacted{}, err
	}
	agent := w.Agent
	agent.ActiveAsk = active.ID
	conf := r.compactionConfig(conv, agent, r.settings, m, warn)
	conf.Extra = what.Instructions
	c := compaction.New(conf)
	h, err := readHistory(ctx, w.Store, c, conv, agent)
	if err != nil {
		return Compacted{}, err
	}
	decide := c.DecideFull
	if what.Rolling {
		decide = func(ctx context.Context, h compaction.History) (*turn.Compacting, error) {
			return c.DecideRolling(ctx, h, r.settings.ContextWindow/2)
		}
	}
	decided, err := decide(ctx, h)
	if err != nil {
		return Compacted{}, err
	}
	if decided == nil {
		return Compacted{}, nothingToCompact(w.Folder.Name, what.Chat)
	}
	entry, err := w.Store.AppendSummary(ctx, w.Agent, conv.ID, decided.Content, decided.Meta, decided.Model, decided.Usage)
	if err != nil {
		return Compacted{}, err
	}
	if err := decided.Done(ctx); err != nil {
		warn(err.Error())
	}
	done := describeCompaction(w.Folder.Name, h, planOf(h, decided.Meta))
	done.Summary, done.Usage = decided.Meta.Summary, decided.Usage
	done.After += turn.EstimateTokens(done.Summary)
	if conv.ID != active.ID { // the mirror is of the agent's own conversation
		return done, nil
	}
	return done, w.Mirror.Append(ctx, entry)
}

func nothingToCompact(name fika.AgentName, chat fika.ConversationName) error {
	if chat != "" {
		return fika.Errorf(fika.Conflict, "", "nothing to compact in what @%s sees of %q", name, chat)
	}
	return fika.Errorf(fika.Conflict, "", "nothing to compact in context %q", name)
}

// readHistory reads the entries that may be compacted. Unread messages may not, nor in a
// chat what an unfinished request is about, and the newest turns.
func readHistory(ctx context.Context, s *store.Store, c *compaction.Compactor, conv fika.Conversation, agent fika.Agent) (compaction.History, error) {
	conv, err := s.ConversationByID(ctx, conv.ID)
	if err != nil {
		return compaction.History{}, err
	}
	if conv.Kind == fika.Chat {
		return readChat(ctx, s, c, conv, agent)
	}
	unread, err := CountUnread(ctx, s, conv)
	if err != nil {
		return compaction.History{}, err
	}
	return c.History(ctx, conv, agent, unread)
}

// readChat reads an agent's view of a chat.
func readChat(ctx context.Context, s *store.Store, c *compaction.Compactor, conv fika.Conversation, agent fika.Agent) (compaction.History, error) {
	h, err := c.History(ctx, conv, agent, 0)
	if err != nil {
		return h, err
	}
	a, err := s.Activity(ctx, store.ActivityQuery{Conversation: conv.ID, DroppedSince: time.Unix(1<<33, 0)})
	if err != nil {
		return h, err
	}
	open, asked := map[fika.RequestID]bool{}, map[int64]bool{}
	for _, r := range a.Requests {
		open[r.ID] = true
	}
	for _, n := range a.Notifications {
		asked[n.Seq] = asked[n.Seq] || n.Agent == agent.ID
	}
	c.Keep(h, func(e fika.Entry) bool { return open[e.Request] || asked[e.Seq] })
	return h, nil
}

// planCompaction reads without taking the lock, which only excludes writers.
func planCompaction(ctx context.Context, a *app.App, o CompactOptions) (Compacted, error) {
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
			err = nothingToCompact(o.Context, "")
		}
		return Compacted{}, err
	}
	conv, err := s.ConversationByID(ctx, agent.ActiveAsk)
	if err != nil {
		return Compacted{}, err
	}
	h, err := readHistory(ctx, s, compaction.New(compaction.Config{Store: s}), conv, agent)
	if err != nil {
		return Compacted{}, err
	}
	plan := compaction.PlanFull(h.Units)
	if o.Rolling {
		plan = compaction.PlanRolling(h.Units, settings.RollingCompactDrop, settings.ContextWindow/2, nil)
	}
	if len(plan.Archive) == 0 {
		return Compacted{}, nothingToCompact(o.Context, "")
	}
	return describeCompaction(o.Context, h, plan), nil
}

// planOf returns the plan that the metadata of a compaction entry describes.
func planOf(h compaction.History, m fika.EntryMeta) compaction.Plan {
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

func describeCompaction(name fika.AgentName, h compaction.History, p compaction.Plan) Compacted {
	done := Compacted{Context: name, Kept: p.CountKept(), Before: p.Before, After: p.After}
	for _, u := range p.Archive {
		done.Archived = append(done.Archived, u.Entries...)
	}
	for i := len(h.Units) - 1; i >= 0 && !done.Counted && h.View == ""; i-- {
		for _, e := range h.Units[i].Entries {
			if u := e.Meta.Usage; u != nil && e.Seq > h.UpTo && u.Input+u.Output > 0 {
				done.Before, done.Counted = u.Input+u.Output, true
			}
		}
	}
	return done
}

// UndoCompaction reverts the last compaction of a context: the archived entries are in
// the window again, and the summary is the previous one, unless it has been edited
// since. It returns NotFound if there is none.
func UndoCompaction(ctx context.Context, a *app.App, name fika.AgentName, wait time.Duration, warn func(string)) (content string, err error) {
	w, err := OpenCommand(ctx, a, name, true, wait, warn)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return w.undoCompaction(ctx, warn)
}

func (w *Worker) undoCompaction(ctx context.Context, warn func(string)) (string, error) {
	conv, err := w.Store.ActiveAsk(ctx, w.Agent.ID)
	if err != nil {
		return "", err
	}
	last, err := w.Store.LastCompaction(ctx, conv.ID, "", math.MaxInt64)
	if err != nil {
		return "", err
	}
	if last == nil {
		return "", fika.Errorf(fika.NotFound, "", "context %q has no compaction to take back", w.Folder.Name)
	}
	entry, err := w.Store.AppendCompaction(ctx, conv.ID, string(w.Agent.Name), "taken back: "+firstLine(last.Content),
		fika.EntryMeta{Undo: last.Seq, Summary: last.Meta.Was, Was: last.Meta.Summary})
	if err != nil {
		return "", err
	}
	now, err := w.Summary().Text()
	if err != nil {
		return "", err
	}
	if now == last.Meta.Summary {
		err = w.Summary().Replace(now, last.Meta.Was, warn)
	} else {
		warn("summary.md was edited after the compaction and stays as it is")
	}
	if err != nil {
		return "", err
	}
	return last.Content, w.Mirror.Append(ctx, entry)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
