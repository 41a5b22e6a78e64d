package app

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fika"
	"fika/internal/chat"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/llm"
	"fika/internal/prompt"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/tool/note"
	"fika/internal/turn"
)

// workshop is what an owned context works with: tools, hooks, prompt. One
// serves all requests of a process.
type workshop struct {
	building  sync.Mutex
	llm       llm.Model // of requests that name none of their own; serves many at once
	own       *Owned
	store     turn.Store // own.Store, or what remembers some of it
	hooks     hook.Runner
	tools     *tool.Set
	chats     *chat.Chats
	workspace string
	quiet     bool // no reflection
	waits     bool // an agent process: its turns can be suspended
	grace     time.Duration
	model     string // of this invocation: in the settings already
	notes     *note.Book
	inbox     *inbox
	files     *followed // nil: what the files said when it was made holds
}

// engine builds the turn engine for one request, whose model may be its own.
func (w *workshop) engine(c store.Claimed, stop <-chan struct{}, o turn.Observer) (*turn.Engine, error) {
	settings, model := w.own.Settings, w.llm
	if m := c.Request.Payload.Model; m != "" && m != w.model {
		var err error
		settings, err = w.own.App.Settings(w.own.Folder.Name, map[string]string{"model": m}, true)
		if err != nil {
			return nil, err
		}
		if model, err = w.own.App.Model(settings); err != nil {
			return nil, err
		}
	}
	return turn.New(w.config(c, settings, model, stop, o)), nil
}

// turn works a request, for as long as the settings allow one to take.
func (w *workshop) turn(ctx context.Context, e *turn.Engine, c store.Claimed) (turn.Result, error) {
	if d := w.own.Settings.TurnTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	return e.Run(ctx, c)
}

func (w *workshop) config(c store.Claimed, s config.Settings, m llm.Model, stop <-chan struct{}, o turn.Observer) turn.Config {
	own := w.own
	name := own.Agent.Name
	return turn.Config{
		Store: w.store, Model: m, ModelID: s.Model.ID, Window: s.ContextWindow, MaxTokens: s.MaxTokens,
		Reasoning: reasoning(s), Tools: w.tools, Hooks: w.stepHooks(), Prompt: w.prompter(c.Request), Limits: Limits(s.Chat.Limits), TTL: s.Chat.MessageTTL,
		CompactAt: s.AutoCompactThreshold, WarnAt: s.WarnThresholdPercent, MaxRounds: s.MaxRecursionDepth,
		Call: tool.Call{
			Agent: name, Context: string(name), Workspace: w.place(c.Request), Username: w.user(c.Request),
		},
		Grace: w.grace, Stop: stop, Now: own.App.Now,
		Mentioned: func(ctx context.Context, conv fika.Conversation, text string) ([]fika.AgentName, error) {
			return w.chats.Mentioned(ctx, conv, name, text)
		},
		Observer:  turn.Observers{mirrored{own}, o},
		Compactor: w.compactor(c, s, m), Summary: own.summary,
	}
}

// prompter builds the prompt of one request, and notes which version of the
// notes it was shown.
func (w *workshop) prompter(r fika.Request) *prompt.Assembler {
	own := w.own
	return &prompt.Assembler{
		Source: texts{folder: own.Folder, settings: own.Settings, workspace: w.place(r), quiet: w.quiet,
			saw: func(n note.Name, v folder.Hash) { w.notes.Saw(r.ID, n, note.Version(v)) }},
		Hooks: w.hooks, Agent: own.Agent.Name, Context: string(own.Folder.Name), Username: w.user(r),
		Participants: func(ctx context.Context, c fika.Conversation) ([]string, error) {
			return own.Store.Participants(ctx, c.ID)
		},
	}
}

// place is the root of file tools for a request: where the person who gave it
// stands, unless the settings name a place.
func (w *workshop) place(r fika.Request) string {
	dir := r.Payload.Workspace
	if w.own.Settings.Workspace != "" || r.Payload.Writer != fika.ByHuman || !filepath.IsAbs(dir) {
		return w.workspace
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return w.workspace
	}
	return dir
}

// user is what the person is called who gave a request.
func (w *workshop) user(r fika.Request) string {
	if p := r.Payload; p.Writer == fika.ByHuman && p.From != "" && p.Sender == "" {
		return p.From
	}
	return w.own.Settings.Username
}

// Limits are the limits of chains and agents as the store takes them.
func Limits(c config.Limits) store.Limits {
	return store.Limits{
		MaxDepth: c.MaxDepth, MaxTurns: c.MaxTurnsPerChain, MaxTokens: c.MaxTokensPerChain,
		MaxCost: int64(c.MaxCostPerChain), MaxAge: c.MaxChainAge, MaxEcho: c.MaxEcho,
		HourTurns: c.MaxTurnsPerHour, HourTokens: c.MaxTokensPerHour,
	}
}

// mirrored lets the files of the context follow what is committed. A failing
// file costs nothing: the next opening mends it.
type mirrored struct{ own *Owned }

// Observe appends committed entries of the agent's ask conversations.
func (m mirrored) Observe(ev turn.Event) {
	var entries []fika.Entry
	switch ev.Kind {
	case turn.Started:
		if p := ev.Claimed.Prompt; p != nil && ev.Claimed.Conversation.Kind == fika.Ask {
			entries = []fika.Entry{*p}
		}
	case turn.Committed, turn.Compacted:
		if ev.Claimed != nil && ev.Claimed.Conversation.Kind == fika.Ask {
			entries = ev.Entries
		}
	}
	if len(entries) > 0 {
		_ = m.own.Mirror.Append(context.Background(), entries...)
	}
}
