package daemon

import (
	"context"
	"os"
	"path/filepath"

	"fika"
	"fika/internal/hub"
	"fika/internal/store"
	"fika/internal/worker"
)

// drainInboxes stores what other programs left in the inboxes of contexts. An empty
// inbox costs a stat.
func (h hubHome) drainInboxes(ctx context.Context) {
	names, _, err := h.home.List()
	if err != nil {
		return // doctor reports what is wrong with the folder
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(h.home.Folder(name).Path(), "inbox.jsonl"))
		if err != nil || info.Size() == 0 {
			continue
		}
		if err := worker.CatchUp(ctx, h.app, name); err != nil {
			h.app.Log().Warn("inbox", "context", name, "err", err)
		}
	}
}

// loseJobs ends what is left of the background commands of agents that no process holds.
func (h hubHome) loseJobs(ctx context.Context) {
	list, err := h.store.ListJobs(ctx, store.JobFilter{Running: true})
	if err != nil || len(list) == 0 {
		return // the next look reads again
	}
	home, err := h.home.ID()
	if err != nil {
		return
	}
	lost := false
	for _, j := range list {
		a, err := h.store.Agent(ctx, j.AgentName)
		if err != nil || a.HomeID != home {
			continue
		}
		if state, err := h.home.Folder(j.AgentName).Inspect(); err != nil || state.Held {
			continue
		}
		if err := worker.LoseJob(ctx, h.store, j); err != nil {
			h.app.Log().Warn("background command", "job", j.N, "err", err)
			continue
		}
		lost = true
		h.app.Log().Info("background command lost with the process of its agent", "job", j.N, "agent", j.AgentName)
	}
	if lost {
		worker.SweepLimits(h.app, h.home.Root)
	}
}

// ageOutputs removes what is too old or too large of the outputs that contexts keep,
// and of the files kept for undo.
func (h hubHome) ageOutputs(ctx context.Context) {
	switch n, err := worker.UndoLog(h.home, h.app.Now).Prune(); {
	case err != nil:
		h.app.Log().Warn("what was kept for undo", "err", err)
	case n > 0:
		h.app.Log().Info("what was kept for undo removed", "requests", n)
	}
	names, _, err := h.home.List()
	if err != nil {
		return // doctor reports what is wrong with the folder
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		switch n, err := h.home.Folder(name).AgeOutput(h.app.Now()); {
		case err != nil:
			h.app.Log().Warn("old outputs", "context", name, "err", err)
		case n > 0:
			h.app.Log().Info("old outputs removed", "context", name, "files", n)
		}
	}
}

// archivedAtOnce bounds how many archives are made each time: writers wait for each, and
// the hub for all of them.
const archivedAtOnce = 50

// archiveOld archives what is older than the settings keep it, if nothing is at work.
func (h hubHome) archiveOld(ctx context.Context) {
	if !h.has(hub.DutyCleaning) {
		return
	}
	old, keep, err := h.app.OldRows(h.store)
	if err != nil || !keep.Any() {
		return // what is wrong with the settings is said where they are read
	}
	if at, err := h.store.ListRequests(ctx, store.RequestFilter{States: []fika.RequestState{fika.Running}, Limit: 1}); err != nil || len(at) > 0 {
		return
	}
	done, err := old.Run(ctx, keep, archivedAtOnce, nil)
	if ctx.Err() != nil {
		return
	}
	old.NoteFailure(err)
	if err != nil {
		h.app.Log().Warn("archive", "err", err)
	}
	for _, d := range done {
		h.app.Log().Info("archived", "kind", d.Kind, "rows", d.Rows, "archives", d.Archives)
		for _, name := range d.Agents {
			if err := worker.CatchUp(ctx, h.app, name); err != nil { // its files are written without what was archived
				h.app.Log().Warn("archive", "context", name, "err", err)
			}
		}
	}
}
