package store

import (
	"context"
	"fmt"
	"time"

	"fika"
)

// maxTaskAttempts is how often work on a task may fail before it waits for a person.
const maxTaskAttempts = 3

// reasonGone ends the request of a task whose agent is gone.
const reasonGone = "its agent is gone"

// requestEnded moves the task that a request works, unless it was taken back before.
func (t boardRows) requestEnded(ctx context.Context, q fika.Request, worker fika.AgentName, e ending) error {
	if e.holds {
		return t.holdWork(ctx, q, e.reason)
	}
	if err := t.holdUnchecked(ctx, q, e); err != nil {
		return err
	}
	task, found, err := one(ctx, t, scanTask, selectTask+` WHERE t.n = ? AND t.request = ? AND t.state = 'claimed'`+lockTask, q.Task, q.ID)
	if err != nil || !found {
		return err
	}
	why := e.outcome.Error
	if why == "" {
		why = e.reason
	}
	offered, err := t.offeredIn(ctx, q)
	if err != nil {
		return err
	}
	who, what := "@"+string(worker), TaskFailed
	switch {
	case e.state == fika.Done && task.HandedBack != "":
		what, why, task.HandedBack = TaskHandedBack, task.HandedBack, ""
		task.Attempts++
		task.State = fika.TaskOpen
	case e.state == fika.Done:
		what, why = TaskFinished, ""
		task.Result = clip(e.outcome.Answer, maxTaskResult)
		if task.State = fika.TaskDone; offered != nil {
			task.State, task.HeldReason = whileOffered(*offered)
			why = offered.Stands()
		} else if task.Reviewer != "" {
			if why, err = t.askReview(ctx, q, &task, worker, e); err != nil {
				return err
			}
		}
		if task.Taint == "" {
			task.Taint = e.outcome.Taint
		}
	case offered != nil && e.state != fika.Cancelled && e.outcome.ErrorKind != fika.Limit: // its work is handed in
		task.State, task.HeldReason = whileOffered(*offered)
		why += "; " + offered.Stands()
	case e.reason == reasonGone:
		who, what, task.State = "fika", TaskReleased, fika.TaskOpen
	case e.state == fika.Cancelled && e.reason != reasonDeadline, e.outcome.ErrorKind == fika.Limit:
		who, what = "fika", TaskStopped
		task.State, task.HeldReason = fika.TaskHeld, clip(why, maxTaskLine)
	default:
		task.Attempts++
		task.State = fika.TaskOpen
	}
	if task.State == fika.TaskOpen && task.Attempts >= maxTaskAttempts {
		task.State, task.HeldReason = fika.TaskHeld, clip(fmt.Sprintf("it failed %d times, at last: %s", task.Attempts, why), maxTaskLine)
	}
	if err := t.save(ctx, &task); err != nil {
		return err
	}
	return t.note(ctx, task.Number, who, what, why)
}

// offeredIn returns the offer of what was made in a request that works a task; nil if that
// has offered nothing. The task is locked, so that the offer does not end unseen.
func (t boardRows) offeredIn(ctx context.Context, q fika.Request) (*fika.Offer, error) {
	o, found, err := one(ctx, t, scanOffer, selectOffer+` WHERE o.task = ? AND o.task > 0 AND o.request = ? ORDER BY o.n DESC LIMIT 1`, q.Task, q.ID)
	if err != nil || !found {
		return nil, err
	}
	return &o, nil
}

// whileOffered returns where a task stands whose work was offered and that nobody works: it
// is done when that has landed, and waits for a person if it will not.
func whileOffered(o fika.Offer) (state fika.TaskState, held string) {
	switch o.State {
	case fika.OfferLanded:
		return fika.TaskDone, ""
	case fika.OfferRefused, fika.OfferCancelled:
		return fika.TaskHeld, clip(o.Stands(), maxTaskLine)
	}
	return fika.TaskReview, ""
}

// offerEnds moves the task of an offer that ends, unless that is worked now: see
// [boardRows.requestEnded], which looks at the offer then.
func (t boardRows) offerEnds(ctx context.Context, o fika.Offer) error {
	task, found, err := one(ctx, t, scanTask, selectTask+` WHERE t.n = ?`+lockTask, o.Task)
	if err != nil || !found {
		return err
	}
	state, held := whileOffered(o)
	switch {
	case state == fika.TaskReview, task.State != fika.TaskReview && !(task.State == fika.TaskHeld && state == fika.TaskDone):
		return nil
	}
	what := TaskLanded
	if state == fika.TaskHeld {
		what = TaskStopped
	}
	task.State, task.HeldReason = state, held
	if err := t.save(ctx, &task); err != nil {
		return err
	}
	return t.note(ctx, task.Number, "fika", what, o.Stands())
}

// withdraw cancels what is offered of a task that is taken back: an offer whose branch is
// being moved lands all the same.
func (t boardRows) withdraw(ctx context.Context, n fika.TaskNumber, why string) error {
	list, err := many(ctx, t, scanOffer, selectOffer+` WHERE o.task = ? AND o.task > 0 AND o.state IN ('waiting', 'review', 'trying', 'rework', 'held', 'asks') ORDER BY o.n`, n)
	if err != nil {
		return err
	}
	for _, o := range list {
		if err := offersIn(t.tx).cancel(ctx, &o, why); err != nil {
			return err
		}
	}
	return nil
}

// agentDeleted opens the tasks of an agent that is being deleted; those that only it may
// take wait for a person.
func (t boardRows) agentDeleted(ctx context.Context, a fika.Agent) error {
	list, err := many(ctx, t, scanTask, selectTask+` WHERE t.ended_at = 0 AND (t.agent = ? OR t.review_by = ? OR t.worker = ? AND t.state = 'claimed') ORDER BY t.n`+lockTask, a.ID, a.ID, a.ID)
	if err != nil {
		return err
	}
	for _, task := range list {
		if task.State == fika.TaskClaimed && task.Worker == a.ID {
			task.State = fika.TaskOpen
		}
		if task.Reviewer == a.ID && task.State != fika.TaskClaimed { // else it is noticed when that ends
			task.Reviewer, task.State, task.HeldReason = "", fika.TaskHeld, "@"+string(a.Name)+", which was to review it, was deleted"
		}
		if task.Worker == a.ID {
			task.Worker, task.Request = "", ""
		}
		if task.Agent == a.ID && task.State == fika.TaskOpen {
			task.State, task.HeldReason = fika.TaskHeld, "it was for @"+string(a.Name)+", which was deleted"
		}
		if task.Agent == a.ID {
			task.Agent = ""
		}
		if err := t.save(ctx, &task); err != nil {
			return err
		}
		if err := t.note(ctx, task.Number, "fika", TaskReleased, "@"+string(a.Name)+" was deleted"); err != nil {
			return err
		}
	}
	return nil
}

// Claimable returns tasks of the board that lack nothing but an agent, in the order in which
// they should be taken.
func (s Board) Claimable(ctx context.Context, limit int) ([]TaskInfo, error) {
	if all, err := allPaused(ctx, s.r); err != nil || all {
		return nil, s.explain("look for tasks", err)
	}
	list, err := many(ctx, s.r, scanTaskInfo, `SELECT `+taskColumns+`, `+taskNames+` FROM tasks t WHERE t.state = 'open' AND (t.due = 0 OR t.due > ?) AND `+needsDone+`
ORDER BY t.priority, t.n LIMIT ?`, s.nowMS(), limit)
	return list, s.explain("look for tasks", err)
}

// AtTasks returns how many requests of each agent work tasks of the board and have not ended.
func (s Board) AtTasks(ctx context.Context) (map[fika.AgentID]int, error) {
	type count struct {
		id fika.AgentID
		n  int
	}
	list, err := many(ctx, s.r, func(sc scanner) (c count, err error) { return c, sc.Scan(&c.id, &c.n) },
		`SELECT t.worker, count(*) FROM tasks t WHERE t.state = 'claimed' GROUP BY t.worker`)
	out := map[fika.AgentID]int{}
	for _, c := range list {
		out[c.id] = c.n
	}
	return out, s.explain("look for tasks", err)
}

// OpenLapsed opens the tasks whose agents have not been seen for patience although they were
// at work: their requests are ended, and what the old process still writes is refused. It
// also lets overdue tasks wait for a person. It returns the numbers of the tasks.
func (s Board) OpenLapsed(ctx context.Context, patience time.Duration) (out []fika.TaskNumber, err error) {
	const op = "open lapsed tasks"
	// It is called every few seconds, mostly in vain, so it looks before it writes.
	now := s.nowMS()
	late, err := many(ctx, s.r, scanTask, selectTask+` WHERE t.state = 'open' AND t.due > 0 AND t.due <= ? ORDER BY t.priority, t.n`, now)
	if err != nil {
		return nil, s.explain(op, err)
	}
	left, err := many(ctx, s.r, scanTask, selectTask+` JOIN agents a ON a.id = t.worker JOIN requests r ON r.id = t.request
WHERE t.state = 'claimed' AND r.state IN ('open', 'running') AND a.lease_until <= ? AND a.seen_at <= ? ORDER BY t.worker`, now, now-patience.Milliseconds())
	if err != nil {
		return nil, s.explain(op, err)
	}
	for _, task := range late {
		err := s.write(ctx, "hold overdue task", func(ctx context.Context, t *tx) error {
			return boardIn(t).overdue(ctx, task.Number)
		})
		if err != nil {
			return out, err
		}
		out = append(out, task.Number)
	}
	for _, task := range left {
		opened := false
		err := s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
			opened = false
			a, err := agentsIn(t).lockAgent(ctx, task.Worker)
			if fika.IsKind(err, fika.NotFound) {
				t.discard = true
				return nil
			}
			if err != nil {
				return err
			}
			if ms(a.LeaseUntil) > t.now || ms(a.SeenAt) > t.now-patience.Milliseconds() {
				t.discard = true
				return nil
			}
			opened = true
			return boardIn(t).takeFromLapsed(ctx, a, task)
		})
		if err != nil {
			return out, err
		}
		if opened {
			out = append(out, task.Number)
		}
	}
	return out, nil
}

// overdue lets an open task wait for a person because its time is over.
func (t boardRows) overdue(ctx context.Context, n fika.TaskNumber) error {
	task, found, err := one(ctx, t, scanTask, selectTask+` WHERE t.n = ? AND t.state = 'open' AND t.due > 0 AND t.due <= ?`+lockTask, n, t.now)
	if err != nil || !found {
		t.discard = true
		return err
	}
	task.State, task.HeldReason = fika.TaskHeld, "it was due at "+task.Due.Format(time.RFC3339)
	if err := t.save(ctx, &task); err != nil {
		return err
	}
	return t.note(ctx, n, "fika", TaskStopped, task.HeldReason)
}

// takeFromLapsed ends the request of a task whose agent is gone. The agent is locked.
func (t boardRows) takeFromLapsed(ctx context.Context, a fika.Agent, task fika.BoardTask) error {
	if a.Owner != "" { // what its process may still write is refused
		if _, err := t.tellAgents(ctx, `UPDATE agents SET owner = '', lease = '', lease_until = 0, epoch = epoch + 1 WHERE id = ?`, a.ID); err != nil {
			return err
		}
	}
	r, err := t.lockTurn(ctx, task.Request)
	if fika.IsKind(err, fika.NotFound) {
		return nil
	}
	if err != nil || r.state.Terminal() || r.state == fika.Waiting {
		return err
	}
	_, err = t.end(ctx, r, ending{state: fika.Cancelled, reason: reasonGone, outcome: fika.Outcome{ErrorKind: fika.Interrupted}})
	return err
}
