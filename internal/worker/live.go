package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/hook"
	"fika/internal/extension/skill"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/tool/note"
	"fika/internal/turn"
)

// LiveRuntime gives the turns of a process what its files say now: settings,
// permissions, plugins and keys. Each turn begins with the current files. Restrictions
// take effect from the next tool step of a running turn (see [stepHooks]). If files
// cannot be read, their last readable contents stay in force.
//
// It checks the files with a few stats before each step, and reads them only if they
// have changed. It is safe for concurrent use.
type LiveRuntime struct {
	worker   *Worker
	opts     RuntimeOptions
	flags    map[string]string
	quiet    bool
	inbox    *inbox
	versions *note.Versions

	mu      sync.Mutex
	stamp   config.Stamp
	now     *Runtime
	trouble string // the last trouble with a file, reported once

	tasks map[place]*Runtime // of now, for turns under way in the worktrees of tasks

	turns  atomic.Int32 // under way
	landed string       // what had landed when the worktree was last brought there; of the first of the turns under way
}

// LiveRuntime makes this process follow its files, and returns a runtime for their
// contents. flags are the settings of this command; quiet ignores settings from the
// environment.
func (w *Worker) LiveRuntime(ctx context.Context, o RuntimeOptions, flags map[string]string, quiet bool) (*LiveRuntime, error) {
	w.App.FollowConfig(o.Warn)
	w.Folder.Home = w.Folder.Home.WithCache()
	l := &LiveRuntime{worker: w, opts: o, flags: flags, quiet: quiet, inbox: w.newInbox(o.Warn), versions: &note.Versions{}, tasks: map[place]*Runtime{}}
	l.stamp = l.stampFiles()
	if o.Waits {
		w.openJobs(l)
	}
	r, err := l.runtime(ctx, w.Settings, place{})
	if err != nil {
		return nil, err
	}
	l.opts.Starting, l.now = false, r
	return l, nil
}

// place is where turns work: in the worktree of a task, as one that works it or looks at
// what was done. The zero value stands for the agent's own place.
type place struct {
	task   fika.TaskNumber
	review bool
}

func (o RuntimeOptions) place() place { return place{o.Task, o.Review} }

// placeOf returns where a request is worked. What is reviewed is looked at where it was made,
// if that is a worktree.
func (l *LiveRuntime) placeOf(q fika.Request) place {
	if q.Payload.Review == 0 {
		return place{task: q.Task}
	}
	tree, err := l.worker.App.Worktree(l.worker.Folder.Name)
	if err != nil || !tree.ForTask(q.Payload.Review).IsMade() {
		return place{}
	}
	return place{q.Payload.Review, true}
}

func (l *LiveRuntime) runtime(ctx context.Context, s config.Settings, at place) (*Runtime, error) {
	o := l.opts
	o.Task, o.Review = at.task, at.review
	r, err := l.worker.newRuntime(ctx, s, o, l.inbox, l.versions)
	if err == nil {
		r.live = l
	}
	return r, err
}

// stampFiles returns the stamp of everything that a turn depends on and a person may
// change, except for prompts, which are read when they are used.
func (l *LiveRuntime) stampFiles() config.Stamp {
	h := l.worker.Folder.Home
	paths, _ := l.worker.App.ConfigPaths() // they were known when this process began
	paths = append(paths, l.worker.Folder.LocalConfig(), l.worker.App.KeysFile(), l.worker.App.LentKeysDir(), h.PluginsDir())
	dirs, _ := os.ReadDir(h.PluginsDir())
	for _, d := range dirs {
		if d.IsDir() {
			paths = append(paths, filepath.Join(h.PluginsDir(), d.Name(), d.Name()))
		}
	}
	settings := l.worker.Settings
	if l.now != nil {
		settings = l.now.settings
	}
	if len(settings.Skills) > 0 {
		paths = append(paths, skill.Stamped(l.worker.App.SkillPlaces())...)
	}
	return config.StampOf(paths...).CombinedWith(config.StampOfReplaced(h.MCPDir()))
}

// current returns the runtime for the current files, for turns that work in a place.
// The error is for settings that can be read but not used: an unknown model, a missing
// workspace.
func (l *LiveRuntime) current(ctx context.Context, at place) (*Runtime, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	base, err := l.refresh(ctx)
	if err != nil || at.task == 0 || !at.review && !base.settings.Worktree {
		return base, err
	}
	if r := l.tasks[at]; r != nil && r.base == base {
		return r, r.reopenWorktree(ctx)
	}
	r, err := l.runtime(ctx, base.settings, at)
	if err != nil {
		return nil, err
	}
	r.base, l.tasks[at] = base, r
	return r, nil
}

// refresh returns the runtime for the current files and no task.
func (l *LiveRuntime) refresh(ctx context.Context) (*Runtime, error) {
	stamp := l.stampFiles()
	if stamp.SameAs(l.stamp) {
		return l.now, l.now.reopenWorktree(ctx)
	}
	s, err := l.worker.App.Settings(l.worker.Folder.Name, l.flags, l.quiet)
	var unreadable *config.Problems
	if errors.As(err, &unreadable) {
		l.warnOnce(app.BrokenConfig(err) + "; using the last valid settings until this is fixed")
		return l.now, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := l.runtime(ctx, s, place{})
	if err != nil {
		return nil, err
	}
	l.now, l.stamp, l.trouble = r, stamp, ""
	return r, nil
}

func (l *LiveRuntime) warnOnce(text string) {
	if l.trouble != text {
		l.trouble = text
		l.opts.Warn(text)
	}
}

// last returns the runtime for the last usable files.
func (l *LiveRuntime) last() *Runtime {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Hooks returns the hooks of the plugins that are installed now.
func (l *LiveRuntime) Hooks() hook.Runner { return l.last().hooks }

// BuildModel builds the model of the settings, so that a process without a usable model
// does not start. Its error is that of [app.App.Model].
func (l *LiveRuntime) BuildModel() error { return l.last().buildModel() }

// Queue returns the queue from which the process of an agent takes its work.
func (l *LiveRuntime) Queue() Queue { return Queue{l.worker.Store, l.inbox} }

// Work runs one claimed request with what the files say at its beginning. A request
// whose settings cannot be used fails visibly instead of staying open for ever.
func (l *LiveRuntime) Work(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (turn.Result, error) {
	at := l.placeOf(c.Request)
	r, err := l.current(ctx, at)
	if err == nil {
		err = r.buildModel()
	}
	if err != nil {
		return l.last().failRequest(ctx, c, err, o)
	}
	// Of several turns at once in one tree, the first one begins with what has landed.
	own := r.opts.Task == 0
	if first := own && l.turns.Add(1) == 1; first || !own && !at.review {
		if err := l.followLanding(ctx, r, c); err != nil {
			l.opts.Warn("the worktree stays as it is: " + err.Error())
		}
	}
	if own {
		defer l.turns.Add(-1)
	} else {
		defer l.leave(at)
	}
	files := r.carrier()
	if files != nil {
		if err := files.begin(ctx, c); err != nil {
			l.opts.Warn(err.Error())
		}
	}
	res, err := r.work(ctx, c, stop, o)
	if files != nil && err == nil && !res.State.Terminal() { // an outcome comes after the push
		files.push(ctx)
	}
	return res, err
}

// leave forgets the runtime of a place in which no turn works any more.
func (l *LiveRuntime) leave(at place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tasks, at)
}

// Settings returns the current settings, or the last usable ones.
func (l *LiveRuntime) Settings() config.Settings {
	_, _ = l.current(context.Background(), place{}) // on an error the last usable settings stay
	return l.last().settings
}

// stepHooks are the hooks of a running turn: those of the plugins that are installed
// now. Before a tool runs, they also check whether it is permitted now.
type stepHooks struct {
	live  *LiveRuntime
	begun *Runtime // the runtime that the turn began with
	lent  *lent
}

func (r *Runtime) stepHooks(l *lent) hook.Runner {
	if r.live == nil {
		return r.hooks
	}
	return stepHooks{r.live, r, l}
}

// Fire implements [hook.Runner]. If the current permissions cannot be read, a tool is
// not run.
func (h stepHooks) Fire(ctx context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	if at == hook.PreMessage || at == hook.PreSystemPrompt || at == hook.PostSystemPrompt {
		return h.begun.hooks.Fire(ctx, at, p) // the turn has just begun
	}
	now, err := h.live.current(ctx, h.begun.opts.place())
	switch {
	case err != nil && at == hook.PreTool:
		return p, fika.Errorf(fika.Denied, "tool", "what is permitted now cannot be told: %v", err)
	case err != nil:
		now = h.begun
	case at == hook.PreTool && now != h.begun:
		name, _ := p["tool_name"].(string)
		if slices.Contains(h.lent.names(), name) && !slices.Contains(now.settings.ToolsOff, name) {
			break
		}
		if err := now.tools.Check(name); err != nil {
			return p, err
		}
	}
	return now.hooks.Fire(ctx, at, p)
}
