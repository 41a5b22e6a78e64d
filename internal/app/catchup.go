package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"fika"
	"fika/internal/chat"
	"fika/internal/folder"
	"fika/internal/store"
)

// catchUp takes in what other programs left in the inbox of a context, and
// brings its files up to date with the store. While somebody has the context
// nothing is done: that process does it itself.
func (a *App) catchUp(ctx context.Context, name fika.AgentName) (err error) {
	h, err := a.Home()
	if err != nil {
		return err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := a.Recipient(ctx, name)
	if err != nil {
		return err
	}
	if id, err := h.ID(); err != nil || row.HomeID != id {
		return err // its files are elsewhere
	}
	f, _, err := h.Ensure(name)
	if err != nil {
		return err
	}
	src := asks{store: s, agent: name}
	if foreign, err := f.Adoptable(ctx, src); err != nil || foreign {
		return err // whoever uses it first imports it
	}
	lock, err := folder.TryLock(ctx, f, folder.LockOptions{Kind: folder.LockMirror})
	if fika.IsKind(err, fika.Locked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	own := &Owned{App: a, Folder: f, Agent: row, Store: s, lock: lock}
	if err := (&inbox{own: own, warn: func(string) {}}).take(ctx); err != nil {
		return err
	}
	_, err = folder.OpenMirror(ctx, lock, src)
	return err
}

// takeInboxes takes in what other programs left in the inboxes of contexts. A
// look at an empty one is a stat.
func (a *App) takeInboxes(ctx context.Context) {
	h, err := a.Home()
	if err != nil {
		return
	}
	names, _, err := h.List()
	if err != nil {
		return // doctor says what is wrong with the folder
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(h.Folder(name).Path(), "inbox.jsonl"))
		if err != nil || info.Size() == 0 {
			continue
		}
		if err := a.catchUp(ctx, name); err != nil {
			a.opts.Log.Warn("inbox", "context", name, "err", err)
		}
	}
}

// ageOutputs removes what is old or too much of the outputs that contexts keep.
func (a *App) ageOutputs(ctx context.Context) {
	h, err := a.Home()
	if err != nil {
		return
	}
	names, _, err := h.List()
	if err != nil {
		return // doctor says what is wrong with the folder
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		switch n, err := h.Folder(name).AgeOutput(a.opts.Now()); {
		case err != nil:
			a.opts.Log.Warn("old outputs", "context", name, "err", err)
		case n > 0:
			a.opts.Log.Info("old outputs removed", "context", name, "files", n)
		}
	}
}

// SendToContext puts a message into the ongoing conversation of a context, as
// the tool send_message does: its next turn reads it, its files have it now,
// and an agent that is there is woken. from is what a person is called; an
// agent, through a command in one of its tools, speaks as itself and in its
// chain. Error kinds: NotFound, Denied, Invalid, Limit.
func (c *Client) SendToContext(ctx context.Context, a *App, name fika.AgentName, from, text string) (store.Posted, error) {
	row, err := a.Recipient(ctx, name)
	if err != nil {
		return store.Posted{}, err
	}
	speaker, err := a.Speaker(ctx)
	if err != nil {
		return store.Posted{}, err
	}
	m := store.Send{To: row.ID, From: from, Writer: fika.ByHuman, WriterName: from, Content: text}
	if speaker == nil {
		err = a.MayBeCalled(ctx, from)
	} else {
		m, err = speaker.write(ctx, a, row, m)
	}
	if err != nil {
		return store.Posted{}, err
	}
	posted, err := c.Store.Deliver(ctx, m)
	if err != nil {
		return posted, err
	}
	c.Ring(name)
	_ = c.Bus.Flush(ctx)
	return posted, a.catchUp(ctx, name)
}

// write makes a message that of the agent: one deeper than its request.
func (s *Speaker) write(ctx context.Context, a *App, to fika.Agent, m store.Send) (store.Send, error) {
	if to.Name == s.Agent {
		return m, fika.Errorf(fika.Invalid, "", "%s is your own context: say it in your answer", to.Name)
	}
	settings, err := a.Settings(s.Agent, nil, true)
	if err != nil {
		return m, err
	}
	if err := s.within(Limits(settings.Chat.Limits)); err != nil {
		return m, err
	}
	m.From, m.Writer, m.WriterName = string(s.Agent), fika.ByAgent, string(s.Agent)
	m.Chain, m.Depth = s.Request.Chain, s.Request.Depth+1
	letter := chat.Letter{From: s.Agent, To: to, Chain: m.Chain, Depth: m.Depth, Text: m.Content}
	repeats, err := chat.Echoes(ctx, a.store, letter, settings.Chat.MaxEcho)
	if err == nil && repeats {
		err = fika.Errorf(fika.Limit, "", "you and %s only repeat what you have said to each other (max_echo); end here, or say something new", to.Name)
	}
	return m, err
}

// Recipient is the agent of a context or of an [[agents]] entry, its row made
// if it is missing.
func (a *App) Recipient(ctx context.Context, name fika.AgentName) (fika.Agent, error) {
	s, err := a.Store(ctx)
	if err != nil {
		return fika.Agent{}, err
	}
	if row, err := known(ctx, s, name); err != nil || row != nil {
		return *orZero(row), err
	}
	if err := a.known(name); err != nil {
		return fika.Agent{}, err
	}
	h, err := a.Home()
	if err != nil {
		return fika.Agent{}, err
	}
	id, err := h.ID()
	if err != nil {
		return fika.Agent{}, err
	}
	return s.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: id})
}

func orZero[T any](p *T) *T {
	if p == nil {
		p = new(T)
	}
	return p
}

// works says whether somebody will work what an agent of this home is given:
// its process, or the hub, which starts those that have an [[agents]] entry.
func (own *Owned) works(_ context.Context, a fika.Agent) error {
	home, err := own.Folder.Home.ID()
	if err != nil || a.HomeID != home {
		return err // nobody here can know
	}
	state, err := own.Folder.Home.Folder(a.Name).Inspect()
	if err == nil && state.Held && state.Info.Kind == folder.LockAgent {
		return nil
	}
	c, err := own.App.Config()
	if err != nil {
		return err
	}
	entry := c.Agent(a.Name)
	switch {
	case entry == nil:
		return fika.Errorf(fika.Invalid, "delegate", "not delegated: %s is a context without an agent, and nobody would start it. Give the task to one of the agents, or to the sub-agent tool if you have it; a person makes it an agent with an [[agents]] entry", a.Name)
	case a.Desired.Stopped():
		return fika.Errorf(fika.Invalid, "delegate", "not delegated: %s was stopped by hand and stays so until a person starts it (fika agent start %s)", a.Name, a.Name)
	case !entry.Wake && !entry.AutoStart:
		return fika.Errorf(fika.Invalid, "delegate", "not delegated: %s does not run, and nobody starts it for a task (wake = false)", a.Name)
	}
	return nil
}
