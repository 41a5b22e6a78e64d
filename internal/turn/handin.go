package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/text/speech"
	"fika/internal/tool"
)

// Work is the task of the board that a turn works.
type Work interface {
	// Check returns the check that has to pass now before the task is done. Without a command
	// there is none.
	Check(context.Context) (WorkCheck, error)
	// Files identifies what a check must leave as it is: HEAD and the tracked files. It is
	// empty where that cannot be told apart from what others do.
	Files(context.Context) (string, error)
	// HandedIn returns what was done, if another agent reviews it; nil: none does.
	HandedIn(context.Context) (*store.HandedIn, error)
}

// WorkCheck is the check of a task.
type WorkCheck struct {
	Command  string
	Timeout  time.Duration
	Rounds   int  // how often it may fail before the task waits for a person
	ByPerson bool // who has written it, so that nobody has to be asked about it
}

// isCheck reports whether a step runs the check of a task: a command may be repeated then.
// No command of a model is planned so.
func isCheck(s fika.Step) bool { return s.Tool == "bash" && s.Effect == fika.Idempotent }

// handIn ends the turn with an answer or, if the task that it works has a check, commits the
// answer with the call that runs it: see [modelCall.checked].
func (m *modelCall) handIn(ctx context.Context, commit store.ModelCommit) error {
	end := &ending{state: fika.Done, final: &commit}
	check, err := m.taskCheck(ctx)
	if err != nil || check.Command == "" {
		return orEnding(err, end)
	}
	args, err := json.Marshal(map[string]any{"command": check.Command, "timeout_seconds": int(check.Timeout.Seconds())})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(args)
	commit.Passes = m.permits.newlyPassed()
	commit.Calls = []store.PlannedCall{{
		CallID: fmt.Sprintf("check_%d", m.round), Tool: "bash", Args: string(args), ArgsHash: hex.EncodeToString(sum[:16]), Effect: fika.Idempotent, Origin: fika.CheckOrigin,
	}}
	planned, err := m.commitModel(ctx, commit)
	if err != nil {
		return err
	}
	if len(planned.Entries) > 0 {
		m.records.byEntry[planned.Entries[0].ID] = readRecord(commit.Blob)
	}
	m.pending = append(m.pending, planned.Steps...)
	m.observeEvent(Event{Kind: Committed, Entries: planned.Entries, Round: m.round})
	return nil
}

func orEnding(err error, end *ending) error {
	if err != nil {
		return err
	}
	return end
}

// taskCheck reads the check of the task that the turn works.
func (a *assignment) taskCheck(ctx context.Context) (check WorkCheck, err error) {
	if a.work == nil {
		return check, nil
	}
	err = a.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		check, err = a.work.Check(ctx)
		return err
	})
	return check, err
}

// checked ends the turn if the last thing in it is a check of its task that has passed, with
// the answer that was checked. After one that has failed the turn goes on, unless that was
// once too often.
func (m *modelCall) checked(ctx context.Context) error {
	if len(m.own) == 0 {
		return nil
	}
	last := m.own[len(m.own)-1]
	if last.Type != fika.ToolResult || last.Meta.Origin != fika.CheckOrigin {
		return nil
	}
	check, err := m.taskCheck(ctx)
	if err != nil {
		return err
	}
	if !last.Meta.IsError || check.Command == "" {
		return &ending{state: fika.Done, answer: m.lastSaid()}
	}
	failed := 0
	for _, e := range m.own {
		if e.Type == fika.ToolResult && e.Meta.Origin == fika.CheckOrigin && e.Meta.IsError {
			failed++
		}
	}
	switch {
	case m.cannotCheck != "":
		return &ending{state: fika.RequestFailed, kind: fika.Denied, holds: true, reason: "its check cannot be run: " + m.cannotCheck}
	case failed > check.Rounds:
		return &ending{state: fika.RequestFailed, kind: fika.Failed, holds: true, reason: fmt.Sprintf("its check fails, after it came back %d times (max_rounds): %s", failed-1, check.Command)}
	}
	return nil
}

// lastSaid returns what the agent said last in this turn.
func (p *progress) lastSaid() *fika.Entry {
	for i := len(p.own) - 1; i >= 0; i-- {
		if e := &p.own[i]; e.Type == fika.Message && e.Meta.Writer != fika.ByTool && e.Meta.Writer != fika.ByHuman {
			return e
		}
	}
	return nil
}

// checkText is what the model is shown of a check. Its output is indented, so that it cannot
// pass for what is said around it.
func checkText(args, output string, failed bool) string {
	var a struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal([]byte(args), &a)
	text := "(the check of your task was run: " + strings.Join(strings.Fields(a.Command), " ")
	if !failed {
		return text + "\nIt has passed.)"
	}
	return text + "\nIt has failed, so the task is not done. Its output:\n\n  " + speech.IndentRest(output) + "\n\nFix what is wrong. It is run again when you answer.)"
}

// readFiles takes note of what a check must leave as it is, before it is run; one that is
// run again after a crash goes by what was there before.
func (t *toolCalls) readFiles(ctx context.Context, j *job) {
	if j.files = j.step.PreHash; j.files != "" || t.work == nil {
		return
	}
	var err error
	if j.files, err = t.work.Files(ctx); err != nil {
		j.result = &tool.Result{IsError: true, Text: "not run: git cannot say what is there: " + err.Error()}
	}
}

// sameFiles makes a check fail that has changed what it has to leave as it is.
func (t *toolCalls) sameFiles(ctx context.Context, j *job, r *tool.Result) {
	if j.files == "" || t.work == nil {
		return
	}
	now, err := t.work.Files(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		r.IsError, r.Text = true, r.Text+"\ngit cannot say what it has changed: "+err.Error()
	case now != j.files:
		r.IsError, r.Text = true, r.Text+"\nIt has changed HEAD or tracked files: a check has to leave them as they are."
	}
}

// checkTask runs the check of the task that the program calls done, before that is the
// outcome. again is what the program is told of one that has failed; empty: the turn ends.
func (g *guestTurn) checkTask(ctx context.Context, stop error) (again string, err error) {
	end, ok := stop.(*ending)
	if !ok || end.state != fika.Done || end.final == nil || end.stop == fika.Silent {
		return "", stop
	}
	if err := g.model.handIn(ctx, *end.final); err != nil {
		return "", err
	}
	g.nextRound()
	if err := g.rounds.runTools(ctx); err != nil {
		return "", err
	}
	if err := g.model.checked(ctx); err != nil {
		return "", err
	}
	last := g.own[len(g.own)-1]
	check, err := g.model.taskCheck(ctx)
	args, _ := json.Marshal(map[string]string{"command": check.Command})
	return checkText(string(args), last.Content, true), err
}
