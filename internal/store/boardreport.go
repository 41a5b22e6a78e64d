package store

import (
	"context"

	"fika"
)

// TaskReport is what somebody says about a task without moving it.
type TaskReport struct {
	Note string  // a line for its log, and for whoever works it next
	Body *string // replaces its body
	// HandBack is why its worker gives it back: others may take it once the turn has ended.
	HandBack string

	By      string         // as the log shows it
	Agent   fika.AgentName // that reports; empty: a person does
	Request fika.RequestID // in which the agent reports
	// Rights and Taint go with what the agent says; Held is why a task that it has changed
	// waits for a person, empty: it does not.
	Rights *fika.Rights
	Taint  string
	Held   string
}

// ReportTask stores what is said about a task that has not ended. An agent speaks about the
// task that its request works and about those that it has added; it changes the body only of
// those that it has added and that nobody works. It fails with NotFound, with Denied for
// another's task, and with Conflict for a task that has ended or that is worked.
func (s Board) ReportTask(ctx context.Context, n fika.TaskNumber, r TaskReport) (TaskInfo, error) {
	const op = "report on task"
	var out TaskInfo
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		out, err = boardIn(t).change(ctx, n, func(task *fika.BoardTask) error { return boardIn(t).report(ctx, task, r) })
		return err
	})
	return out, err
}

func (t boardRows) report(ctx context.Context, task *fika.BoardTask, r TaskReport) error {
	bad := func(kind fika.Kind, format string) error { return fika.Errorf(kind, "", format, task.Number) }
	works := r.Request != "" && task.State == fika.TaskClaimed && task.Request == r.Request
	again := false // it works on what it has offered, which came back
	if r.Request != "" && task.State == fika.TaskReview {
		_, found, err := one(ctx, t, scanInt, `SELECT 1 FROM requests r WHERE r.id = ? AND r.task = ?`, r.Request, task.Number)
		if again = found; err != nil {
			return err
		}
	}
	added := task.Writer == fika.ByAgent && task.CreatedBy == string(r.Agent)
	switch {
	case r.Agent != "" && !works && !again && !added:
		return bad(fika.Denied, "task %d is neither the one that you work nor one that you added")
	case r.HandBack != "" && !works:
		return bad(fika.Denied, "task %d is not the one that you work: only its worker hands a task back")
	case r.Body != nil && !added:
		return bad(fika.Denied, "only who added task %d can change it: add a note instead")
	case task.State.Ended():
		return bad(fika.Conflict, "task %d has ended")
	case r.Body != nil && task.State != fika.TaskOpen && task.State != fika.TaskHeld:
		return bad(fika.Conflict, "task %d is being worked: its worker would not see another body")
	}
	if task.Taint == "" {
		task.Taint = r.Taint
	}
	if r.Body != nil {
		task.Body, task.Rights = *r.Body, task.Rights.IntersectWith(r.Rights)
		if r.Held != "" && task.State == fika.TaskOpen {
			task.State, task.HeldReason = fika.TaskHeld, r.Held
		}
		if err := t.note(ctx, task.Number, r.By, TaskEdited, "body"); err != nil {
			return err
		}
	}
	if r.HandBack != "" {
		task.HandedBack = r.HandBack
	}
	if r.Note == "" {
		return nil
	}
	return t.note(ctx, task.Number, r.By, TaskNoted, r.Note)
}
