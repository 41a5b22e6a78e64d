package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"fika"
)

// HandedIn is what was done of a task of the board, for its reviewer.
type HandedIn struct {
	ID   string // the same work has the same one
	Text string // what has changed; empty: only the answer says
}

// workOf returns what a request that has ended has done.
func workOf(e ending) HandedIn {
	w := HandedIn{}
	if e.work != nil {
		w = *e.work
	}
	if w.ID == "" {
		sum := sha256.Sum256([]byte(e.outcome.Answer))
		w.ID = hex.EncodeToString(sum[:])
	}
	return w
}

// reviewsItself refuses a task that only its reviewer may work.
func reviewsItself(task fika.BoardTask) error {
	if task.Reviewer != "" && task.Reviewer == task.Agent {
		return fika.Errorf(fika.Invalid, "", "%q is left to the agent that is to review it: nobody reviews their own work", task.Title)
	}
	return nil
}

// askReview has the reviewer of a task look at what its worker hands in, and returns what the
// log says about it. Work that the reviewer has seen already waits for a person.
func (t boardRows) askReview(ctx context.Context, q fika.Request, task *fika.BoardTask, worker fika.AgentName, e ending) (why string, err error) {
	by, err := agentByID(ctx, t, task.Reviewer)
	w := workOf(e)
	switch {
	case fika.IsKind(err, fika.NotFound):
		task.State, task.HeldReason = fika.TaskHeld, "the agent that is to review it is gone"
		return task.HeldReason, nil
	case err != nil:
		return "", err
	case task.Round > 0 && w.ID == task.Work:
		task.State, task.HeldReason = fika.TaskHeld, "nothing has changed since @"+string(by.Name)+" wanted changes"
		return task.HeldReason, nil
	}
	n := reviewRequest(by.ID, q.Chain, q.Depth, task.Rights, firstText(task.Taint, e.outcome.Taint), reviewPrompt(*task, worker, e.outcome.Answer, w.Text))
	n.Payload.From, n.Payload.Review = boardSays, task.Number
	acc, err := requestsIn(t.tx).accept(ctx, n)
	if err != nil {
		return "", err
	}
	task.State, task.Review, task.Work = fika.TaskReview, acc.Request.ID, w.ID
	return "@" + string(by.Name) + " reviews it", nil
}

func firstText(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// reviewPrompt is what a reviewer is asked. What others have written is indented, so that it
// cannot pass for what is said around it.
func reviewPrompt(task fika.BoardTask, worker fika.AgentName, answer, changes string) string {
	text := fmt.Sprintf("@%s says that task %d of the board is done: review it. The task:\n\n%s\n", worker, task.Number, indented(task.Title))
	if task.Body != "" {
		text += indented(task.Body) + "\n"
	}
	text += "\nWhat @" + string(worker) + " says of it:\n\n" + indented(clip(answer, maxShownResult)) + "\n"
	if changes != "" {
		text += "\nIt changes, and where it was worked you can read all of it:\n\n" + indented(changes) + "\n"
	}
	return text + "\nAnswer with ok = true if it is good as it is. Else answer with ok = false, and say in notes what is wrong, where, and how it shows: its agent reads them, and works on.\n"
}

// reviewEnded moves the task that a request has reviewed: it is done, or its agent works on
// in the conversation in which it did. It waits for a person if there is no review, or if it
// came back too often.
func (t boardRows) reviewEnded(ctx context.Context, q fika.Request, by fika.AgentName, e ending) error {
	task, found, err := one(ctx, t, scanTask, selectTask+` WHERE t.n = ? AND t.review = ? AND t.state = 'review'`+lockTask, q.Payload.Review, q.ID)
	if err != nil || !found {
		return err
	}
	if task.Taint == "" {
		task.Taint = e.outcome.Taint
	}
	who, what, why := "@"+string(by), TaskReviewed, "it is good"
	held := func(reason string) {
		task.State, task.HeldReason = fika.TaskHeld, clip(reason, maxTaskLine)
	}
	said, err := readReview(e.outcome.Answer)
	switch {
	case e.state != fika.Done || err != nil:
		why = firstText(e.outcome.Error, e.reason)
		if e.state == fika.Done {
			why = err.Error()
		}
		who, what = "fika", TaskStopped
		held("@" + string(by) + " has not reviewed it: " + why)
	case said.OK:
		task.State = fika.TaskDone
		if said.Notes != "" {
			why += ": " + said.Notes
		}
	case task.Round >= e.rounds:
		why = said.Notes
		held(fmt.Sprintf("@%s wants changes after %d rounds (max_rounds): %s", by, task.Round, why))
	default:
		why = said.Notes
		if err := t.goOn(ctx, &task, q, by, said.Notes, e.rounds); err != nil {
			return err
		}
	}
	if err := t.save(ctx, &task); err != nil {
		return err
	}
	return t.note(ctx, task.Number, who, what, why)
}

// goOn has the agent of a task work on what its reviewer wants, in the conversation in which
// it has worked. The task is open for others if that agent is gone.
func (t boardRows) goOn(ctx context.Context, task *fika.BoardTask, q fika.Request, by fika.AgentName, notes string, rounds int) error {
	task.Round++
	worker, err := agentByID(ctx, t, task.Worker)
	if fika.IsKind(err, fika.NotFound) {
		task.State, task.Worker, task.Request = fika.TaskOpen, "", ""
		return nil
	}
	if err != nil {
		return err
	}
	n, c, err := offersIn(t.tx).reworkOf(ctx, fika.Offer{
		Agent: worker.Name, Task: task.Number, Request: task.Request, Chain: q.Chain, Depth: q.Depth, Rights: task.Rights, Taint: task.Taint,
	})
	if err != nil {
		return err
	}
	n.Payload.From, n.Deadline = boardSays, task.Due
	text := fmt.Sprintf("@%s has reviewed what you handed in for task %d of the board, and wants changes (round %d of at most %d):\n\n%s\n\nChange that. Your next answer is reviewed again, with what you have changed.\n",
		by, task.Number, task.Round, rounds, indented(clip(notes, maxShownResult)))
	if err := t.giveBack(ctx, n, c, worker.Name, text, task.Taint); err != nil {
		return err
	}
	task.State, task.Request = fika.TaskClaimed, n.ID
	return nil
}

// boardSays is the name under which agents are told what became of their work on a task. It
// is no agent's and no person's: what it says is material.
const boardSays = "board"

// holdWork lets the task that a request works wait for a person; what was offered of it does
// not land.
func (t boardRows) holdWork(ctx context.Context, q fika.Request, why string) error {
	task, found, err := one(ctx, t, scanTask, selectTask+` WHERE t.n = ? AND (t.state = 'claimed' AND t.request = ? OR t.state = 'review')`+lockTask, q.Task, q.ID)
	if err != nil || !found {
		return err
	}
	task.State, task.HeldReason = fika.TaskHeld, clip(why, maxTaskLine)
	if err := t.save(ctx, &task); err != nil {
		return err
	}
	if err := t.note(ctx, task.Number, "fika", TaskStopped, why); err != nil {
		return err
	}
	return t.withdraw(ctx, task.Number, why)
}

// holdUnchecked lets what a request has offered of a task wait for a person if the request
// ends before the check of that task was run.
func (t boardRows) holdUnchecked(ctx context.Context, q fika.Request, e ending) error {
	task, found, err := one(ctx, t, scanTask, selectTask+` WHERE t.n = ? AND t.check_cmd <> ''`+lockTask, q.Task)
	if err != nil || !found || e.state == fika.Done && task.HandedBack == "" {
		return err
	}
	o, err := t.offeredIn(ctx, q)
	if err != nil || o == nil || o.State != fika.OfferWaiting {
		return err
	}
	o.State, o.Reason = fika.OfferHeld, "the turn that offered it ended before the check of task "+strconv.FormatInt(int64(task.Number), 10)+" was run"
	return offersIn(t.tx).save(ctx, o)
}

// reviewRequest describes a request to look at the work of others, which answers whether it
// is good as it is, with notes.
func reviewRequest(by fika.AgentID, chain fika.RequestID, depth int, rights *fika.Rights, taint, text string) NewRequest {
	return NewRequest{
		Kind: fika.TaskRequest, Origin: fika.Queued, Agent: by, Chain: chain, Depth: depth + 1, Rights: rights, Taint: taint,
		Payload: fika.Payload{Prompt: text, From: returner, Writer: fika.ByTool, Background: true, Form: &fika.AnswerForm{Schema: json.RawMessage(reviewForm)}},
	}
}

// judgement is what a reviewer answers.
type judgement struct {
	OK    bool   `json:"ok"`
	Notes string `json:"notes"`
}

// readReview reads the answer of a reviewer.
func readReview(answer string) (j judgement, err error) {
	if json.Unmarshal([]byte(answer), &j) != nil {
		return j, fika.Errorf(fika.Invalid, "", "its answer cannot be read")
	}
	return j, nil
}

// settled makes a text that the turn has committed before its final one.
func (t *tx) settled(ctx context.Context, r turn, fin *Finish) error {
	e, found, err := one(ctx, t, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.seq = ?`, r.conv.ID, fin.Answer)
	if err == nil && (!found || e.Request != r.id) {
		err = fika.Errorf(fika.NotFound, "finish request", "request %s has not said %s/%d", r.id, r.conv.ID, fin.Answer)
	}
	if err != nil {
		return err
	}
	e.Meta.Final = true
	meta, err := metaJSON(e.Meta)
	if err != nil {
		return err
	}
	fin.Outcome.Answer, fin.Outcome.Entry, fin.Outcome.Seq = e.Content, e.ID, e.Seq
	return t.put(ctx, `UPDATE entries SET metadata = ?, recipient = ? WHERE conversation = ? AND seq = ?`, meta, r.addressee(), r.conv.ID, e.Seq)
}
