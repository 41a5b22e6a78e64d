package worker

import (
	"context"
	"slices"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/extension/hook"
	"fika/internal/rights/guard"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/tool"
	"fika/internal/tool/board"
	"fika/internal/tool/job"
	"fika/internal/tool/note"
	"fika/internal/tool/offer"
	"fika/internal/tool/peer"
)

// agentTools returns the tools that every agent has: those for its notes, those that
// reach other agents, those for jobs, those of the board, the one that offers its work,
// the one that searches its past, and the one that loads skills.
func (r *Runtime) agentTools() []tool.Tool {
	notes := note.Tools(note.Options{
		Store: noteStore{r.worker.Folder}, Versions: r.versions,
		Reflection: r.settings.ReflectionEnabled && !r.opts.NoReflection, Limit: r.settings.ReflectionCharacterLimit,
	})
	return slices.Concat(notes, r.peers().tools(), job.Tools(r.toolbox.jobs), board.Tools(r.opts.Board), []tool.Tool{
		offer.New(r.opts.Landing),
		recallTool(r.worker.Store), tool.WithLimit(skillTool(r.toolbox.skills()), r.toolbox.outputLimits()),
	})
}

func (r *Runtime) peers() peers {
	w := r.worker
	return peers{
		app: w.App, self: w.Folder.Name, home: w.Folder.Home, store: w.Store, settings: r.settings, notify: r.chats.Notify, hooks: laterHooks{r},
		limits: r.toolbox.outputLimits(), alone: !r.opts.Waits, warn: r.opts.Warn, workflows: r.opts.Workflows,
	}
}

// laterHooks fires the hooks of a runtime whose plugins are opened after its tools are
// made.
type laterHooks struct{ *Runtime }

// Fire implements [hook.Runner].
func (l laterHooks) Fire(ctx context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	return l.stepHooks(nil).Fire(ctx, at, p)
}

// noteStore keeps notes in the files of a context.
type noteStore struct{ folder folder.Folder }

// Write implements [note.Store].
func (s noteStore) Write(n note.Name, seen note.Version, text string) (string, note.Version, error) {
	now, err := s.folder.WriteIf(folder.TextKind(n), folder.Hash(seen), text)
	return now.Body, note.Version(now.Hash), err
}

// peers is what an agent may do with other agents. The tools of the zero value have
// names but cannot be called.
type peers struct {
	app       *app.App
	self      fika.AgentName
	home      folder.Home
	store     *store.Store
	settings  config.Settings
	notify    chat.Notifier
	hooks     hook.Runner
	limits    tool.Limits
	alone     bool // nobody could continue a turn that waits
	warn      func(string)
	workflows peer.Workflows
}

func (p peers) tools() []tool.Tool {
	t, depth := p.settings.Tools, p.settings.Chat.MaxDepth
	send := &peer.Send{Find: p.find, Store: p.store, Hooks: p.hooks, MaxDepth: depth, Echoes: p.echoes, CatchUp: p.catchUp, MayCall: p.mayCall, Warn: p.warn}
	if p.notify != nil {
		send.Wake = p.notify.Wake
	}
	return []tool.Tool{
		send,
		tool.WithLimit(&peer.Read{Find: p.find, Store: p.store, Archive: p.app.Archive(p.store), CatchUp: p.catchUp, Notes: p.notes}, p.limits),
		&peer.Create{Make: p.makeContext},
		&peer.Delegate{
			Find: p.find, Works: p.willWork, MayCall: p.mayCall, Default: min(t.DelegateDeadline, t.MaxDelegateDeadline), Max: t.MaxDelegateDeadline,
			MaxDepth: depth, Limits: p.limits, Alone: p.alone,
		},
		&peer.RunWorkflow{Workflows: p.workflows, MaxDepth: depth, Limits: p.limits, Alone: p.alone},
	}
}

func (p peers) creator() contextCreator {
	return contextCreator{app: p.app, home: p.home, store: p.store, username: p.settings.Username}
}

// makeContext creates a context that a call asks for.
func (p peers) makeContext(ctx context.Context, c tool.Call, name fika.AgentName, systemPrompt string) (bool, error) {
	made, err := p.creator().create(ctx, name, systemPrompt)
	if err != nil || !made || p.settings.Guard.Rights != guard.RightsLeast {
		return made, err
	}
	return true, BoundContext(p.home.Folder(name), c.Rights)
}

func (p peers) catchUp(ctx context.Context, name fika.AgentName) error {
	return CatchUp(ctx, p.app, name)
}

// find returns an agent, given the name that a model wrote. A context folder or an
// [[agents]] entry without a row gets one.
func (p peers) find(ctx context.Context, name string) (fika.Agent, error) {
	agent, err := app.FindAgent(ctx, p.store, name, p.app.Colleagues(p.self))
	if !fika.IsKind(err, fika.NotFound) {
		return agent, err
	}
	n, parseErr := fika.ParseAgentName(name)
	if parseErr != nil {
		return fika.Agent{}, parseErr
	}
	cfg, configErr := p.app.Config()
	_, folderErr := folder.OpenFolder(p.home, n)
	if folderErr != nil && (configErr != nil || cfg.Agent(n) == nil) {
		return agent, err
	}
	return p.creator().ensureRow(ctx, n)
}

// echoes reports whether a message would only repeat earlier messages.
func (p peers) echoes(ctx context.Context, c tool.Call, to fika.Agent, content string) (bool, error) {
	l := chat.Letter{From: c.Agent, To: to, Chain: c.Chain, Depth: c.Depth + 1, Text: content}
	return chat.OnlyEchoes(ctx, p.store, l, p.settings.Chat.MaxEcho)
}

// notes returns the notes of another context that a reader is shown.
func (p peers) notes(name fika.AgentName) ([]peer.Note, error) {
	f := p.home.Folder(name)
	var out []peer.Note
	for _, k := range []folder.TextKind{folder.Summary, folder.Goals, folder.Todos} {
		t, err := f.Read(k)
		if err != nil {
			return nil, err
		}
		out = append(out, peer.Note{Title: string(k), Text: t.Body})
	}
	return out, nil
}

// willWork returns Invalid for a task that nobody would work, although its agent
// belongs to this home: the agent has no process, and the hub, which starts only agents
// with an [[agents]] entry, would not start one.
func (p peers) willWork(_ context.Context, a fika.Agent) error {
	home, err := p.home.ID()
	if err != nil || a.HomeID != home {
		return err // nobody here can know
	}
	state, err := p.home.Folder(a.Name).Inspect()
	if err == nil && state.Held && state.Info.Kind == folder.LockAgent {
		return nil
	}
	c, err := p.app.Config()
	if err != nil {
		return err
	}
	entry := c.Agent(a.Name)
	switch {
	case entry == nil:
		return fika.Errorf(fika.Invalid, "delegate", "not delegated: %s is a context without an agent, and nobody would start it. Give the task to one of the agents, or to the sub-agent tool if you have it; a person makes it an agent with an [[agents]] entry", a.Name)
	case a.Desired.Stopped():
		return fika.WithHint(fika.Errorf(fika.Invalid, "delegate", "not delegated: %s was stopped by hand and stays so until a person starts it", a.Name), hint.AgentStart.With(a.Name))
	case !entry.Wake && !entry.AutoStart:
		return fika.Errorf(fika.Invalid, "delegate", "not delegated: %s does not run, and nobody starts it for a task (wake = false)", a.Name)
	}
	return nil
}

// contextCreator creates contexts that an agent or a plugin asks for.
type contextCreator struct {
	app      *app.App
	home     folder.Home
	store    *store.Store
	username string // the user's name, which no context may have
}

func (c contextCreator) ensureRow(ctx context.Context, name fika.AgentName) (fika.Agent, error) {
	home, err := c.home.ID()
	if err != nil {
		return fika.Agent{}, err
	}
	return c.store.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: home, Definition: c.app.Definition(name)})
}

// create creates a context: folder, prompt, row, in this order, so that the next call
// completes an interrupted one. It reports whether the context is new.
func (c contextCreator) create(ctx context.Context, name fika.AgentName, systemPrompt string) (bool, error) {
	if string(name) == c.username {
		return false, fika.Errorf(fika.Invalid, "create context", "%s is what the user is called", name)
	}
	f, created, err := c.home.Ensure(name)
	if err != nil {
		return false, err
	}
	_, err = c.store.Agent(ctx, name)
	if err != nil && !fika.IsKind(err, fika.NotFound) {
		return false, err
	}
	created = created || err != nil
	if created && systemPrompt != "" {
		if _, err := f.WriteIf(folder.SystemPrompt, "", systemPrompt+"\n"); err != nil && !fika.IsKind(err, fika.Conflict) {
			return false, err
		}
	}
	_, err = c.ensureRow(ctx, name)
	return created, err
}

// ensure creates a context that a plugin asks for, with its prompt. A context that has
// been used, or has a prompt, is left as it is.
func (c contextCreator) ensure(ctx context.Context, want hook.Context) error {
	name, err := fika.ParseAgentName(want.Name)
	if err != nil {
		return err
	}
	created, err := c.create(ctx, name, want.SystemPrompt)
	if err != nil || created || want.SystemPrompt == "" {
		return err
	}
	row, err := c.store.Agent(ctx, name)
	if err != nil || row.ActiveAsk != "" {
		return err
	}
	f := c.home.Folder(name)
	mine, err := f.Read(folder.SystemPrompt)
	if err != nil || strings.TrimSpace(mine.Body) != "" {
		return err
	}
	_, err = f.WriteIf(folder.SystemPrompt, mine.Hash, want.SystemPrompt+"\n")
	return err
}
