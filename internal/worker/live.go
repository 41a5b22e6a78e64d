package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"fika"
	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/hook"
	"fika/internal/store"
	"fika/internal/tool/note"
	"fika/internal/turn"
)

// LiveRuntime gives the turns of a process what its files say now: settings,
// permissions, plugins and keys. Each turn begins with what stands there then;
// what takes something away counts from the next tool step of a running one
// (see [stepHooks]). Files that cannot be read leave what they said last.
//
// It looks at the files with a few stats before each step and reads them only
// when they have changed. It may be used from many goroutines.
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
	trouble string // the last one with a file, told once
}

// LiveRuntime makes this process follow its files, and returns a runtime that
// is what they say. flags are the settings of this invocation; quiet takes none
// from the environment.
func (w *Worker) LiveRuntime(ctx context.Context, o RuntimeOptions, flags map[string]string, quiet bool) (*LiveRuntime, error) {
	w.App.FollowConfig(o.Warn)
	w.Folder.Home = w.Folder.Home.WithCache()
	l := &LiveRuntime{worker: w, opts: o, flags: flags, quiet: quiet, inbox: w.newInbox(o.Warn), versions: &note.Versions{}}
	l.stamp = l.stampFiles()
	r, err := l.runtime(ctx, w.Settings)
	if err != nil {
		return nil, err
	}
	l.opts.Starting, l.now = false, r
	return l, nil
}

func (l *LiveRuntime) runtime(ctx context.Context, s config.Settings) (*Runtime, error) {
	r, err := l.worker.newRuntime(ctx, s, l.opts, l.inbox, l.versions)
	if err == nil {
		r.live = l
	}
	return r, err
}

// stampFiles takes the stamp of everything that a turn depends on and that a
// person may change, but for prompts, which are read when they are used.
func (l *LiveRuntime) stampFiles() config.Stamp {
	h := l.worker.Folder.Home
	paths, _ := l.worker.App.ConfigPaths() // they were known when this process began
	paths = append(paths, l.worker.Folder.LocalConfig(), l.worker.App.KeysFile(), h.PluginsDir())
	dirs, _ := os.ReadDir(h.PluginsDir())
	for _, d := range dirs {
		if d.IsDir() {
			paths = append(paths, filepath.Join(h.PluginsDir(), d.Name(), d.Name()))
		}
	}
	return config.StampOf(paths...).CombinedWith(config.StampOfReplaced(h.MCPDir()))
}

// current returns what the files say now. The error is that of settings that
// can be read and cannot be used: an unknown model, a workspace that is gone.
func (l *LiveRuntime) current(ctx context.Context) (*Runtime, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stamp := l.stampFiles()
	if stamp.SameAs(l.stamp) {
		return l.now, l.now.reopenWorktree(ctx)
	}
	s, err := l.worker.App.Settings(l.worker.Folder.Name, l.flags, l.quiet)
	var unreadable *config.Problems
	if errors.As(err, &unreadable) {
		l.warnOnce(app.BrokenConfig(err) + "; until that is mended the last settings that could be read are in force")
		return l.now, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := l.runtime(ctx, s)
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

// last returns what the files said when they could be used last.
func (l *LiveRuntime) last() *Runtime {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Hooks are those of the plugins that are installed now.
func (l *LiveRuntime) Hooks() hook.Runner { return l.last().hooks }

// BuildModel builds the model of the settings, so that a process which has none
// does not begin. Its error is that of [app.App.Model].
func (l *LiveRuntime) BuildModel() error { return l.last().buildModel() }

// Queue is where the process of an agent finds its work.
func (l *LiveRuntime) Queue() Queue { return Queue{l.worker.Store, l.inbox} }

// Work runs one claimed request with what the files say at its beginning. A
// request whose settings cannot be used fails visibly instead of staying open
// for ever.
func (l *LiveRuntime) Work(ctx context.Context, c store.Claimed, stop <-chan struct{}, o turn.Observer) (turn.Result, error) {
	r, err := l.current(ctx)
	if err == nil {
		err = r.buildModel()
	}
	if err != nil {
		return l.last().failRequest(ctx, c, err, o)
	}
	return r.work(ctx, c, stop, o)
}

// Settings are what the files say now, or said when they could be used last.
func (l *LiveRuntime) Settings() config.Settings {
	_, _ = l.current(context.Background()) // what cannot be used leaves what was
	return l.last().settings
}

// stepHooks are the hooks of a running turn: those of the plugins that are
// installed now. Before a tool runs they also see whether it is permitted now.
type stepHooks struct {
	live  *LiveRuntime
	begun *Runtime // what the turn began with
}

func (r *Runtime) stepHooks() hook.Runner {
	if r.live == nil {
		return r.hooks
	}
	return stepHooks{r.live, r}
}

// Fire implements [hook.Runner]. When it cannot be told what is permitted now,
// a tool is not run.
func (h stepHooks) Fire(ctx context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	if at == hook.PreMessage || at == hook.PreSystemPrompt || at == hook.PostSystemPrompt {
		return h.begun.hooks.Fire(ctx, at, p) // the turn has just begun
	}
	now, err := h.live.current(ctx)
	switch {
	case err != nil && at == hook.PreTool:
		return p, fika.Errorf(fika.Denied, "tool", "what is permitted now cannot be told: %v", err)
	case err != nil:
		now = h.begun
	case at == hook.PreTool && now != h.begun:
		name, _ := p["tool_name"].(string)
		if err := now.tools.Check(name); err != nil {
			return p, err
		}
	}
	return now.hooks.Fire(ctx, at, p)
}
