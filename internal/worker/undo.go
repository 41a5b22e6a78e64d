package worker

import (
	"context"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/skill"
	"fika/internal/repository/git"
	"fika/internal/repository/undo"
	"fika/internal/settings/folder"
	"fika/internal/tool"
	"fika/internal/tool/file"
	"fika/internal/turn"
)

// UndoLog returns the log of what agents of a home have changed, with the previous
// contents.
func UndoLog(h folder.Home, now func() time.Time) *undo.Log { return undo.Open(h.UndoDir(), now) }

// UndoFiles returns the files of a workspace, as the agent's file tools reach them.
func UndoFiles(a *app.App, f folder.Folder, workspace string) file.Tree {
	return file.NewTree(workspace, Toolbox{app: a, folder: f, skills: noSkills}.outOfReach())
}

// noSkills is for a toolbox that only writes: skills can be read, and not changed.
func noSkills() []skill.Skill { return nil }

// keepForUndo stores what a call of edit or create is about to replace.
func (b Toolbox) keepForUndo(c tool.Call, x file.Change) error {
	if c.Request == "" {
		return nil
	}
	change := undo.Change{Step: c.Step, Path: x.Path, After: x.New, Made: x.Made}
	if x.Old != nil {
		change.Before, change.Size, change.Mode = x.Old, x.Size, x.Mode
	}
	return UndoLog(b.folder.Home, b.app.Now).KeepBefore(undo.Turn{Request: c.Request, Agent: c.Agent, Workspace: c.Workspace}, change)
}

// gitPatience is how long a turn waits to learn what its commands changed.
const gitPatience = 3 * time.Second

// commandWatch records that commands run in a turn, and what git says they changed.
// Anything that cannot be found out is recorded as unknown, and never fails the turn.
type commandWatch struct {
	log       *undo.Log
	turn      undo.Turn
	isCommand func(tool string) bool
	began     bool
	before    git.Snapshot
	unknown   string
	bringHome func() // what was committed; nil: the agent has no worktree
}

func (r *Runtime) watchCommands(q fika.Request) *commandWatch {
	w := &commandWatch{
		log:       UndoLog(r.worker.Folder.Home, r.worker.App.Now),
		turn:      undo.Turn{Request: q.ID, Agent: r.worker.Agent.Name, Workspace: r.workspaceOf(q)},
		isCommand: func(tool string) bool { return tool == "bash" || r.plugged[tool] },
	}
	if tree, ok := r.toolbox.worktree(); ok {
		tree = r.toolbox.ConfinedTree(tree)
		w.bringHome = func() {
			if err := tree.Import(context.Background()); err != nil {
				r.opts.Warn("what @" + string(tree.Agent) + " committed is in its worktree alone: " + err.Error())
			}
		}
	}
	return w
}

// Observe implements [turn.Observer].
func (w *commandWatch) Observe(ev turn.Event) {
	switch {
	case ev.Kind == turn.ToolCalled && !w.began && w.isCommand(ev.Tool):
		w.began = true
		_ = w.log.Commands(w.turn, undo.Ran{Begins: true})
		w.before, w.unknown = w.readStatus()
	case ev.Kind == turn.Ended && w.began:
		w.began = false
		after, unknown := git.Snapshot{}, w.unknown
		if unknown == "" {
			after, unknown = w.readStatus()
		}
		ran := undo.Ran{Unknown: unknown}
		if unknown == "" {
			ran.Changed, ran.Moved = w.before.Changed(w.turn.Workspace, after), w.before.Head != after.Head
		}
		_ = w.log.Commands(w.turn, ran)
	}
	if ev.Kind == turn.Ended && w.bringHome != nil {
		w.bringHome()
	}
}

func (w *commandWatch) readStatus() (git.Snapshot, string) {
	ctx, stop := context.WithTimeout(context.Background(), gitPatience)
	defer stop()
	s, err := git.Status(ctx, w.turn.Workspace)
	switch {
	case err == nil:
		return s, ""
	case ctx.Err() != nil:
		return s, "git took too long to say"
	case fika.IsKind(err, fika.NotFound):
		return s, "the workspace is in no git repository"
	}
	return s, err.Error()
}
