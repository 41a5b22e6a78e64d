package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/sandbox"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/system/term"
	"fika/internal/text/hint"
	"fika/internal/worker"
)

func (d *examination) checkContexts(ctx context.Context) {
	const check = "contexts"
	names, strange, err := d.home.List()
	if err != nil {
		d.add(check, Problem, "", "%v", err)
		return
	}
	for _, s := range strange {
		d.add(check, Note, "rename or remove it", "contexts/%s is not a context: its name is not one", s)
	}
	before := len(d.out)
	for _, n := range names {
		d.checkContext(ctx, d.home.Folder(n))
	}
	d.checkOrphans(ctx, names)
	switch {
	case len(d.out) > before:
	case !d.storeFine:
		d.add(check, Note, "", "%d contexts; what the database says of them does not count (see store)", len(names))
	default:
		d.add(check, Fine, "", "%d contexts agree with the database", len(names))
	}
}

func (d *examination) checkContext(ctx context.Context, f folder.Folder) {
	check := "context " + string(f.Name)
	if s, err := d.app.Settings(f.Name, nil, false); err != nil {
		if _, local := config.LoadLocal(f.LocalConfig()); local != nil {
			err = local
		}
		d.add(check, Problem, "", "%v", err)
	} else if slices.Contains(s.ToolPermissions, "bash") {
		d.checkBash(check, s)
	}
	lock, err := f.Inspect()
	switch {
	case err != nil:
		d.add(check, Problem, "", "%v", err)
	case lock.Status == folder.LockStale && lock.Held:
		d.add(check, Problem, hint.ContextUnlock.With(f.Name), "process %d (%s) holds it and has been silent for %s", lock.Info.PID, lock.Info.Kind, term.Duration(lock.Age))
	case lock.Status == folder.LockStale:
		d.add(check, Note, "", "process %d ended without giving it back; the next prompt takes it over", lock.Info.PID)
	}
	if lock.Held || d.store == nil {
		return // its mirror is being written
	}
	d.checkMirror(ctx, check, f)
}

// checkBash notes where commands of a context are confined less than usual.
func (d *examination) checkBash(check string, s config.Settings) {
	if s.Guard.SandboxMode == string(sandbox.Off) {
		d.add(check, Note, "", "bash runs with all your rights (sandbox = \"off\"); only the file tools stay inside the workspace")
	}
	if s.Guard.Network == "on" {
		d.add(check, Note, "", "its commands reach the network (network = \"on\"): what they can read they can send")
	}
}

func (d *examination) checkMirror(ctx context.Context, check string, f folder.Folder) {
	r, err := contexts.OpenReader(ctx, d.app, d.who, f)
	if err != nil {
		d.add(check, Problem, "", "%v", err)
		return
	}
	if r.Foreign != nil {
		d.add(check, Note, "", "came from elsewhere: %d entries are taken over at its first use", r.Foreign.CountArchived()+r.Foreign.CountWindow())
		for _, p := range r.Foreign.Problems {
			d.add(check, Note, "", "%s", p)
		}
		return
	}
	if r.Agent == nil || d.isElsewhere(*r.Agent) {
		return
	}
	src := worker.EntrySource{Store: d.store, Agent: f.Name}
	if old, err := f.HasArchived(ctx, src); err == nil && old {
		d.add(check, Note, "", "its files still have what was archived: its next turn writes them without")
		return
	}
	diffs, err := folder.Compare(ctx, f, src)
	if err != nil {
		d.add(check, Problem, "", "%v", err)
		return
	}
	if len(diffs) == 0 {
		return
	}
	if d.behind(ctx, r.Agent.ActiveAsk, diffs) {
		d.add(check, Note, "", "its files do not have the newest messages yet: its next turn writes them")
		return
	}
	if d.fix {
		if err := d.remake(ctx, f, diffs); err != nil {
			d.add(check, Problem, "", "the mirror was not rebuilt: %v", err)
			return
		}
		d.add(check, Fixed, "", "%d differences from the database; the mirror was rebuilt, the old files were kept beside it", len(diffs))
		return
	}
	for _, x := range diffs[:min(5, len(diffs))] {
		d.add(check, Problem, hint.DoctorFix.With()+" rebuilds the mirror from the database", "%s", x)
	}
	if n := len(diffs) - 5; n > 0 {
		d.add(check, Problem, "", "%d more differences between its files and the database", n)
	}
}

// isElsewhere reports whether an agent is on another host, which writes its files.
func (d *examination) isElsewhere(row fika.Agent) bool {
	own, err := d.home.ID()
	c, noConfig := d.app.Config()
	return err == nil && noConfig == nil && c.Store.URL != "" && row.HomeID != "" && row.HomeID != own
}

// behind reports whether the files of a context lack nothing but messages that no turn
// has read yet.
func (d *examination) behind(ctx context.Context, c fika.ConversationID, diffs []folder.Difference) bool {
	for _, x := range diffs {
		if !x.Behind {
			return false
		}
		if x.ID == "" {
			continue
		}
		e, err := d.store.EntryByID(ctx, c, x.ID)
		if err != nil || e.Type != fika.Message || e.Request != "" {
			return false
		}
	}
	return true
}

// remake sets the differing files aside, under names of their own, and has the mirror
// written anew.
func (d *examination) remake(ctx context.Context, f folder.Folder, diffs []folder.Difference) error {
	lock, err := worker.LockFolder(ctx, d.app, f, 0)
	if err != nil {
		return err
	}
	stamp := d.app.Now().UTC().Format("20060102T150405")
	var errs []error
	var done []string
	for _, x := range diffs {
		name := filepath.Base(x.File)
		if slices.Contains(done, name) {
			continue
		}
		done = append(done, name)
		err := os.Rename(filepath.Join(f.Path(), name), filepath.Join(f.Path(), name+".replaced-"+stamp))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(append(errs, lock.Close())...); err != nil {
		return fika.Wrap(fika.Storage, "set aside", err)
	}
	w, err := worker.OpenCommand(ctx, d.app, f.Name, true, 0, func(string) {})
	if err != nil {
		return err
	}
	return w.Close()
}

// checkOrphans finds agents of this home whose folder is gone. Their conversations are
// in the database, so the folder can be made again.
func (d *examination) checkOrphans(ctx context.Context, names []fika.AgentName) {
	if d.store == nil {
		return
	}
	home, err := d.home.ID()
	if err != nil {
		d.add("home", Problem, "", "%v", err)
		return
	}
	agents, err := d.store.ListAgents(ctx)
	if err != nil {
		d.add("agents", Problem, "", "%v", err)
		return
	}
	for _, a := range agents {
		if a.HomeID != home || a.IsPool() || slices.Contains(names, a.Name) {
			continue
		}
		if d.fix {
			w, err := worker.OpenCommand(ctx, d.app, a.Name, false, 0, func(string) {})
			if err == nil {
				err = w.Close()
			}
			if err == nil {
				d.add("agent "+string(a.Name), Fixed, "", "its folder was gone and was made again from the database")
				continue
			}
		}
		d.add("agent "+string(a.Name), Problem, fmt.Sprintf("%s makes it again from the database; %s removes the agent", hint.DoctorFix, hint.ContextDelete.With(a.Name)),
			"its folder %s is gone", d.home.Folder(a.Name).Path())
	}
}

// checkSharedTexts names the texts that were changed on two hosts at once.
func (d *examination) checkSharedTexts(ctx context.Context) {
	if d.store == nil {
		return
	}
	list, err := d.store.TextConflicts(ctx)
	if err != nil {
		d.add("store", Problem, "", "%v", err)
		return
	}
	for _, x := range list {
		d.add("texts", Note, fmt.Sprintf("put what is missing into %s.md, then remove that file on %s", x.Kind, x.HostName),
			"%s.md of @%s was changed on two hosts at once: one text is used, the other one is on %s in %s", x.Kind, x.AgentName, x.HostName, x.Path)
	}
}
