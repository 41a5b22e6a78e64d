package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/chat/attachment"
	"fika/internal/llm"
	"fika/internal/report/trace"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/note"
	"fika/internal/turn"
	"fika/internal/turn/prompt"
	"fika/internal/workflow"
)

// work runs one claimed request. A request whose model cannot be built fails visibly
// instead of staying open for ever.
func (r *Runtime) work(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (turn.Result, error) {
	defer r.versions.Forget(c.Request.ID)
	engine, err := r.engine(ctx, c, stop, o)
	if err != nil {
		return r.failRequest(ctx, c, err, o)
	}
	return r.runTurn(ctx, engine, c)
}

// failRequest ends a request that cannot be worked, and reports why in the chat and to
// the observer.
func (r *Runtime) failRequest(ctx context.Context, c store.Claimed, cause error, o turn.Observer) (turn.Result, error) {
	kind := fika.KindOf(cause)
	f := store.Finish{
		State: fika.RequestFailed, Reason: cause.Error(), TTL: r.settings.Chat.MessageTTL,
		Outcome: fika.Outcome{Error: cause.Error(), ErrorKind: kind},
	}
	if c.Conversation.Kind == fika.Chat {
		f.Notice = "@" + string(c.Agent.Name) + " did not answer: " + cause.Error()
	}
	done, err := r.worker.Store.Finish(context.WithoutCancel(ctx), c.Fence, f)
	if err != nil {
		return turn.Result{}, err
	}
	res := turn.Result{State: fika.RequestFailed, Reason: cause.Error(), Kind: kind, Outcome: done.Request.Outcome, Entries: done.Entries}
	o.Observe(turn.Event{Kind: turn.Committed, Claimed: &c, Entries: done.Entries, Notified: done.Notified})
	o.Observe(turn.Event{Kind: turn.Ended, Claimed: &c, Outcome: &res})
	return res, nil
}

// engine builds the turn engine for one request, which may name its own model.
func (r *Runtime) engine(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (*turn.Engine, error) {
	settings, models := r.settings, r.models
	if m := c.Request.Payload.Model; m != "" && m != r.opts.Model {
		var err error
		settings, err = r.worker.App.Settings(r.worker.Folder.Name, map[string]string{"model": m}, true)
		if err != nil {
			return nil, err
		}
		if models, err = r.worker.App.ModelsOf(settings); err != nil {
			return nil, err
		}
	}
	if err := checkPictures(settings, c.Request.Payload.Attachments); err != nil {
		return nil, err
	}
	conf := r.turnConfig(c, settings, models, stop, o)
	var err error
	if conf.Executor, err = r.executor(ctx); err != nil {
		return nil, err
	}
	if l := r.lentTo(ctx, c); l != nil {
		conf.Tools, conf.Hooks, conf.Guard = l.set, r.stepHooks(l), liveGuard{begun: r, lent: l}
		conf.Bounds = liveBounds{r, c.Conversation.ID, r.workspaceOf(c.Request), l}
	}
	conf.Trace = r.traceparent(ctx, c.Request)
	if c.Request.Payload.Summary {
		if conf, err = r.summaryConfig(ctx, conf, c, settings, models[0]); err != nil {
			return nil, err
		}
	}
	return turn.New(conf), nil
}

// checkPictures refuses pictures for an agent if any of its models takes none, because
// any of them may be called.
func checkPictures(s config.Settings, pictures []fika.Attachment) error {
	for _, u := range s.All() {
		if u.Model.Images == config.ImagesRefused && len(pictures) > 0 {
			return fika.Errorf(fika.Invalid, "", "the model %s takes no pictures (images = \"refuse\" in its [[models]]): choose another with -m", u.Model.ID)
		}
	}
	return nil
}

// choice says how a turn chooses among several models, which are built in the order of
// the settings.
func (r *Runtime) choice(s config.Settings, models []llm.Model) turn.Choice {
	var c turn.Choice
	for i, u := range s.All()[1:] {
		c.Further = append(c.Further, turn.Model{
			Provider: models[i+1], ID: u.Model.ID, Window: u.ContextWindow, MaxTokens: u.MaxTokens,
			Reasoning: reasoningOf(u.Reasoning), Picture: r.picture(u.Model),
		})
	}
	for _, rule := range s.Choice.Rules {
		c.Rules = append(c.Rules, turn.ModelRule{Tokens: rule.Tokens, Offered: rule.Offered, Used: rule.Used, Attempt: rule.Attempt, Use: s.Choice.Index(rule.Use)})
	}
	c.Escalate = s.Choice.Escalate
	return c
}

// picture returns a reader of the pictures that a model is shown; nil for a model that
// takes none.
func (r *Runtime) picture(m config.Model) turn.Picture {
	if m.Images != "" && m.Images != config.ImagesSent {
		return nil
	}
	return attachment.StoreIn(r.worker.Folder.Home.Root).Read
}

// runTurn works a request, for as long as the settings allow. The time spent asking a
// person does not count.
func (r *Runtime) runTurn(ctx context.Context, e *turn.Engine, c store.Claimed) (turn.Result, error) {
	if d := r.settings.TurnTimeout; d > 0 {
		var cancel func()
		var at *deadline
		ctx, at, cancel = withDeadline(ctx, d)
		defer cancel()
		if r.opts.Ask != nil { // then it works one turn
			r.deadline = at
		}
	}
	res, err := e.Run(ctx, c)
	if res.State == fika.Waiting {
		err = errors.Join(err, r.followBudgets(context.WithoutCancel(ctx)))
	}
	return res, err
}

// followBudgets makes work that this turn found without room in a budget be looked at
// again if the budgets have changed since: the process that changed them did not see it
// wait.
func (r *Runtime) followBudgets(ctx context.Context) error {
	if r.live == nil || slices.Equal(r.settings.Budgets, r.live.Settings().Budgets) {
		return nil
	}
	return r.worker.Store.LookAgain(ctx)
}

// traceparent returns what model calls are told of the trace that they belong to; empty: no
// traces are sent.
func (r *Runtime) traceparent(ctx context.Context, q fika.Request) string {
	c, err := r.worker.App.Config()
	if err != nil || c.OTLP.Endpoint == "" {
		return ""
	}
	meta, err := r.worker.Store.Meta(ctx)
	if err != nil {
		return "" // the turn will say what is wrong with the store
	}
	return trace.Parent(meta.StoreID, q.Chain, q.ID)
}

func (r *Runtime) turnConfig(c store.Claimed, s config.Settings, models []llm.Model, stop <-chan struct{}, o turn.Observer) turn.Config {
	w := r.worker
	name := w.Agent.Name
	return turn.Config{
		Store: r.turnStore(), Model: models[0], ModelID: s.Model.ID, Choice: r.choice(s, models), Window: s.ContextWindow, MaxTokens: s.MaxTokens,
		Reasoning: reasoningOf(s.Reasoning), Tools: r.tools, Hooks: r.stepHooks(nil), Prompt: r.promptAssembler(c.Request), Limits: w.App.TurnLimits(s), TTL: s.Chat.MessageTTL,
		Patience: patienceFor(c, s), CompactAt: s.AutoCompactThreshold, WarnAt: s.WarnThresholdPercent, MaxRounds: s.MaxRecursionDepth,
		Call:  tool.Call{Agent: name, Context: string(name), Conversation: c.Conversation.ID, Workspace: r.workspaceOf(c.Request), Username: r.usernameOf(c.Request)},
		Guard: liveGuard{begun: r}, GuestGuard: liveGuard{begun: r, asks: true}, Bounds: liveBounds{r, c.Conversation.ID, r.workspaceOf(c.Request), nil},
		Callable: func(ctx context.Context, to fika.AgentName) string { return r.peers().callable(ctx, name, to) },
		Ask:      r.ask(), AskFor: s.Guard.ApprovalTimeout, Check: formOf(c.Request.Payload), Schema: schemaOf(c.Request.Payload),
		Picture: r.picture(s.Model),
		Grace:   r.opts.Grace, Stop: stop, Now: w.Store.Now,
		Mentioned: func(ctx context.Context, conv fika.Conversation, text string) ([]fika.AgentName, error) {
			return r.chats.Mentioned(ctx, conv, name, text)
		},
		Guest: r.guestFor(c), Work: r.workOf(c.Request),
		Observer:  turn.Observers{mirrorObserver{w.Mirror}, r.watchCommands(c.Request), o},
		Compactor: r.autoCompactor(c, s, models[0]), Continuation: r.continuation(c, o),
		Summary: func(context.Context) (string, error) { return w.Summary().Text() },
	}
}

// continuation returns a reader of the text that introduces a summary.
func (r *Runtime) continuation(c store.Claimed, o turn.Observer) func() string {
	return func() string {
		text, err := r.worker.Folder.Home.Prompt(folder.ContinuationPrompt, ProjectFilesOf(r.worker.App).prompts()...)
		if err != nil {
			o.Observe(turn.Event{Kind: turn.Warning, Claimed: &c, Text: err.Error()})
		}
		return text
	}
}

// patienceFor returns how long a request waits for a provider that fails.
func patienceFor(c store.Claimed, s config.Settings) time.Duration {
	if r := c.Request; r.Parent != "" || r.Payload.Background || c.Conversation.Run != "" {
		return s.PatienceBackground
	}
	return s.Patience
}

// formOf returns the check of an answer that has to be JSON; nil if it may be any text.
func formOf(p fika.Payload) func(string) error {
	if p.Form == nil {
		return nil
	}
	step := workflow.Step{Output: workflow.OutputJSON, Schema: p.Form.Schema}
	return func(text string) error {
		_, err := step.CheckOutput(text)
		return err
	}
}

// schemaOf returns the schema that a provider can hold the answer to: all of them want that
// of an object; nil if there is none.
func schemaOf(p fika.Payload) json.RawMessage {
	var s struct {
		Type string `json:"type"`
	}
	if p.Form == nil || json.Unmarshal(p.Form.Schema, &s) != nil || s.Type != "object" {
		return nil
	}
	return p.Form.Schema
}

// promptAssembler builds the prompt of one request, and records which version of the
// notes it was shown.
func (r *Runtime) promptAssembler(q fika.Request) *prompt.Assembler {
	w := r.worker
	files := ProjectFilesOf(w.App)
	if r.settings.Worktree {
		files.Roots = append(files.Roots, BothNames(r.settings.Workspace)...)
	}
	has := offers(r.tools)
	if all := has; r.settings.Engine == config.EngineACP {
		has = func(name string) bool { return slices.Contains(tableTools(), name) && all(name) }
	}
	team := newTeam(w.App, w.Store, w.Folder.Name, has)
	return &prompt.Assembler{
		Source: PromptSource{Folder: w.Folder, Settings: r.settings, Project: files, Workspace: r.workspaceOf(q), Now: w.App.Now(), Quiet: r.opts.NoReflection, Skilled: r.toolbox.skills(),
			Saw: func(n note.Name, v folder.Hash) { r.versions.MarkSeen(q.ID, n, note.Version(v)) }},
		Hooks: r.hooks, Agent: w.Agent.Name, Context: string(w.Folder.Name), Username: r.usernameOf(q),
		Colleagues: team.block(), Company: team.company,
	}
}

// reasoningOf returns the reasoning that the settings ask the model for.
func reasoningOf(r *config.Reasoning) *llm.Reasoning {
	switch {
	case r == nil:
		return nil
	case !r.Enabled:
		return &llm.Reasoning{Effort: "none"}
	case r.Effort == "" && r.MaxTokens == 0:
		return &llm.Reasoning{Effort: "medium"}
	default:
		return &llm.Reasoning{Effort: r.Effort, MaxTokens: r.MaxTokens}
	}
}

// mirrorObserver makes the files of the context follow what is committed. Errors are
// ignored: the next opening repairs the files.
type mirrorObserver struct{ mirror *folder.Mirror }

// Observe appends committed entries of the agent's ask conversations.
func (o mirrorObserver) Observe(ev turn.Event) {
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
		_ = o.mirror.Append(context.Background(), entries...)
	}
}

// EndStep ends what a step of a crashed owner left running: its process group and
// everything that carries its mark.
func EndStep(ctx context.Context, s fika.Step) {
	if s.Proc.PID != 0 {
		_ = process.EndGroup(ctx, s.Proc, 2*time.Second)
	}
	process.EndMarked(fmt.Sprintf("%s/%d", s.Request, s.N))
}
