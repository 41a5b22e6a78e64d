package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fika"
)

// tasksGo is true if a task t is going to end without a person's help, or waits for what is.
const tasksGo = `t.state IN ('open', 'claimed', 'review')`

// TaskWait is a tool step that waits for tasks of the board.
type TaskWait struct {
	N     int // the step
	Tasks []fika.TaskNumber
	For   time.Duration // from when the step began
}

// WaitedFor reports what has become of the tasks that a step waits for.
type WaitedFor struct {
	Signal  Signal
	Waiting bool // the request is suspended until they have ended, or wait for a person
	Tasks   []TaskInfo
	Over    bool // the time is over
}

// AwaitTasks suspends a request until each task has ended or waits for a person, or until
// the time of the step is over. The step is marked started; a started one is looked at again.
// If the signal is not empty, nothing is written. It fails with NotFound for a task that
// does not exist, and with Invalid, with the path, if a task needs one that this request, or
// one that waits for it, works: they would wait for each other.
func (s Turns) AwaitTasks(ctx context.Context, f Fence, w TaskWait) (WaitedFor, error) {
	const op = "wait for tasks"
	var out WaitedFor
	err := s.withinLease(ctx, op, f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		out = WaitedFor{}
		if out.Signal = r.signal(t.now); out.Signal != (Signal{}) {
			t.discard = true
			return nil
		}
		st, err := t.step(ctx, op, r, w.N)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, `DELETE FROM board_waits WHERE request = ?`, r.id); err != nil {
			return err
		}
		going := false
		for _, n := range w.Tasks {
			info, err := taskInfo(ctx, t, n)
			if err != nil {
				return err
			}
			out.Tasks = append(out.Tasks, info)
			if info.State.Ended() || info.State == fika.TaskHeld {
				continue
			}
			going = true
			if err := t.put(ctx, `INSERT INTO board_waits (request, task) VALUES (?, ?)`, r.id, n); err != nil {
				return err
			}
		}
		if path, err := boardIn(t).waitsForItself(ctx, r, w.Tasks); err != nil || path != "" {
			return cmp.Or(err, fika.Errorf(fika.Invalid, op, "you would wait for yourself: %s", path))
		}
		began := st.StartedAt
		if st.State == fika.StepPlanned {
			began = at(t.now)
			if err := t.startStep(ctx, r, st, ""); err != nil {
				return err
			}
		}
		until := ms(began.Add(w.For))
		out.Over = until <= t.now
		if out.Waiting = going && !out.Over; !out.Waiting {
			return nil
		}
		return childrenIn(t).suspend(ctx, r, fika.WaitBoard, until)
	})
	return out, err
}

// workedAbove selects the tasks that a request works, and those of all requests that wait
// for it.
const workedAbove = `WITH RECURSIVE up (task, parent) AS (
SELECT task, parent FROM requests WHERE id = ?
UNION ALL SELECT p.task, p.parent FROM requests p JOIN up ON p.id = up.parent WHERE up.parent <> '')
SELECT task FROM up WHERE task > 0`

// waitsForItself returns a path by which tasks lead to one that a request works: by what
// they need, and by what those who work them wait for. "": there is none.
func (t boardRows) waitsForItself(ctx context.Context, r turn, tasks []fika.TaskNumber) (string, error) {
	own, err := many(ctx, t, scanNumber, workedAbove, r.id)
	if err != nil || len(own) == 0 {
		return "", err
	}
	came := map[fika.TaskNumber]fika.TaskNumber{}
	for queue := slices.Clone(tasks); len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if slices.Contains(own, at) {
			path := fmt.Sprintf("task %d, which is worked here", at)
			for n := came[at]; n > 0; n = came[n] {
				path = fmt.Sprintf("task %d waits for ", n) + path
			}
			return path, nil
		}
		next, err := many(ctx, t, scanNumber, `SELECT d.needs FROM task_needs d JOIN tasks x ON x.n = d.needs WHERE d.task = ? AND x.ended_at = 0
UNION SELECT w.task FROM tasks t JOIN requests b ON b.id = t.request JOIN board_waits w ON w.request = b.id WHERE t.n = ? AND t.state = 'claimed' AND b.finished_at = 0`, at, at)
		if err != nil {
			return "", err
		}
		for _, n := range next {
			if _, seen := came[n]; !seen && !slices.Contains(tasks, n) {
				came[n] = at
				queue = append(queue, n)
			}
		}
	}
	return "", nil
}

func scanNumber(s scanner) (n fika.TaskNumber, err error) { return n, s.Scan(&n) }
