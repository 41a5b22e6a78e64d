package contexts

import (
	"context"
	"fmt"
	"os"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/extension/hook"
	"fika/internal/settings/folder"
	"fika/internal/worker"
)

// Info is a context as lists show it.
type Info struct {
	Name     fika.AgentName
	Current  bool
	Previous bool
	Exists   bool // false if the current context has not been made yet
	Lock     folder.LockState
	Updated  time.Time // when its mirror was last written; zero: never
}

// Process reports whether the context is held by its agent's own process.
func (c Info) Process() bool { return c.Lock.Held && c.Lock.Info.Kind == folder.LockAgent }

// List returns the contexts by name, and the names in contexts/ that cannot be
// contexts. It only reads files and takes no lock.
func List(a *app.App) (list []Info, strange []string, err error) {
	h, err := a.Home()
	if err != nil {
		return nil, nil, err
	}
	state, err := h.State()
	if err != nil {
		return nil, nil, err
	}
	names, strange, err := h.List()
	if err != nil {
		return nil, nil, err
	}
	there := false
	for _, n := range names {
		there = there || n == state.Current
		c, err := readInfo(h.Folder(n), state)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, c)
	}
	if !there {
		list = append([]Info{{Name: state.Current, Current: true, Lock: folder.LockState{Status: folder.LockFree}}}, list...)
	}
	return list, strange, nil
}

func readInfo(f folder.Folder, state folder.State) (Info, error) {
	c := Info{Name: f.Name, Current: f.Name == state.Current, Previous: f.Name == state.Previous, Exists: true}
	if st, err := os.Stat(f.Path() + "/context.jsonl"); err == nil && st.Size() > 0 {
		c.Updated = st.ModTime()
	}
	var err error
	c.Lock, err = f.Inspect()
	return c, err
}

// CreateOptions describes a context to be made.
type CreateOptions struct {
	Who       api.Principal // who makes it
	Prompt    string        // its system prompt; empty: the default one
	IfMissing bool          // an existing one is not an error, and is left as it is
	Wait      time.Duration
}

// Create makes a context. It returns false if the context already exists, which is an
// error of kind Conflict without IfMissing.
func Create(ctx context.Context, a *app.App, name fika.AgentName, o CreateOptions) (bool, error) {
	bound, err := mayCreate(ctx, a, o.Who)
	if err != nil {
		return false, err
	}
	h, err := a.Home()
	if err != nil {
		return false, err
	}
	f, err := h.Create(name)
	if fika.IsKind(err, fika.Conflict) && o.IfMissing {
		return false, nil
	}
	if err == nil {
		err = worker.BoundContext(f, bound)
	}
	if err != nil || o.Prompt == "" {
		return err == nil, err
	}
	return true, writePrompt(ctx, a, f, o.Prompt, o.Wait)
}

// CreateDated makes a context named after the present time,
// [prefix_]YYYYMMDD_HHMMSS[_N].
func CreateDated(ctx context.Context, a *app.App, prefix string, o CreateOptions) (fika.AgentName, error) {
	const most = 32 - len("_20060102_150405_99")
	if len(prefix) > most {
		return "", fika.Errorf(fika.Invalid, "", "the prefix %q is too long: at most %d characters go before the date and time", prefix, most)
	}
	stem := a.Now().Format("20060102_150405")
	if prefix != "" {
		stem = prefix + "_" + stem
	}
	o.IfMissing = false
	for n := 1; n < 100; n++ {
		word := stem
		if n > 1 {
			word = fmt.Sprintf("%s_%d", stem, n)
		}
		name, err := fika.ParseAgentName(word)
		if err != nil {
			return "", err
		}
		if _, err = Create(ctx, a, name, o); !fika.IsKind(err, fika.Conflict) {
			return name, err
		}
	}
	return "", fika.Errorf(fika.Conflict, "", "there are too many contexts called %s already: try again in a second", stem)
}

// Switch makes a context current, tells the hooks, and returns the one that was
// current before.
func Switch(ctx context.Context, a *app.App, to fika.AgentName, p app.Person) (fika.AgentName, error) {
	h, err := a.Home()
	if err != nil {
		return "", err
	}
	before, err := h.State()
	if err != nil || before.Current == to {
		return to, err
	}
	if _, err := h.Switch(to); err != nil {
		return before.Current, err
	}
	hooks, err := openHooks(ctx, a, h.Folder(to), p)
	if err == nil {
		_, err = hooks.Fire(ctx, hook.OnContextSwitch, worker.SwitchPayload(before.Current, to, false))
	}
	if err != nil {
		p.Warn("on_context_switch: " + err.Error())
	}
	return before.Current, nil
}

// openHooks opens the hooks of a context without locking it.
func openHooks(ctx context.Context, a *app.App, f folder.Folder, p app.Person) (hook.Runner, error) {
	settings, err := a.PlainSettings(f.Name)
	if err != nil {
		return nil, err
	}
	return worker.NewToolbox(a, f, settings).OpenHooks(ctx, p)
}
