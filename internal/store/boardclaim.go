package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/system/crash"
)

// needsDone is true if everything that task t needs is done.
const needsDone = `NOT EXISTS (SELECT 1 FROM task_needs d JOIN tasks x ON x.n = d.needs WHERE d.task = t.n AND x.state <> 'done')`

// takeable returns the condition under which an agent may take task t, with its arguments:
// the task is open, not overdue and lacks nothing, the agent is one that it is for and that
// takes work from who added it, and has room for it.
func takeable(a fika.Agent, b limit.Board, now int64) (where string, args []any) {
	where = `t.state = 'open' AND (t.due = 0 OR t.due > ?) AND t.review_by <> ? AND (t.agent = ? OR t.agent = ? AND t.agent <> '' OR t.agent = '' AND (t.capability = ''`
	args = []any{now, a.ID, a.ID, a.Pool}
	if len(b.Capabilities) > 0 {
		where += ` OR t.capability IN (` + placeholders(len(b.Capabilities)) + `)`
		args = appendAll(args, b.Capabilities)
	}
	where += `))`
	if b.CallableBy != nil {
		where += ` AND CASE WHEN t.writer = 'agent' THEN t.created_by ELSE '` + limit.BoardUser + `' END IN (''`
		for range b.CallableBy {
			where += `,?`
		}
		where += `)`
		args = appendAll(args, b.CallableBy)
	}
	where += ` AND ` + needsDone + ` AND (SELECT count(*) FROM requests b WHERE b.agent = ? AND b.finished_at = 0 AND b.task <> 0 AND NOT (b.state = 'waiting' AND b.reason = 'board')) < ?`
	return where, append(args, a.ID, max(1, b.Most))
}

func appendAll[T any](args []any, list []T) []any {
	for _, s := range list {
		args = append(args, s)
	}
	return args
}

// bestFirst is the order in which an agent takes tasks: by priority, then those that are for
// it alone or for a capability of it, then by number.
const bestFirst = ` ORDER BY t.priority, CASE WHEN t.agent <> '' THEN 0 WHEN t.capability <> '' THEN 1 ELSE 2 END, t.n LIMIT 1`

// anyTask reports whether there is a task on the board that an agent may take.
func (s *db) anyTask(ctx context.Context, a owned, b *limit.Board) (bool, error) {
	if b == nil || !a.tasks {
		return false, nil
	}
	where, args := takeable(a.Agent, *b, s.nowMS())
	_, found, err := one(ctx, s.r, scanInt, `SELECT t.n FROM tasks t WHERE `+where+bestFirst, args...)
	return found, err
}

// MayTake reports whether there is a task on the board that an agent may take now.
func (s Board) MayTake(ctx context.Context, id fika.AgentID, b limit.Board) (bool, error) {
	const op = "look for tasks"
	a, err := agentByID(ctx, s.r, id)
	if err != nil {
		return false, s.explain(op, err)
	}
	found, err := s.anyTask(ctx, owned{Agent: a, tasks: true}, &b)
	return found, s.explain(op, err)
}

// takeTask takes the best task of the board for the agent: a request for it, the root of a
// chain of its own, is accepted and begins in this transaction. If a budget or a limit does
// not let it begin, nothing is written at all. A search that has written something else
// takes none; the next one does.
func (k *claim) takeTask(ctx context.Context) (*Claimed, error) {
	b := k.limits.Board
	if b == nil || !k.agent.tasks || k.wrote {
		return nil, nil
	}
	where, args := takeable(k.agent.Agent, *b, k.now)
	task, found, err := one(ctx, k.tx, scanTask, selectTask+` WHERE `+where+bestFirst+lockTask+` SKIP LOCKED`, args...)
	if err != nil || !found {
		return nil, err
	}
	n, err := boardIn(k.tx).request(ctx, task)
	if err != nil {
		return nil, err
	}
	n.Agent = k.agent.ID
	acc, err := requestsIn(k.tx).accept(ctx, n)
	if err != nil {
		return nil, err
	}
	if task.Chain != "" { // budgets of the person who began all of it hold
		err := k.put(ctx, `UPDATE chains SET person = COALESCE((SELECT o.person FROM chains o WHERE o.root = ?), person) WHERE root = ?`, task.Chain, acc.Request.ID)
		if err != nil {
			return nil, err
		}
	}
	task.State, task.Worker, task.Request, task.HandedBack = fika.TaskClaimed, k.agent.ID, acc.Request.ID, ""
	if crash.Without(crash.Board) {
		task.State = fika.TaskOpen
	}
	if err := boardIn(k.tx).save(ctx, &task); err != nil {
		return nil, err
	}
	if err := boardIn(k.tx).note(ctx, task.Number, "@"+string(k.agent.Name), TaskTaken, ""); err != nil {
		return nil, err
	}
	return k.take(ctx, acc.Request.ID)
}

// request describes the request that works a task.
func (t boardRows) request(ctx context.Context, task fika.BoardTask) (NewRequest, error) {
	prompt, taint, err := t.prompt(ctx, task)
	return NewRequest{
		Kind: fika.TaskRequest, Origin: fika.Queued, Task: task.Number, Deadline: task.Due, Rights: task.Rights, Taint: taint,
		Payload: fika.Payload{Prompt: prompt, From: task.CreatedBy, Writer: task.Writer, Background: true, Attempt: task.Attempts + 1},
	}, err
}

// Bounds of what a worker is shown of other tasks and of earlier work, in bytes.
const (
	maxShownResult = 4 << 10
	maxShownLines  = 20
)

// prompt returns what the worker of a task is asked, and the source of the outside text in
// it.
func (t boardRows) prompt(ctx context.Context, task fika.BoardTask) (text, taint string, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Task %d of the board: %s\n", task.Number, task.Title)
	if task.Body != "" {
		b.WriteString("\n" + task.Body + "\n")
	}
	taint = task.Taint
	needs, err := many(ctx, t, scanTask, selectTask+` JOIN task_needs d ON d.needs = t.n WHERE d.task = ? ORDER BY t.n`, task.Number)
	if err != nil {
		return "", "", err
	}
	for _, n := range needs {
		if n.Result == "" {
			continue
		}
		if taint == "" {
			taint = n.Taint
		}
		fmt.Fprintf(&b, "\nWhat came of task %d (%s), which this one needed:\n%s\n", n.Number, n.Title, indented(clip(n.Result, maxShownResult)))
	}
	lines, err := many(ctx, t, scanTaskLine, `SELECT l.at, l.who, l.what, l.text FROM task_log l WHERE l.task = ? AND l.text <> '' ORDER BY l.n DESC LIMIT ?`, task.Number, maxShownLines)
	if err != nil {
		return "", "", err
	}
	if task.Attempts > 0 || slices.ContainsFunc(lines, func(l TaskLine) bool { return l.What == TaskNoted }) {
		b.WriteString("\nWhat happened to it before:\n")
		for _, l := range slices.Backward(lines) {
			fmt.Fprintf(&b, "%s %s: %s\n", l.Who, l.What, strings.TrimLeft(indented(l.Text), " "))
		}
	}
	b.WriteString("\nYour answer is kept as the result of the task.")
	return b.String(), taint, nil
}

// indented sets a text apart from what is around it.
func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
