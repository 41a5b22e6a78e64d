package service

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"fika"
	"fika/internal/api"
)

// TaskWhy is a task with why nobody takes it, or who has it.
type TaskWhy struct {
	TaskInfo
	Why []api.Status // never empty
}

// Why says why nobody takes a task, or who has it. Error kinds: NotFound, Denied.
func (b *Board) Why(ctx context.Context, n fika.TaskNumber) (w TaskWhy, err error) {
	if err := b.may("board.why"); err != nil {
		return w, err
	}
	if w.TaskInfo, err = b.c.store.Task(ctx, n); err != nil {
		return w, err
	}
	w.Why, err = b.why(ctx, w.TaskInfo)
	return w, err
}

func (b *Board) why(ctx context.Context, t TaskInfo) ([]api.Status, error) {
	number := strconv.FormatInt(int64(t.Number), 10)
	var lacks, dropped []string
	for _, n := range t.Unmet() {
		if n.State == fika.TaskDropped {
			dropped = append(dropped, fmt.Sprintf("task %d", n.Number))
		} else {
			lacks = append(lacks, fmt.Sprintf("task %d (%s)", n.Number, n.State))
		}
	}
	var out []api.Status
	switch {
	case t.State.Ended():
		return []api.Status{api.Stands(api.BoardEnded, "state", string(t.State))}, nil
	case t.State == fika.TaskClaimed || t.State == fika.TaskReview:
		return []api.Status{api.Stands(api.BoardClaimed, "agent", string(t.WorkerName), "request", string(t.Request))}, nil
	case t.State == fika.TaskHeld:
		return []api.Status{api.Stands(api.BoardHeld, "reason", t.HeldReason, "task", number)}, nil
	case !t.Due.IsZero() && !t.Due.After(b.c.now()):
		out = append(out, api.Stands(api.BoardOverdue, "task", number))
	}
	if len(dropped) > 0 {
		out = append(out, api.Stands(api.BoardNeedsDropped, "list", strings.Join(dropped, ", "), "task", number))
	}
	if len(lacks) > 0 {
		out = append(out, api.Stands(api.BoardNeeds, "list", strings.Join(lacks, ", ")))
	}
	if paused, err := b.c.store.AllPaused(ctx); err != nil {
		return nil, err
	} else if paused {
		out = append(out, api.Stands(api.WaitingPausedAll))
	}
	if len(out) > 0 {
		return out, nil
	}
	return b.whoTakes(ctx, t)
}

// whoTakes says of each agent that may take a task why it does not.
func (b *Board) whoTakes(ctx context.Context, t TaskInfo) (out []api.Status, err error) {
	has, err := b.c.store.AtTasks(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range b.c.config().Agents {
		takes := b.c.app.BoardOf(fika.AgentName(e.ID))
		if takes == nil {
			continue
		}
		row, err := b.c.store.Agent(ctx, fika.AgentName(e.ID))
		if fika.IsKind(err, fika.NotFound) { // the hub makes its row
			row, err = fika.Agent{Name: fika.AgentName(e.ID)}, nil
		}
		if err != nil {
			return nil, err
		}
		if !takes.Takes(row.ID, row.Pool, t.BoardTask) {
			continue
		}
		why := b.c.Availability.neverAnswers(ctx, row)
		switch {
		case !why.IsClear():
		case has[row.ID] >= max(1, takes.Most):
			why = api.Stands(api.BoardFull, "agent", string(row.Name))
		default:
			why = api.Stands(api.AgentNext, "agent", string(row.Name))
		}
		out = append(out, why)
	}
	if len(out) == 0 {
		out = append(out, api.Stands(api.BoardNobody, "agent", string(t.AgentName), "capability", t.Capability))
	}
	return out, nil
}
