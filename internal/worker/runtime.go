package worker

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/extension/editor"
	"fika/internal/extension/hook"
	"fika/internal/extension/plugin"
	"fika/internal/llm"
	"fika/internal/settings/config"
	"fika/internal/text/hint"
	"fika/internal/tool"
	"fika/internal/tool/board"
	"fika/internal/tool/note"
	"fika/internal/tool/offer"
	"fika/internal/tool/peer"
	"fika/internal/turn"
)

// RuntimeOptions say what turns are run for, and who is told about them.
type RuntimeOptions struct {
	Dir  string          // workspace, unless the settings name one
	Task fika.TaskNumber // of the board, in whose worktree the turns work if the agent has one; 0: in the agent's own
	// Review means that the turns look at the work on Task, and change nothing.
	Review bool
	// NoReflection leaves the agent's notes for itself out of the prompt.
	NoReflection bool
	Waits        bool // an agent's process: its turns can be suspended
	Verbose      bool
	Starting     bool      // a run or an agent's process begins
	Stdin        io.Reader // lent to plugins; other tools get no terminal
	Stderr       io.Writer // for messages of plugins to the person; nil: discarded
	Warn         func(string)
	Notify       chat.Notifier
	// Grace is how long an answer is held that the store refuses.
	Grace time.Duration
	Model string     // of this command; already applied to the settings
	Store turn.Store // usually the worker's own
	Ask   Asker      // asks the person at the terminal; nil: nobody is there
	Board board.Desk // nil: its tools are not offered
	// Landing takes what the tool offer offers; nil: that is not there.
	Landing offer.Desk
	// Workflows finds what the tool run_workflow runs; nil: that is not there.
	Workflows peer.Workflows
}

// Runtime is what the turns of a worker run with: tools, hooks, prompt, settings. One
// Runtime serves all requests of a process until its files change.
type Runtime struct {
	worker    *Worker
	opts      RuntimeOptions
	settings  config.Settings
	toolbox   Toolbox
	hooks     hook.Runner
	tools     *tool.Set
	own       []tool.Tool // those of tools that no MCP server has
	served    []tool.Tool // those of MCP servers
	permits   tool.Permissions
	chats     *chat.Chats
	workspace string
	versions  *note.Versions
	inbox     *inbox
	plugged   map[string]bool                              // tools that start processes which may change something
	listen    func(context.Context) (io.ReadCloser, error) // opens the person's terminal; returns nil if nobody is there
	deadline  *deadline                                    // of the turn that can ask a person; nil: none
	live      *LiveRuntime                                 // nil: the files are not followed
	base      *Runtime                                     // of the same files, for the turns that work no task; nil: this is it

	building sync.Mutex
	models   []llm.Model // for requests that name no model, first choice first; safe for concurrent use
}

// newRuntime collects tools and hooks for a worker with settings.
func (w *Worker) newRuntime(ctx context.Context, s config.Settings, o RuntimeOptions, in *inbox, versions *note.Versions) (*Runtime, error) {
	if err := w.App.Children().Adopt(); err != nil {
		o.Warn(err.Error() + "; what a tool leaves running may outlive its call")
	}
	if o.Store == (turn.Store{}) {
		o.Store = turn.StoreOf(w.Store)
	}
	if o.Review {
		s.Worktree, s.ToolPermissions = true, readingOnly(s.ToolPermissions)
	}
	box := NewToolbox(w.App, w.Folder, s)
	box.readOnly = o.Review
	if tree, ok := box.worktree(); ok && o.Task > 0 {
		s.Workspace = tree.ForTask(o.Task).Dir()
		box.settings, box.task = s, o.Task
	}
	r := &Runtime{
		worker: w, opts: o, settings: s, toolbox: box, chats: chat.New(w.Store, o.Notify),
		workspace: s.WorkspaceOr(o.Dir), versions: versions, inbox: in,
	}
	r.chats.PoolOf = w.App.PoolOf
	if err := r.openWorkspace(ctx); err != nil {
		return nil, err
	}
	r.toolbox.keys = w.App.Secrets()
	if s.Tools.Executor == "" { // else the commands run elsewhere
		r.toolbox.jobs = w.jobs
	}
	return r, r.openTools(ctx)
}

// openTools opens the plugins, and builds the set of all tools.
func (r *Runtime) openTools(ctx context.Context) error {
	use := PluginUse{
		Workspace: r.workspace, Starting: r.opts.Starting, Verbose: r.opts.Verbose,
		Stdin: r.opts.Stdin, Stderr: r.opts.Stderr, Warn: r.opts.Warn,
	}
	keys := r.toolbox.keys
	if keys != nil && use.Stderr != nil {
		use.Stderr = redactedWriter{use.Stderr, keys}
	}
	tools := append(r.toolbox.builtins(), r.agentTools()...)
	use.Reserved = toolNames(tools)
	plugins, err := plugin.Open(ctx, r.toolbox.PluginOptions(use))
	if err != nil {
		return err
	}
	r.hooks = redactedHooks{plugins, keys}
	r.plugged, r.listen = map[string]bool{}, plugins.Listen
	for _, t := range plugins.Tools() {
		r.plugged[t.Spec().Name] = t.Spec().Effect != fika.Pure
		tools = append(tools, tool.WithLimit(t, r.toolbox.outputLimits()))
	}
	r.own = tools
	r.served, r.permits = r.serverTools(ctx, toolNames(tools))
	r.tools, err = r.toolSet(nil)
	return err
}

// toolSet returns the set of all tools, with more that are permitted.
func (r *Runtime) toolSet(more []tool.Tool) (*tool.Set, error) {
	p := r.permits
	if p.Allow != nil {
		p.Allow = slices.Concat(p.Allow, toolNames(more))
	}
	set, err := tool.NewSet(slices.Concat(r.own, r.deferMany(slices.Concat(r.served, more), p)), withCompanions(p))
	if err != nil {
		return nil, err
	}
	if len(more) == 0 {
		set.ExplainMissing(editor.IsMissing)
	}
	set.RedactWith(r.toolbox.keys)
	return set, nil
}

// openWorkspace creates the worktree of an agent or a task that has one, and returns an
// error if the workspace is not a folder.
func (r *Runtime) openWorkspace(ctx context.Context) error {
	name := r.worker.Folder.Name
	if r.settings.Worktree {
		tree, err := r.worker.App.Worktree(name)
		if err != nil {
			return err
		}
		tree = tree.ForTask(r.opts.Task)
		if c := r.carrier(); c != nil {
			if err := c.open(ctx); err != nil {
				return err
			}
		}
		made, kept, err := tree.Open(ctx)
		if err != nil {
			return err
		}
		if c := r.carrier(); c != nil {
			if err := c.retry(ctx); err != nil {
				return err
			}
		}
		if kept != "" {
			r.opts.Warn(fmt.Sprintf("the worktree of @%s is a clone now; its changes that were not committed are in it, and what it was is kept in %s", name, kept))
		}
		if made && r.opts.Task == 0 {
			r.opts.Warn(fmt.Sprintf("@%s works in a git worktree of its own, %s, a clone of your repository; %s shows its work, %s brings it to you, %s looks around in it", name, tree.Root, hint.AgentDiff.With(name), hint.AgentMerge.With(name), hint.AgentShell.With(name)))
		}
	}
	return CheckWorkspace(r.workspace, name)
}

// reopenWorktree creates the worktree again if it has been discarded.
func (r *Runtime) reopenWorktree(ctx context.Context) error {
	if !r.settings.Worktree {
		return nil
	}
	if _, err := os.Lstat(r.workspace); err == nil {
		return nil
	}
	return r.openWorkspace(ctx)
}

// CanOpenWorkspace returns why an agent with these settings could not work in the
// workspace that they name; nil if they name none.
func CanOpenWorkspace(a *app.App, s config.Settings) error {
	switch {
	case s.Worktree:
		tree, err := a.Worktree(s.Agent)
		if err != nil {
			return err
		}
		return tree.Check(context.Background())
	case s.Workspace == "":
		return nil
	}
	return CheckWorkspace(s.Workspace, s.Agent)
}

// CheckWorkspace returns Invalid if a workspace is not a folder.
func CheckWorkspace(dir string, name fika.AgentName) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fika.Errorf(fika.Invalid, "workspace", "%s is not a folder: mkdir -p %s, or change workspace in the settings of %q", dir, dir, name)
	}
	return nil
}

// Hooks returns the hooks of the plugins that existed when the runtime was made.
func (r *Runtime) Hooks() hook.Runner { return r.hooks }

// buildModel builds the models of the settings, once. Its error is that of
// [app.App.Model], or of kind Invalid if money is limited and the model has no known
// price.
func (r *Runtime) buildModel() error {
	r.building.Lock()
	defer r.building.Unlock()
	if r.models != nil {
		return nil
	}
	for _, u := range r.settings.All() {
		if r.settings.Chat.MaxCostPerChain > 0 && !u.Model.PriceKnown() && !u.Model.IsGuest() {
			return fika.Errorf(fika.Invalid, "max_cost_per_chain", "%s", config.UnpricedWarning(u.Model.ID, ""))
		}
	}
	list, err := r.worker.App.ModelsOf(r.settings)
	if err == nil {
		r.models = list
	}
	return err
}

// workspaceOf returns the root of file tools for a request: the current folder of the
// person who made it, unless the settings name a workspace.
func (r *Runtime) workspaceOf(q fika.Request) string {
	dir := q.Payload.Workspace
	if r.settings.Workspace != "" || q.Payload.Writer != fika.ByHuman || !filepath.IsAbs(dir) {
		return r.workspace
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return r.workspace
	}
	return dir
}

// usernameOf returns the name of the person who made a request.
func (r *Runtime) usernameOf(q fika.Request) string {
	if p := q.Payload; p.Writer == fika.ByHuman && p.From != "" && p.Sender == "" {
		return p.From
	}
	return r.settings.Username
}
