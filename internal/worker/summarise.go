package worker

import (
	"context"

	"fika"
	"fika/internal/app"
	"fika/internal/llm"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/tool"
	"fika/internal/turn"
	"fika/internal/turn/compaction"
)

// Summarised is a summary of the window of an agent's ongoing conversation.
type Summarised struct {
	Context fika.AgentName
	Summary string
	Entries int    // number of entries read for it
	Model   string // that wrote it; empty if the summary existed
	Taint   string // the outside text that it may hold; empty: none
	Usage   fika.Usage
}

// Summarise summarises an agent's window and changes nothing in it. The context is not
// locked, so the agent may be working meanwhile. The model's usage is recorded in the
// ledger. flags are the settings of this command. Error kinds: Conflict if nothing has
// been said, Provider.
func Summarise(ctx context.Context, a *app.App, name fika.AgentName, flags map[string]string, warn func(string)) (Summarised, error) {
	h, err := a.Home()
	if err != nil {
		return Summarised{}, err
	}
	settings, err := a.Settings(name, flags, false)
	if err != nil {
		return Summarised{}, err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return Summarised{}, err
	}
	row, err := s.Agent(ctx, name)
	if err != nil {
		return Summarised{}, err
	}
	model, err := a.Model(settings)
	if err != nil {
		return Summarised{}, err
	}
	source := compactionSource{PromptSource{Folder: h.Folder(name), Project: ProjectFilesOf(a)}}
	return summary{store: s, agent: row, settings: settings, source: source, model: model, warn: warn}.write(ctx)
}

// Summarise is the function [Summarise] for the process of the agent. model writes the
// summary; empty means the agent's own.
func (l *LiveRuntime) Summarise(ctx context.Context, model string) (Summarised, error) {
	w := l.worker
	settings := l.Settings()
	if model != "" {
		var err error
		if settings, err = w.App.Settings(w.Folder.Name, map[string]string{"model": model}, l.quiet); err != nil {
			return Summarised{}, err
		}
	}
	row, err := w.Store.Agent(ctx, w.Folder.Name) // its active conversation may have changed
	if err != nil {
		return Summarised{}, err
	}
	m, err := w.App.Model(settings)
	if err != nil {
		return Summarised{}, err
	}
	source := compactionSource{PromptSource{Folder: w.Folder, Project: ProjectFilesOf(w.App)}}
	return summary{store: w.Store, agent: row, settings: settings, source: source, model: m, warn: l.opts.Warn}.write(ctx)
}

// summary is one requested summary.
type summary struct {
	store    *store.Store
	agent    fika.Agent
	settings config.Settings
	source   compaction.Source
	model    llm.Model
	warn     func(string)
}

// read reads the agent's window, and returns it with a compactor that can summarise it.
func (y summary) read(ctx context.Context) (*compaction.Compactor, compaction.History, error) {
	c := compaction.New(compaction.Config{
		Store: y.store, Model: y.model, ModelID: y.settings.Model.ID, Window: y.settings.ContextWindow, Source: y.source, Context: string(y.agent.Name), Warn: y.warn,
		Save: func(context.Context, string, string) error { return nil }, // its summary has a file
	})
	if y.agent.ActiveAsk == "" {
		return c, compaction.History{}, nil
	}
	conv, err := y.store.ConversationByID(ctx, y.agent.ActiveAsk)
	if err != nil {
		return c, compaction.History{}, err
	}
	h, err := c.History(ctx, conv, y.agent, 0)
	return c, h, err
}

func (y summary) write(ctx context.Context) (Summarised, error) {
	out := Summarised{Context: y.agent.Name}
	c, h, err := y.read(ctx)
	if err != nil {
		return out, err
	}
	for _, u := range h.Units {
		out.Entries += len(u.Entries)
	}
	out.Taint = h.TaintOf()
	out.Summary, out.Usage, err = c.Summarise(ctx, h)
	if out.Entries > 0 { // otherwise no model was called
		out.Model = y.settings.Model.ID
	}
	if out.Usage != (fika.Usage{}) { // even if a later part has failed
		y.book(ctx, out.Usage)
	}
	return out, err
}

// book records the model's usage in the ledger.
func (y summary) book(ctx context.Context, u fika.Usage) {
	if err := y.store.BookSummary(context.WithoutCancel(ctx), y.agent, y.settings.Model.ID, u); err != nil {
		y.warn("what the summary took is missing in " + hint.Usage.With() + ": " + err.Error())
	}
}

// summaryConfig turns a turn into one whose answer is a summary of the window of the
// agent that was asked. That may be another agent: a backup summarises the window of
// the agent that it stands in for.
func (r *Runtime) summaryConfig(ctx context.Context, conf turn.Config, c store.Claimed, s config.Settings, m llm.Model) (turn.Config, error) {
	w := r.worker
	info, err := w.Store.Request(ctx, c.Request.ID)
	if err != nil {
		return conf, err
	}
	row, err := w.Store.Agent(ctx, info.AskedName())
	if err != nil {
		return conf, err
	}
	y := summary{store: w.Store, agent: row, settings: s, model: m, warn: r.opts.Warn}
	y.source = compactionSource{PromptSource{Folder: w.Folder.Home.Folder(row.Name), Project: ProjectFilesOf(w.App)}}
	writer := summaryWriter{summary: y}
	if writer.compactor, writer.history, err = y.read(ctx); err != nil {
		return conf, err
	}
	conf.Model, conf.Choice, conf.Compactor, conf.Check = writer, turn.Choice{}, nil, nil
	conf.Taint = fika.Taint{From: writer.history.TaintOf()}
	conf.Tools, err = tool.NewSet(nil, tool.Permissions{})
	return conf, err
}

// summaryWriter replaces the model in a turn whose answer is a summary.
type summaryWriter struct {
	summary
	compactor *compaction.Compactor
	history   compaction.History
}

// Generate implements [llm.Model]: its answer is always the summary.
func (y summaryWriter) Generate(ctx context.Context, _ llm.Request, _ func(llm.Event) error) (llm.Response, error) {
	text, used, err := y.compactor.Summarise(ctx, y.history)
	switch {
	case fika.IsKind(err, fika.Conflict):
		return llm.Response{Text: "Nothing has been said to @" + string(y.agent.Name) + " yet."}, nil
	case err != nil && used != (fika.Usage{}): // no step of the turn records this usage
		y.book(ctx, used)
	}
	return llm.Response{Text: text, Usage: used}, err
}
