package app

import (
	"context"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/prompt"
	"fika/internal/store"
	"fika/internal/turn"
)

// ContextReader reads a context without taking it: from the database, or from
// the files of a folder that was put there by hand and not used yet.
type ContextReader struct {
	Folder folder.Folder
	Agent  *fika.Agent // nil: not in the database yet

	store   *store.Store
	foreign *folder.Content
}

// ReadContext opens a context for reading. Nothing is written.
func (a *App) ReadContext(ctx context.Context, f folder.Folder) (*ContextReader, error) {
	s, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	r := &ContextReader{Folder: f, store: s}
	if r.Agent, err = FindRow(ctx, s, f.Name); err != nil {
		return nil, err
	}
	src := folder.EntrySource(nobody{})
	if r.Agent != nil {
		src = asks{store: s, agent: f.Name}
	}
	strange, err := f.Adoptable(ctx, src)
	if err != nil || !strange {
		return r, err
	}
	c, err := folder.ReadFolder(f.Path())
	r.foreign = &c
	return r, err
}

// nobody is the source of a context that the database does not know.
type nobody struct{}

func (nobody) Asks(context.Context) ([]folder.AskHead, error) { return nil, nil }

func (nobody) EntriesAfter(context.Context, fika.ConversationID, int64, int) ([]fika.Entry, error) {
	return nil, nil
}

// All reads every entry of the agent's ask conversations, the oldest
// conversation first and the active one last.
func (r *ContextReader) All(ctx context.Context) ([]fika.Entry, error) {
	var all []fika.Entry
	if r.Agent != nil {
		list, err := r.store.AskConversations(ctx, r.Agent.ID)
		if err != nil {
			return nil, err
		}
		for _, active := range []bool{false, true} {
			for _, c := range list {
				if (c.ID == r.Agent.ActiveAsk) != active {
					continue
				}
				entries, err := r.store.Entries(ctx, store.EntryQuery{Conversation: c.ID})
				if err != nil {
					return nil, err
				}
				all = append(all, entries...)
			}
		}
	}
	if r.foreign != nil {
		all = append(append(all, r.foreign.Archived...), r.foreign.Window...)
	}
	return all, nil
}

// Window reads what is still in the conversation.
func (r *ContextReader) Window(ctx context.Context) ([]fika.Entry, error) {
	var window []fika.Entry
	if r.Agent != nil && r.Agent.ActiveAsk != "" {
		var err error
		if window, err = windowOf(ctx, r.store, r.Agent.ActiveAsk); err != nil {
			return nil, err
		}
	}
	if r.foreign != nil {
		window = append(window, r.foreign.Window...)
	}
	return window, nil
}

// ContextState is what `context show` tells.
type ContextState struct {
	ContextInfo
	Settings   config.Settings
	Trouble    error // why the settings cannot be used; the model is then unknown
	Messages   int   // in the window
	Entries    int   // in the window, tools included
	Archived   int   // entries out of the window
	Pending    int   // messages that wait for its next turn
	Running    int   // requests running or waiting
	Tokens     int64 // what the next prompt costs before it says anything; estimated
	Texts      map[folder.TextKind]string
	PromptFrom string // where the system prompt comes from
}

// Context tells everything of one context. Nothing is taken or changed.
func (a *App) Context(ctx context.Context, f folder.Folder) (ContextState, error) {
	h, err := a.Home()
	if err != nil {
		return ContextState{}, err
	}
	state, err := h.State()
	if err != nil {
		return ContextState{}, err
	}
	var c ContextState
	if c.ContextInfo, err = contextInfo(f, state); err != nil {
		return c, err
	}
	_, err = folder.OpenFolder(h, f.Name)
	c.Exists = err == nil
	if c.Settings, c.Trouble = a.Settings(f.Name, nil, false); c.Trouble != nil {
		if c.Settings, err = a.PlainSettings(f.Name); err != nil {
			return c, err
		}
	}
	c.Texts = map[folder.TextKind]string{}
	for _, k := range folder.TextKinds() {
		text, err := f.Read(k)
		if err != nil {
			return c, err
		}
		c.Texts[k] = text.Body
	}
	return c, a.countContext(ctx, f, &c)
}

func (a *App) countContext(ctx context.Context, f folder.Folder, c *ContextState) error {
	r, err := a.ReadContext(ctx, f)
	if err != nil {
		return err
	}
	all, err := r.All(ctx)
	if err != nil {
		return err
	}
	window, err := r.Window(ctx)
	if err != nil {
		return err
	}
	c.Entries, c.Archived = len(window), len(all)-len(window)
	for _, e := range window {
		switch e.Type {
		case fika.Message:
			c.Messages++
			c.Tokens += turn.EstimateEntry(e)
		case fika.ToolCall, fika.ToolResult:
			c.Tokens += turn.EstimateEntry(e)
		}
	}
	own := a.lookAt(f, c.Settings)
	var base string
	if base, c.PromptFrom, err = own.basePrompt(); err != nil {
		return err
	}
	c.Tokens += turn.Estimate(base) + turn.Estimate(c.Texts[folder.Summary]) + turn.Estimate(c.Texts[folder.Goals]) + turn.Estimate(c.Texts[folder.Todos])
	if r.Agent == nil {
		return nil
	}
	list, err := a.store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: r.Agent.ID})
	for _, conv := range list {
		c.Pending, c.Running = c.Pending+conv.Pending, c.Running+conv.Running
	}
	return err
}

// lookAt makes an Owned that owns nothing: for reading what one would give.
func (a *App) lookAt(f folder.Folder, s config.Settings) *Owned {
	return &Owned{App: a, Folder: f, Settings: s, Agent: fika.Agent{Name: f.Name}}
}

// BasePrompt gives the system prompt that a person may edit, and where it
// comes from.
func (a *App) BasePrompt(f folder.Folder) (text, from string, err error) {
	s, err := a.Settings(f.Name, nil, false)
	if err != nil {
		if s, err = a.PlainSettings(f.Name); err != nil {
			return "", "", err
		}
	}
	return a.lookAt(f, s).basePrompt()
}

func (own *Owned) basePrompt() (text, from string, err error) {
	t := texts{folder: own.Folder, settings: own.Settings}
	if text, err = t.Base(); err != nil {
		return "", "", err
	}
	mine, err := own.Folder.Read(folder.SystemPrompt)
	switch {
	case err != nil:
		return "", "", err
	case text == mine.Body && text != "":
		return text, own.Folder.TextPath(folder.SystemPrompt), nil
	case own.Settings.SystemPromptFile != "":
		return text, own.Settings.SystemPromptFile, nil
	case own.Settings.SystemPrompt != "":
		return text, own.Settings.Origins["system_prompt"], nil
	}
	return text, "the default prompt", nil
}

// AssembledPrompt gives the whole system prompt as the model would get it now:
// with summary, goals, todos, reflection and what hooks inject.
func (a *App) AssembledPrompt(ctx context.Context, f folder.Folder, p Person) (string, error) {
	s, err := a.Settings(f.Name, nil, false)
	if err != nil {
		if s, err = a.PlainSettings(f.Name); err != nil {
			return "", err
		}
	}
	own := a.lookAt(f, s)
	hooks, err := own.hooks(ctx, p)
	if err != nil {
		return "", err
	}
	assembler := &prompt.Assembler{
		Source: texts{folder: f, settings: s, workspace: s.WorkspaceOr(a.Dir())},
		Hooks:  hooks, Agent: f.Name, Context: string(f.Name), Username: s.Username,
	}
	whole, err := assembler.Prompt(ctx, store.Claimed{Conversation: fika.Conversation{Kind: fika.Ask}})
	return whole.Whole(), err
}
