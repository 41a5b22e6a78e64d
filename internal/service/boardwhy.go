package service

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/rights/limit"
)

// TaskWhy is a task with why nobody takes it, or who has it.
type TaskWhy struct {
	TaskInfo
	Why []api.Status // never empty
}

// Why says why nobody takes a task, or who has it. Error kinds: NotFound, Denied.
func (b *Board) Why(ctx context.Context, n fika.TaskNumber) (w TaskWhy, err error) {
	if err := b.may(ctx, "board.why"); err != nil {
		return w, err
	}
	if w.TaskInfo, err = b.c.store.Task(ctx, n); err != nil {
		return w, err
	}
	w.Why, err = b.answers().why(ctx, w.TaskInfo)
	return w, err
}

// boardAnswers says of many tasks why nobody takes them, and reads what holds for all of
// them once.
type boardAnswers struct {
	*Board
	paused bool
	takers []taker
	read   bool
}

func (b *Board) answers() *boardAnswers { return &boardAnswers{Board: b} }

// taker is an agent that takes tasks of the board.
type taker struct {
	fika.Agent
	takes *limit.Board
	why   api.Status // of any task that it may take
}

func (b *boardAnswers) why(ctx context.Context, t TaskInfo) ([]api.Status, error) {
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
	case t.State == fika.TaskReview:
		o, found, err := b.c.store.OfferOf(ctx, t.Number)
		if err == nil && t.Review != "" && (!found || o.State.Ended()) {
			return []api.Status{api.Stands(api.BoardReviewed, "agent", string(t.ByName), "request", string(t.Review))}, nil
		}
		return []api.Status{api.Stands(api.BoardReview, "agent", string(t.WorkerName), "offer", o.Stands())}, err
	case t.State == fika.TaskClaimed:
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
	if err := b.readOnce(ctx); err != nil {
		return nil, err
	}
	if b.paused {
		out = append(out, api.Stands(api.WaitingPausedAll))
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, a := range b.takers {
		if a.takes.Takes(a.ID, a.Pool, t.BoardTask) {
			out = append(out, a.why)
		}
	}
	if len(out) == 0 {
		out = append(out, api.Stands(api.BoardNobody, "agent", string(t.AgentName), "capability", t.Capability))
	}
	return out, nil
}

// readOnce reads who takes tasks, and why each does not take one now.
func (b *boardAnswers) readOnce(ctx context.Context) (err error) {
	if b.read {
		return nil
	}
	if b.paused, err = b.c.store.AllPaused(ctx); err != nil {
		return err
	}
	has, err := b.c.store.AtTasks(ctx)
	if err != nil {
		return err
	}
	for _, e := range b.c.config().Agents {
		a := taker{takes: b.c.app.BoardOf(fika.AgentName(e.ID))}
		if a.takes == nil {
			continue
		}
		a.Agent, err = b.c.store.Agent(ctx, fika.AgentName(e.ID))
		if fika.IsKind(err, fika.NotFound) { // the hub makes its row
			a.Agent, err = fika.Agent{Name: fika.AgentName(e.ID)}, nil
		}
		if err != nil {
			return err
		}
		a.why = b.c.Availability.neverAnswers(ctx, a.Agent)
		switch {
		case !a.why.IsClear():
		case has[a.ID] >= max(1, a.takes.Most):
			a.why = api.Stands(api.BoardFull, "agent", string(a.Name))
		default:
			a.why = api.Stands(api.AgentNext, "agent", string(a.Name))
		}
		b.takers = append(b.takers, a)
	}
	b.read = true
	return nil
}
