package contexts

import (
	"context"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/store"
	"fika/internal/turn"
	"fika/internal/worker"
)

// Reader reads a context without locking it: from the database, or from the files of a
// folder that was put there by hand and has not been used yet.
type Reader struct {
	Folder  folder.Folder
	Agent   *fika.Agent     // nil: not in the database yet
	Foreign *folder.Content // content of a folder from elsewhere that is not used yet; nil: it is not such a folder

	store *store.Store
}

// OpenReader opens a context for reading. It writes nothing to the context. It fails
// with Denied when the caller is an agent, through a command in one of its tools, that
// may not see the context (readable_by).
func OpenReader(ctx context.Context, a *app.App, who api.Principal, f folder.Folder) (*Reader, error) {
	s, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.Archive(s).CheckReader(app.ReaderOf(who), f.Name); err != nil {
		return nil, err
	}
	r := &Reader{Folder: f, store: s}
	if r.Agent, err = app.FindRow(ctx, s, f.Name); err != nil {
		return nil, err
	}
	src := folder.EntrySource(emptySource{})
	if r.Agent != nil {
		src = worker.EntrySource{Store: s, Agent: f.Name}
	}
	foreign, err := f.Adoptable(ctx, src)
	if err != nil || !foreign {
		return r, err
	}
	c, err := folder.ReadFolder(f.Path())
	r.Foreign = &c
	return r, err
}

// emptySource is the source of a context that the database does not know.
type emptySource struct{}

func (emptySource) Asks(context.Context) ([]folder.AskHead, error) { return nil, nil }

func (emptySource) EntriesAfter(context.Context, fika.ConversationID, int64, int) ([]fika.Entry, error) {
	return nil, nil
}

// page is the most entries held in memory at once.
const page = 500

// Each returns an iteration over every entry that the agent's ask conversations hold
// now, the oldest conversation first and the active one last.
func (r *Reader) Each(ctx context.Context) (folder.Each, error) {
	var asks []fika.Conversation
	if r.Agent != nil {
		list, err := r.store.AskConversations(ctx, r.Agent.ID)
		if err != nil {
			return nil, err
		}
		for _, active := range []bool{false, true} {
			for _, c := range list {
				if (c.ID == r.Agent.ActiveAsk) == active {
					asks = append(asks, c)
				}
			}
		}
	}
	return func(do func(fika.Entry) error) error {
		for _, c := range asks {
			if err := r.eachOf(ctx, c, do); err != nil {
				return err
			}
		}
		if r.Foreign == nil {
			return nil
		}
		for _, archived := range []bool{true, false} {
			if err := r.Foreign.Each(func(e fika.Entry, is bool) error {
				if is != archived {
					return nil
				}
				return do(e)
			}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// All returns everything that [Reader.Each] visits, for callers that choose among all
// entries.
func (r *Reader) All(ctx context.Context) (all []fika.Entry, err error) {
	each, err := r.Each(ctx)
	if err != nil {
		return nil, err
	}
	err = each(func(e fika.Entry) error { all = append(all, e); return nil })
	return all, err
}

// eachOf visits the entries that a conversation had when it was read.
func (r *Reader) eachOf(ctx context.Context, c fika.Conversation, do func(fika.Entry) error) error {
	for since := int64(0); since < c.LastSeq; {
		list, err := r.store.Entries(ctx, store.EntryQuery{Conversation: c.ID, Since: since, Upto: c.LastSeq, First: page})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, e := range list {
			if err := do(e); err != nil {
				return err
			}
		}
		since = list[len(list)-1].Seq
	}
	return nil
}

// Window returns the entries of the conversation that are still in the window.
func (r *Reader) Window(ctx context.Context) ([]fika.Entry, error) {
	var window []fika.Entry
	if r.Agent != nil && r.Agent.ActiveAsk != "" {
		var err error
		if window, err = worker.ReadWindow(ctx, r.store, r.Agent.ActiveAsk); err != nil {
			return nil, err
		}
	}
	if r.Foreign != nil {
		entries, err := r.Foreign.Entries(false)
		if err != nil {
			return nil, err
		}
		window = append(window, entries...)
	}
	return window, nil
}

// State is what `context show` displays.
type State struct {
	Info
	Settings   config.Settings
	Trouble    error // why the settings cannot be used; the model is then unknown
	Messages   int   // in the window
	Entries    int   // in the window, tools included
	Archived   int   // entries out of the window
	Pending    int   // messages that wait for the next turn
	Running    int   // requests running or waiting
	Tokens     int64 // estimated cost of the next prompt, before its own text
	Texts      map[folder.TextKind]string
	PromptFrom string // where the system prompt comes from
}

// Describe returns the [State] of one context. It locks and changes nothing.
func Describe(ctx context.Context, a *app.App, who api.Principal, f folder.Folder) (State, error) {
	h, err := a.Home()
	if err != nil {
		return State{}, err
	}
	state, err := h.State()
	if err != nil {
		return State{}, err
	}
	var c State
	if c.Info, err = readInfo(f, state); err != nil {
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
	return c, count(ctx, a, who, f, &c)
}

func count(ctx context.Context, a *app.App, who api.Principal, f folder.Folder, c *State) error {
	r, err := OpenReader(ctx, a, who, f)
	if err != nil {
		return err
	}
	each, err := r.Each(ctx)
	if err != nil {
		return err
	}
	all := 0
	if err := each(func(fika.Entry) error { all++; return nil }); err != nil {
		return err
	}
	window, err := r.Window(ctx)
	if err != nil {
		return err
	}
	c.Entries, c.Archived = len(window), all-len(window)
	for _, e := range window {
		switch e.Type {
		case fika.Message:
			c.Messages++
			c.Tokens += turn.EstimateEntry(e)
		case fika.ToolCall, fika.ToolResult:
			c.Tokens += turn.EstimateEntry(e)
		}
	}
	var base string
	if base, c.PromptFrom, err = basePrompt(a, f, c.Settings); err != nil {
		return err
	}
	c.Tokens += turn.EstimateTokens(base) + turn.EstimateTokens(c.Texts[folder.Summary]) + turn.EstimateTokens(c.Texts[folder.Goals]) + turn.EstimateTokens(c.Texts[folder.Todos])
	if r.Agent == nil {
		return nil
	}
	list, err := r.store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: r.Agent.ID})
	for _, conv := range list {
		c.Pending, c.Running = c.Pending+conv.Pending, c.Running+conv.Running
	}
	return err
}
