package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
)

// TaskEdit says what of a task is changed; what is nil stays as it is.
type TaskEdit struct {
	Title, Body, Capability *string
	Priority                *int
	Agent                   *fika.AgentID // empty: any agent may take it
	Parent                  *fika.TaskNumber
	Due                     *time.Time
	Needs                   *[]fika.TaskNumber
	Check                   *string       // empty: none
	Reviewer                *fika.AgentID // empty: nobody
	By                      string        // who changes it
}

// EditTask changes a task that has not ended. A new agent takes it from whoever has it. It
// fails with NotFound, with Conflict for a task that has ended, and with Invalid for needs
// that go in a circle, which is named.
func (s Board) EditTask(ctx context.Context, n fika.TaskNumber, e TaskEdit) (TaskInfo, error) {
	const op = "edit task"
	var out TaskInfo
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		if e.Needs != nil { // two at once could make a circle
			if err := t.lockAll(ctx, `SELECT key FROM meta WHERE key = 'store_id'`+lockRow); err != nil {
				return err
			}
		}
		out, err = boardIn(t).change(ctx, n, func(task *fika.BoardTask) error {
			if task.State.Ended() {
				return fika.Errorf(fika.Conflict, op, "task %d is %s: reopen it first", n, task.State)
			}
			what, err := boardIn(t).edit(ctx, task, e)
			if err != nil {
				return err
			}
			if len(what) == 0 {
				return errUnchanged
			}
			return boardIn(t).note(ctx, n, e.By, TaskEdited, strings.Join(what, ", "))
		})
		return err
	})
	return out, err
}

// edit changes a task and returns what of it was changed.
func (t boardRows) edit(ctx context.Context, task *fika.BoardTask, e TaskEdit) (what []string, err error) {
	set := func(name string, to, from *string) {
		if from != nil && *to != *from {
			*to, what = *from, append(what, name)
		}
	}
	set("title", &task.Title, e.Title)
	set("body", &task.Body, e.Body)
	set("capability", &task.Capability, e.Capability)
	if e.Priority != nil && *e.Priority != task.Priority {
		task.Priority, what = *e.Priority, append(what, "priority")
	}
	if e.Due != nil {
		task.Due, what = at(ms(*e.Due)), append(what, "due")
	}
	if e.Parent != nil && *e.Parent != task.Parent {
		if err := t.mayBePartOf(ctx, task.Number, *e.Parent); err != nil {
			return nil, err
		}
		task.Parent, what = *e.Parent, append(what, "parent")
	}
	if e.Agent != nil && *e.Agent != task.Agent {
		name := "any agent"
		if *e.Agent != "" {
			a, err := agentByID(ctx, t, *e.Agent)
			if err != nil {
				return nil, err
			}
			name = "@" + string(a.Name)
		}
		if task.State == fika.TaskClaimed && *e.Agent != "" && *e.Agent != task.Worker {
			if err := t.takeBack(ctx, task, e.By); err != nil {
				return nil, err
			}
		}
		task.Agent, what = *e.Agent, append(what, "for "+name)
	}
	set("check", &task.Check, e.Check)
	if e.Reviewer != nil && *e.Reviewer != task.Reviewer {
		name := "reviewed by nobody"
		if *e.Reviewer != "" {
			a, err := agentByID(ctx, t, *e.Reviewer)
			if err != nil {
				return nil, err
			}
			name = "reviewed by @" + string(a.Name)
		}
		task.Reviewer, what = *e.Reviewer, append(what, name)
	}
	if err := reviewsItself(*task); err != nil {
		return nil, err
	}
	if e.Needs != nil {
		if err := t.replaceNeeds(ctx, task.Number, *e.Needs); err != nil {
			return nil, err
		}
		what = append(what, "needs")
	}
	return what, nil
}

// mayBePartOf refuses a parent that does not exist or is a part of the task itself.
func (t boardRows) mayBePartOf(ctx context.Context, n, parent fika.TaskNumber) error {
	for at := parent; at != 0; {
		if at == n {
			return fika.Errorf(fika.Invalid, "", "task %d is a part of task %d", parent, n)
		}
		above, err := taskInfo(ctx, t, at)
		if err != nil {
			return err
		}
		at = above.Parent
	}
	return nil
}

// replaceNeeds makes a task need others than before.
func (t boardRows) replaceNeeds(ctx context.Context, n fika.TaskNumber, needs []fika.TaskNumber) error {
	path, err := t.pathTo(ctx, needs, n)
	if err != nil {
		return err
	}
	if path != nil {
		return fika.Errorf(fika.Invalid, "", "the needs go in a circle: %s", tasksInLine(append([]fika.TaskNumber{n}, path...), " needs "))
	}
	if _, err := t.exec(ctx, `DELETE FROM task_needs WHERE task = ?`, n); err != nil {
		return err
	}
	_, err = t.need(ctx, n, slices.Clone(needs))
	return err
}

// pathTo returns how one leads from some tasks to another by what they need; nil if there
// is no way.
func (t boardRows) pathTo(ctx context.Context, from []fika.TaskNumber, to fika.TaskNumber) ([]fika.TaskNumber, error) {
	came := map[fika.TaskNumber]fika.TaskNumber{}
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			path := []fika.TaskNumber{at}
			for at = came[at]; at != 0; at = came[at] {
				path = append([]fika.TaskNumber{at}, path...)
			}
			return path, nil
		}
		needs, err := many(ctx, t, scanNeed, selectNeeds+` WHERE d.task = ? ORDER BY d.needs`, at)
		if err != nil {
			return nil, err
		}
		for _, n := range needs {
			if _, seen := came[n.Number]; !seen && !slices.Contains(from, n.Number) {
				came[n.Number] = at
				queue = append(queue, n.Number)
			}
		}
	}
	return nil, nil
}

// tasksInLine writes the numbers of tasks.
func tasksInLine(list []fika.TaskNumber, between string) string {
	var out []string
	for _, n := range list {
		out = append(out, fmt.Sprintf("task %d", n))
	}
	return strings.Join(out, between)
}

// errUnchanged says that a task already is as it was wanted.
var errUnchanged = errors.New("unchanged")

// change stores what fn makes of a task, and returns the task as it then stands. With
// [errUnchanged] nothing is written.
func (t boardRows) change(ctx context.Context, n fika.TaskNumber, fn func(*fika.BoardTask) error) (TaskInfo, error) {
	info, err := taskInfo(ctx, t, n)
	if err == nil {
		err = fn(&info.BoardTask)
	}
	if errors.Is(err, errUnchanged) {
		t.discard = true
		return info, nil
	}
	if err == nil {
		err = t.save(ctx, &info.BoardTask)
	}
	if err != nil {
		return TaskInfo{}, err
	}
	return taskInfo(ctx, t, n)
}

// takeBack takes a task from its worker, whose request is asked to end. Whatever becomes of
// the request does not change the task any more.
func (t boardRows) takeBack(ctx context.Context, task *fika.BoardTask, by string) error {
	_, there, err := one(ctx, t, scanText, `SELECT r.id FROM requests r WHERE r.id = ? AND r.finished_at = 0`+lockRequest, task.Request)
	if err != nil {
		return err
	}
	n, err := t.exec(ctx, `UPDATE tasks SET state = 'open', version = version + 1 WHERE n = ? AND version = ?`, task.Number, task.Version)
	switch {
	case err != nil:
		return err
	case n == 0:
		return errAgain
	}
	task.State, task.HeldReason = fika.TaskOpen, ""
	task.Version++
	review := task.Review
	task.Review = ""
	why := fmt.Sprintf("%s%s: task %d was taken back", InterruptedBy, by, task.Number)
	if there {
		err = t.cancel(ctx, task.Request, why)
	}
	if err == nil && review != "" {
		err = t.cancel(ctx, review, why)
	}
	if err != nil && !fika.IsKind(err, fika.NotFound) {
		return err
	}
	return t.withdraw(ctx, task.Number, fmt.Sprintf("task %d was taken back by %s", task.Number, by))
}

// ReleaseTask lets a task go on that waits for a person, or takes it back from its worker:
// any agent may take it then. It fails with NotFound, and with Conflict for a task in
// another state.
func (s Board) ReleaseTask(ctx context.Context, n fika.TaskNumber, by, why string) (TaskInfo, error) {
	const op = "release task"
	var out TaskInfo
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		out, err = boardIn(t).change(ctx, n, func(task *fika.BoardTask) error {
			switch task.State {
			case fika.TaskHeld:
				task.State, task.HeldReason, task.Attempts, task.Round, task.Work = fika.TaskOpen, "", 0, 0, ""
			case fika.TaskClaimed, fika.TaskReview:
				if err := boardIn(t).takeBack(ctx, task, by); err != nil {
					return err
				}
			default:
				return fika.Errorf(fika.Conflict, op, "task %d is %s: only a task that is held, claimed or in review is released", n, task.State)
			}
			return boardIn(t).note(ctx, n, by, TaskReleased, why)
		})
		return err
	})
	return out, err
}

// CloseTask ends a task as done or dropped, whoever has it. It fails with NotFound, and with
// Conflict for a task that has ended.
func (s Board) CloseTask(ctx context.Context, n fika.TaskNumber, state fika.TaskState, by, why string) (TaskInfo, error) {
	const op = "close task"
	var out TaskInfo
	if !state.Ended() {
		return out, fika.Errorf(fika.Invalid, op, "%q does not end a task", state)
	}
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		out, err = boardIn(t).change(ctx, n, func(task *fika.BoardTask) error {
			if task.State.Ended() {
				return fika.Errorf(fika.Conflict, op, "task %d is %s already", n, task.State)
			}
			if task.State == fika.TaskClaimed || task.State == fika.TaskReview {
				if err := boardIn(t).takeBack(ctx, task, by); err != nil {
					return err
				}
			}
			task.State, task.HeldReason = state, ""
			if state == fika.TaskDone && why != "" {
				task.Result = clip(why, maxTaskResult)
			}
			return boardIn(t).note(ctx, n, by, TaskClosed, strings.TrimSuffix(string(state)+": "+why, ": "))
		})
		return err
	})
	return out, err
}

// ReopenTask makes a task that has ended open again. Tasks that need it and are worked by
// now go on. It fails with NotFound, and with Conflict for a task that has not ended.
func (s Board) ReopenTask(ctx context.Context, n fika.TaskNumber, by, why string) (TaskInfo, error) {
	const op = "reopen task"
	var out TaskInfo
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		out, err = boardIn(t).change(ctx, n, func(task *fika.BoardTask) error {
			if !task.State.Ended() {
				return fika.Errorf(fika.Conflict, op, "task %d has not ended: it is %s", n, task.State)
			}
			task.State, task.Attempts, task.HandedBack, task.Round, task.Work = fika.TaskOpen, 0, "", 0, ""
			return boardIn(t).note(ctx, n, by, TaskReopened, why)
		})
		return err
	})
	return out, err
}
