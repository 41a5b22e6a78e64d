package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
)

// NewTask describes a task to add.
type NewTask struct {
	Title      string // one line, not empty
	Body       string
	Priority   int
	Capability string
	Agent      fika.AgentID
	Parent     fika.TaskNumber
	Needs      []fika.TaskNumber // tasks of the board
	After      []int             // tasks of the same list that it needs, by index
	Due        time.Time
	Check      string       // a command that has to pass before it is done
	Reviewer   fika.AgentID // that has to call it good before it is done
	Held       string       // why it waits for a person from the start; empty: it does not
}

// NewTasks are tasks that are added together.
type NewTasks struct {
	List   []NewTask
	By     string      // the name of who adds them
	Writer fika.Writer // what kind of writer that is
	Rights *fika.Rights
	Taint  string
	// Chain is the chain in which they are added, and Request the request: if that works
	// a task itself, they descend from the task. Empty: a person adds them.
	Chain   fika.RequestID
	Request fika.RequestID
	// MaxInChain and MaxDepth bound how many tasks descend from one chain, and how deep; 0:
	// nothing does.
	MaxInChain, MaxDepth int
}

// AddTasks adds tasks, all or none, and returns them in their order. It fails with NotFound
// for a task or an agent that does not exist, with Invalid for needs that go in a circle,
// which is named, with Conflict for a need that was dropped, and with Limit if a chain adds
// too many.
func (s Board) AddTasks(ctx context.Context, add NewTasks) ([]TaskInfo, error) {
	const op = "add tasks"
	for _, n := range add.List {
		if slices.ContainsFunc(n.After, func(i int) bool { return i < 0 || i >= len(add.List) }) {
			return nil, fika.Errorf(fika.Invalid, op, "%q needs a task that is not in the list", n.Title)
		}
	}
	if circle := circleIn(add.List); circle != "" {
		return nil, fika.Errorf(fika.Invalid, op, "the needs go in a circle: %s", circle)
	}
	var out []TaskInfo
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = nil
		parent, err := boardIn(t).descent(ctx, &add)
		if err != nil {
			return err
		}
		last, _, err := one(ctx, t, scanInt, `SELECT COALESCE(max(n), 0) FROM tasks`)
		if err != nil {
			return err
		}
		for i, n := range add.List {
			task := fika.BoardTask{
				Number: fika.TaskNumber(last) + fika.TaskNumber(i) + 1, Title: n.Title, Body: n.Body, State: fika.TaskOpen, Priority: n.Priority,
				Capability: n.Capability, Agent: n.Agent, Parent: n.Parent, CreatedBy: add.By, Writer: add.Writer, Rights: add.Rights, Taint: add.Taint,
				Chain: add.Chain, Depth: parent, Due: at(ms(n.Due)), Check: n.Check, Reviewer: n.Reviewer, Version: 1, CreatedAt: at(t.now), UpdatedAt: at(t.now),
			}
			if n.Held != "" {
				task.State, task.HeldReason = fika.TaskHeld, n.Held
			}
			info, err := boardIn(t).insert(ctx, task)
			if err != nil {
				return err
			}
			out = append(out, info)
		}
		for i, n := range add.List {
			needs := slices.Clone(n.Needs)
			for _, k := range n.After {
				needs = append(needs, fika.TaskNumber(last)+fika.TaskNumber(k)+1)
			}
			if out[i].Needs, err = boardIn(t).need(ctx, out[i].Number, needs); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// descent decides from which chain the tasks of a request descend, and how deep they are.
func (t boardRows) descent(ctx context.Context, add *NewTasks) (depth int, err error) {
	if add.Chain == "" {
		return 0, nil
	}
	from, found, err := one(ctx, t, scanTask, selectTask+` JOIN requests r ON r.task = t.n WHERE r.id = ?`, add.Request)
	if err != nil {
		return 0, err
	}
	if found {
		depth = from.Depth + 1
		if from.Chain != "" {
			add.Chain = from.Chain
		}
	}
	if add.MaxDepth > 0 && depth >= add.MaxDepth {
		return 0, fika.Errorf(fika.Limit, "", "this task descends from %d others, and no task adds further ones at that depth", depth)
	}
	there, _, err := one(ctx, t, scanInt, `SELECT count(*) FROM tasks t WHERE t.chain = ? AND t.chain <> ''`, add.Chain)
	if err == nil && add.MaxInChain > 0 && int(there)+len(add.List) > add.MaxInChain {
		err = fika.Errorf(fika.Limit, "", "this chain has added %d tasks and may add %d", there, add.MaxInChain)
	}
	return depth, err
}

// insert stores a new task without its needs.
func (t boardRows) insert(ctx context.Context, task fika.BoardTask) (TaskInfo, error) {
	out := TaskInfo{BoardTask: task}
	if task.Agent != "" {
		a, err := agentByID(ctx, t, task.Agent)
		if err != nil {
			return out, err
		}
		out.AgentName = a.Name
	}
	if task.Reviewer != "" {
		a, err := agentByID(ctx, t, task.Reviewer)
		if err != nil {
			return out, err
		}
		out.ByName = a.Name
	}
	if err := reviewsItself(task); err != nil {
		return out, err
	}
	if task.Parent > 0 {
		if _, err := taskInfo(ctx, t, task.Parent); err != nil {
			return out, err
		}
	}
	rights, err := rightsJSON("add tasks", task.Rights)
	if err != nil {
		return out, err
	}
	err = t.put(ctx, `INSERT INTO tasks (n, title, body, state, held_reason, priority, capability, agent, parent, created_by, writer, rights, taint, chain, depth, due, check_cmd, review_by, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, task.Number, task.Title, task.Body, task.State, task.HeldReason, task.Priority, task.Capability, task.Agent,
		task.Parent, task.CreatedBy, task.Writer, rights, task.Taint, task.Chain, task.Depth, ms(task.Due), task.Check, task.Reviewer, t.now, t.now)
	if err != nil {
		return out, err
	}
	t.tell(task)
	return out, t.note(ctx, task.Number, task.Author(), TaskAdded, task.HeldReason)
}

// need stores what a task needs, and returns it by number.
func (t boardRows) need(ctx context.Context, n fika.TaskNumber, needs []fika.TaskNumber) (out []TaskNeed, err error) {
	slices.Sort(needs)
	for _, k := range slices.Compact(needs) {
		other, err := taskInfo(ctx, t, k)
		switch {
		case err != nil:
			return nil, err
		case other.State == fika.TaskDropped:
			return nil, fika.Errorf(fika.Conflict, "", "task %d was dropped, so nothing can need it: reopen it, or leave it out", k)
		}
		if err := t.put(ctx, `INSERT INTO task_needs (task, needs) VALUES (?, ?)`, n, k); err != nil {
			return nil, err
		}
		out = append(out, TaskNeed{k, other.State})
	}
	return out, nil
}

// circleIn returns the first circle among the needs of new tasks, as a path of titles; ""
// if there is none.
func circleIn(list []NewTask) string {
	path := circle(len(list), func(i int) []int { return list[i].After })
	var titles []string
	for _, i := range path {
		titles = append(titles, fmt.Sprintf("%q", list[i].Title))
	}
	return strings.Join(titles, " needs ")
}

// circle returns a path through a graph of n nodes that ends where it begins; nil if there
// is none. next returns the nodes behind one.
func circle(n int, next func(int) []int) []int {
	const (
		unseen = iota
		onPath
		clear
	)
	seen := make([]int, n)
	var path []int
	var walk func(i int) []int
	walk = func(i int) []int {
		seen[i] = onPath
		path = append(path, i)
		for _, k := range next(i) {
			switch seen[k] {
			case onPath:
				return append(slices.Clone(path[slices.Index(path, k):]), k)
			case unseen:
				if found := walk(k); found != nil {
					return found
				}
			}
		}
		seen[i], path = clear, path[:len(path)-1]
		return nil
	}
	for i := range n {
		if seen[i] == unseen {
			if found := walk(i); found != nil {
				return found
			}
		}
	}
	return nil
}
