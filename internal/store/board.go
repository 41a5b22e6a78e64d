package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Board keeps the tasks that wait for whoever can do them, and what became of them.
type Board struct{ *db }

// TaskNeed is a task that another one needs done first.
type TaskNeed struct {
	Number fika.TaskNumber
	State  fika.TaskState
}

// TaskInfo is a task with the names that lists show, and what it needs, by number.
type TaskInfo struct {
	fika.BoardTask
	AgentName  fika.AgentName // of Agent
	WorkerName fika.AgentName // of Worker
	ByName     fika.AgentName // of Reviewer
	Needs      []TaskNeed
}

// Unmet returns the needs that are not done.
func (t TaskInfo) Unmet() []TaskNeed {
	return slices.DeleteFunc(slices.Clone(t.Needs), func(n TaskNeed) bool { return n.State == fika.TaskDone })
}

// TaskLine is a line of the log of a task.
type TaskLine struct {
	At   time.Time
	Who  string // a person, or @ and an agent's name; "fika" for what nobody did
	What TaskChange
	Text string
}

// TaskChange is what happened to a task.
type TaskChange string

// What the log of a task tells.
const (
	TaskAdded      TaskChange = "added"
	TaskEdited     TaskChange = "edited"
	TaskTaken      TaskChange = "claimed"
	TaskNoted      TaskChange = "noted"       // how far it is, or anything else worth knowing
	TaskFinished   TaskChange = "finished"    // by its worker
	TaskLanded     TaskChange = "landed"      // what was offered of it
	TaskFailed     TaskChange = "failed"      // work on it did; others may try
	TaskHandedBack TaskChange = "handed back" // by its worker
	TaskStopped    TaskChange = "held"        // for a person
	TaskReleased   TaskChange = "released"    // taken from its worker, or let go on by a person
	TaskClosed     TaskChange = "closed"
	TaskReopened   TaskChange = "reopened"
	TaskReviewed   TaskChange = "reviewed" // by its reviewer, which calls it good or says what is wrong
)

const taskColumns = `t.n, t.title, t.state, t.held_reason, t.priority, t.capability, t.agent, t.parent, t.created_by, t.writer, t.rights, t.taint,
t.chain, t.depth, t.due, t.worker, t.request, t.attempts, t.handed_back, t.version, t.created_at, t.updated_at, t.ended_at,
t.check_cmd, t.review_by, t.review, t.round, t.work`

// taskNames selects the names of the agents of task t.
const taskNames = `COALESCE((SELECT a.name FROM agents a WHERE a.id = t.agent AND t.agent <> ''), ''),
COALESCE((SELECT w.name FROM agents w WHERE w.id = t.worker AND t.worker <> ''), ''),
COALESCE((SELECT b.name FROM agents b WHERE b.id = t.review_by AND t.review_by <> ''), '')`

const (
	selectTask = `SELECT ` + taskColumns + `, t.body, t.result FROM tasks t`
	// lockTask locks the tasks that a statement selects.
	lockTask = ` FOR NO KEY UPDATE OF t`
)

// taskRow scans a task, and the columns after it into more.
func taskRow(s scanner, more ...any) (fika.BoardTask, error) {
	var t fika.BoardTask
	var rights string
	var due, created, updated, ended int64
	dest := []any{&t.Number, &t.Title, &t.State, &t.HeldReason, &t.Priority, &t.Capability, &t.Agent, &t.Parent, &t.CreatedBy, &t.Writer, &rights, &t.Taint,
		&t.Chain, &t.Depth, &due, &t.Worker, &t.Request, &t.Attempts, &t.HandedBack, &t.Version, &created, &updated, &ended,
		&t.Check, &t.Reviewer, &t.Review, &t.Round, &t.Work}
	if err := s.Scan(append(dest, more...)...); err != nil {
		return t, err
	}
	t.Due, t.CreatedAt, t.UpdatedAt, t.EndedAt = at(due), at(created), at(updated), at(ended)
	var err error
	if t.Rights, err = readRights(rights); err != nil {
		err = fika.Errorf(fika.Storage, "read task", "task %d has rights that cannot be read: %v", t.Number, err)
	}
	return t, err
}

func scanTask(s scanner) (fika.BoardTask, error) {
	var body, result string
	t, err := taskRow(s, &body, &result)
	t.Body, t.Result = body, result
	return t, err
}

func scanTaskInfo(s scanner) (i TaskInfo, err error) {
	i.BoardTask, err = taskRow(s, &i.AgentName, &i.WorkerName, &i.ByName)
	return i, err
}

// Task returns a task. It fails with NotFound.
func (s Board) Task(ctx context.Context, n fika.TaskNumber) (TaskInfo, error) {
	const op = "read task"
	i, err := taskInfo(ctx, s.r, n)
	return i, s.explain(op, err)
}

func taskInfo(ctx context.Context, q querier, n fika.TaskNumber) (i TaskInfo, err error) {
	found := false
	scan := func(sc scanner) (i TaskInfo, err error) {
		var body, result string
		i.BoardTask, err = taskRow(sc, &body, &result, &i.AgentName, &i.WorkerName, &i.ByName)
		i.Body, i.Result = body, result
		return i, err
	}
	err = q.run(ctx, first(&i, &found, scan, `SELECT `+taskColumns+`, t.body, t.result, `+taskNames+` FROM tasks t WHERE t.n = ?`, n),
		all(&i.Needs, scanNeed, selectNeeds+` WHERE d.task = ? ORDER BY d.needs`, n))
	if err == nil && !found {
		err = errNoTask(n)
	}
	return i, err
}

const selectNeeds = `SELECT d.needs, x.state FROM task_needs d JOIN tasks x ON x.n = d.needs`

func scanNeed(s scanner) (n TaskNeed, err error) { return n, s.Scan(&n.Number, &n.State) }

func errNoTask(n fika.TaskNumber) error {
	return fika.WithHint(fika.Errorf(fika.NotFound, "", "task %d not found", n), hint.BoardList.With())
}

// TaskLog returns what happened to a task, oldest first.
func (s Board) TaskLog(ctx context.Context, n fika.TaskNumber) ([]TaskLine, error) {
	list, err := many(ctx, s.r, scanTaskLine, `SELECT l.at, l.who, l.what, l.text FROM task_log l WHERE l.task = ? ORDER BY l.n`, n)
	return list, s.explain("read task", err)
}

func scanTaskLine(s scanner) (l TaskLine, err error) {
	var when int64
	err = s.Scan(&when, &l.Who, &l.What, &l.Text)
	l.At = at(when)
	return l, err
}

// TasksNeeding returns the tasks that have not ended and need a task directly, by number.
func (s Board) TasksNeeding(ctx context.Context, n fika.TaskNumber) ([]TaskInfo, error) {
	list, err := many(ctx, s.r, scanTaskInfo, `SELECT `+taskColumns+`, `+taskNames+` FROM task_needs d JOIN tasks t ON t.n = d.task
WHERE d.needs = ? AND t.ended_at = 0 ORDER BY t.n`, n)
	return list, s.explain("list tasks", err)
}

// Working returns the requests that work a task and have not ended, the oldest first.
func (s Board) Working(ctx context.Context, n fika.TaskNumber) ([]string, error) {
	list, err := many(ctx, s.r, scanText, `SELECT r.id FROM requests r WHERE r.task = ? AND r.task > 0 AND r.finished_at = 0 ORDER BY r.n`, n)
	return list, s.explain("read task", err)
}

// boardRows writes tasks.
type boardRows struct{ *tx }

func boardIn(t *tx) boardRows { return boardRows{t} }

// tell adds an event about a task as it now stands.
func (t boardRows) tell(task fika.BoardTask) {
	t.tx.tell(event{kind: TaskEvent, request: task.Request, agent: task.Worker, seq: int64(task.Number), state: string(task.State)})
}

// Bounds of what is kept of a task, in bytes.
const (
	maxTaskLine   = 4 << 10
	maxTaskResult = 32 << 10
)

// note adds a line to the log of a task.
func (t boardRows) note(ctx context.Context, n fika.TaskNumber, who string, what TaskChange, text string) error {
	return t.put(ctx, `INSERT INTO task_log (task, n, at, who, what, text) SELECT CAST(? AS BIGINT), COALESCE(max(l.n), 0) + 1, CAST(? AS BIGINT), ?, ?, ?
FROM task_log l WHERE l.task = ?`, n, t.now, who, what, clip(text, maxTaskLine), n)
}

// clip cuts a text after at most size bytes, between characters.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + " …"
}

// save stores a task that was read as version, and adds an event. It begins the
// transaction again if the task was changed meanwhile.
func (t boardRows) save(ctx context.Context, task *fika.BoardTask) error {
	task.UpdatedAt = at(t.now)
	switch {
	case !task.State.Ended():
		task.EndedAt = time.Time{}
	case task.EndedAt.IsZero():
		task.EndedAt = at(t.now)
	}
	rights, err := rightsJSON("store task", task.Rights)
	if err != nil {
		return err
	}
	n, err := t.exec(ctx, `UPDATE tasks SET title = ?, body = ?, state = ?, held_reason = ?, priority = ?, capability = ?, agent = ?, parent = ?, rights = ?, taint = ?,
due = ?, worker = ?, request = ?, attempts = ?, handed_back = ?, result = ?, check_cmd = ?, review_by = ?, review = ?, round = ?, work = ?, version = version + 1, updated_at = ?, ended_at = ? WHERE n = ? AND version = ?`,
		task.Title, task.Body, task.State, task.HeldReason, task.Priority, task.Capability, task.Agent, task.Parent, rights, task.Taint,
		ms(task.Due), task.Worker, task.Request, task.Attempts, task.HandedBack, task.Result, task.Check, task.Reviewer, task.Review, task.Round, task.Work, t.now, ms(task.EndedAt), task.Number, task.Version)
	if err == nil && n == 0 {
		err = errAgain
	}
	task.Version++
	t.tell(*task)
	return err
}
