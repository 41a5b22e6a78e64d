package contexts

import (
	"context"
	"errors"
	"slices"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
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
	if err := a.Archive(s).CheckReader(ctx, app.ReaderOf(who), f.Name); err != nil {
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

func (emptySource) Compactions(context.Context, fika.ConversationID, int64) ([]fika.Entry, error) {
	return nil, nil
}

func (emptySource) EntriesAfter(context.Context, fika.ConversationID, int64, int) ([]fika.Entry, error) {
	return nil, nil
}

// Part says which entries of a context are read.
type Part struct {
	Archived bool             // also those out of the window, the oldest conversation first
	Types    []fika.EntryType // empty: all
	Since    int64            // seq > Since in each conversation; 0 also reads those without a seq
	First    int              // only the first N; 0: all
	Last     int              // only the last N; 0: all
}

// errEnough ends a reading that has what it wants.
var errEnough = errors.New("enough")

// Read calls do for the entries of a part, oldest first, reading a page at a time.
func (r *Reader) Read(ctx context.Context, p Part, do func(fika.Entry) error) error {
	spans, err := r.spans(ctx, p)
	if err != nil {
		return err
	}
	var late []fika.Entry // of a folder that is not used yet, which comes after the database
	if p.Last > 0 {
		if late, err = r.lastForeign(p); err != nil {
			return err
		}
		if spans, err = r.newest(ctx, spans, p.Last-len(late)); err != nil {
			return err
		}
	}
	n := 0
	each := func(e fika.Entry) error {
		if n++; p.First > 0 && n > p.First {
			return errEnough
		}
		return do(e)
	}
	for _, q := range spans {
		if err := r.store.EachEntry(ctx, q, each); err != nil {
			return ignoreEnough(err)
		}
	}
	if p.Last == 0 {
		return ignoreEnough(r.eachForeign(p, each))
	}
	for _, e := range late {
		if err := each(e); err != nil {
			return ignoreEnough(err)
		}
	}
	return nil
}

func ignoreEnough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// spans returns the queries that read the entries of a part in the database.
func (r *Reader) spans(ctx context.Context, p Part) (out []store.EntryQuery, err error) {
	add := func(c fika.ConversationID, since, upto int64) {
		if since = max(since, p.Since); since < upto {
			out = append(out, store.EntryQuery{Conversation: c, Since: since, Upto: upto, Types: p.Types})
		}
	}
	switch {
	case r.Agent == nil:
	case p.Archived:
		list, err := r.store.AskConversations(ctx, r.Agent.ID)
		if err != nil {
			return nil, err
		}
		for _, active := range []bool{false, true} {
			for _, c := range list {
				if (c.ID == r.Agent.ActiveAsk) == active {
					add(c.ID, 0, c.LastSeq)
				}
			}
		}
	case r.Agent.ActiveAsk != "":
		list, _, err := r.store.WindowSpans(ctx, r.Agent.ActiveAsk, "")
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			add(r.Agent.ActiveAsk, x.Since, x.Upto)
		}
	}
	return out, nil
}

// newest narrows queries to the newest n entries that they select together.
func (r *Reader) newest(ctx context.Context, spans []store.EntryQuery, n int) ([]store.EntryQuery, error) {
	for i := len(spans) - 1; i >= 0; i-- {
		if n <= 0 {
			return spans[i+1:], nil
		}
		q := spans[i]
		q.Last = n
		since, found, err := r.store.NewestFrom(ctx, q)
		if err != nil {
			return nil, err
		}
		spans[i].Since = since
		n -= found
	}
	return spans, nil
}

// eachForeign calls do for the entries of a part in a folder that is not used yet.
func (r *Reader) eachForeign(p Part, do func(fika.Entry) error) error {
	if r.Foreign == nil {
		return nil
	}
	for _, archived := range []bool{true, false} {
		if archived && !p.Archived {
			continue
		}
		if err := r.Foreign.EachOf(archived, func(e fika.Entry) error {
			if e.Seq <= p.Since && (e.Seq != 0 || p.Since != 0) || len(p.Types) > 0 && !slices.Contains(p.Types, e.Type) {
				return nil
			}
			return do(e)
		}); err != nil {
			return err
		}
	}
	return nil
}

// lastForeign returns the last entries of a part in a folder that is not used yet.
func (r *Reader) lastForeign(p Part) (out []fika.Entry, err error) {
	err = r.eachForeign(p, func(e fika.Entry) error {
		if out = append(out, e); len(out) >= 2*p.Last {
			out = slices.Clone(out[len(out)-p.Last:])
		}
		return nil
	})
	return out[max(0, len(out)-p.Last):], err
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
	Tokens     int64 // estimated cost of the next prompt, before its own text; not counted on when it fills the model's window
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
	if err := c.measure(ctx, r); err != nil {
		return err
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

// measure counts what is in the window and out of it, without reading more of it than a
// model would be sent.
func (c *State) measure(ctx context.Context, r *Reader) error {
	all, err := r.extent(ctx, Part{Archived: true})
	if err != nil {
		return err
	}
	window, err := r.extent(ctx, Part{})
	if err != nil {
		return err
	}
	c.Entries, c.Messages, c.Archived = window.Entries, window.Messages, all.Entries-window.Entries
	size := c.Settings.ContextWindow
	if size <= 0 {
		size = config.DefaultContextWindow
	}
	add := func(t fika.EntryType, tokens int64) error {
		switch t {
		case fika.Message, fika.ToolCall, fika.ToolResult:
			c.Tokens += tokens
		}
		if c.Tokens > size {
			return errEnough
		}
		return nil
	}
	if err := r.eachForeign(Part{}, func(e fika.Entry) error { return add(e.Type, turn.EstimateEntry(e)) }); err != nil {
		return ignoreEnough(err)
	}
	return ignoreEnough(r.backwards(ctx, func(e store.EntrySize) error { return add(e.Type, turn.EstimateSize(e)) }))
}

// extent counts the entries of a part.
func (r *Reader) extent(ctx context.Context, p Part) (sum store.Extent, err error) {
	spans, err := r.spans(ctx, p)
	if err != nil {
		return sum, err
	}
	for _, q := range spans {
		x, err := r.store.Extent(ctx, q.Conversation, q.Since, q.Upto)
		if err != nil {
			return sum, err
		}
		sum = store.Extent{Entries: sum.Entries + x.Entries, Messages: sum.Messages + x.Messages, Compactions: sum.Compactions + x.Compactions}
	}
	return sum, r.eachForeign(p, func(e fika.Entry) error {
		if sum.Entries++; e.Type == fika.Message {
			sum.Messages++
		}
		return nil
	})
}

// backwards calls do for the entries of the window in the database, newest first.
func (r *Reader) backwards(ctx context.Context, do func(store.EntrySize) error) error {
	spans, err := r.spans(ctx, Part{})
	if err != nil {
		return err
	}
	for _, q := range slices.Backward(spans) {
		for upto := q.Upto; upto > q.Since; {
			page, err := r.store.Sizes(ctx, q.Conversation, upto, pageBack)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, e := range page {
				if upto = e.Seq - 1; e.Seq <= q.Since {
					break
				}
				if err := do(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pageBack is how many entries are read backwards at a time.
const pageBack = 500
