package service

import (
	"context"
	"strings"
	"unicode/utf8"

	"fika"
	"fika/internal/api"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/tool/board"
)

// TaskReport is what somebody says about a task without moving it.
type TaskReport struct {
	Note     string
	Body     *string // replaces the body of a task that the agent has added
	HandBack string  // why the worker gives it back once its turn has ended
}

// Report stores what is said about a task that has not ended; an agent that names none
// speaks about the one that it works. Error kinds: NotFound, Invalid, Conflict, and Denied
// for a task that the agent neither works nor has added.
func (b *Board) Report(ctx context.Context, n fika.TaskNumber, r TaskReport) (TaskInfo, error) {
	if err := b.may(ctx, "board.report"); err != nil {
		return TaskInfo{}, err
	}
	speaker, say, err := b.c.speaker(ctx, Alias{})
	if err != nil {
		return TaskInfo{}, err
	}
	r.Note, r.HandBack = strings.TrimSpace(r.Note), strings.TrimSpace(r.HandBack)
	report := store.TaskReport{Note: r.Note, Body: r.Body, HandBack: r.HandBack, By: b.name()}
	if b.c.who.Kind == api.Program {
		report.Taint = "program " + b.c.who.Name
	}
	if speaker != nil {
		if n == 0 {
			n = speaker.Request.Task
		}
		report.By, report.Agent, report.Request = "@"+string(speaker.Agent), speaker.Agent, speaker.Request.ID
		report.Rights, report.Taint = passedOn(b.call, speaker)
		report.Held = b.c.heldFor(report.Taint, "changed")
	}
	body := ""
	if r.Body != nil {
		body = *r.Body
	}
	switch {
	case n == 0:
		return TaskInfo{}, fika.Errorf(fika.Invalid, "", "you have no task of the board: name one")
	case r.Note == "" && r.Body == nil && r.HandBack == "":
		return TaskInfo{}, fika.Errorf(fika.Invalid, "", "nothing to report")
	case len(r.Note) > maxTaskWhy || len(r.HandBack) > maxTaskWhy:
		return TaskInfo{}, fika.Errorf(fika.Invalid, "", "a note and a reason have at most %d bytes", maxTaskWhy)
	case len(body) > MaxTaskBody || !utf8.ValidString(body+r.Note+r.HandBack):
		return TaskInfo{}, fika.Errorf(fika.Invalid, "", "a body is UTF-8 text of at most %d bytes", MaxTaskBody)
	}
	out, err := once(ctx, say, "board.report", []any{n, r}, func(to *store.Store) (TaskInfo, error) { return to.ReportTask(ctx, n, report) },
		func(*store.Repeated) (TaskInfo, error) { return b.c.store.Task(ctx, n) })
	if err == nil {
		b.wake(ctx)
	}
	return out, err
}

// Add implements [board.Desk].
func (d *Desk) Add(ctx context.Context, c tool.Call, tasks []board.Task) ([]TaskInfo, error) {
	list := make([]NewTask, len(tasks))
	for i, t := range tasks {
		list[i] = NewTask{Title: strings.TrimSpace(t.Title), Body: t.Body, Priority: fika.DefaultPriority, Capability: t.Capability, Agent: t.Agent, Parent: fika.TaskNumber(t.Parent), Needs: t.Needs, Check: t.Check, Review: t.Review}
		if t.Priority != nil {
			list[i].Priority = *t.Priority
		}
	}
	b, err := d.board(ctx, c)
	if err != nil {
		return nil, err
	}
	return b.Add(ctx, list)
}

// List implements [board.Desk].
func (d *Desk) List(ctx context.Context, c tool.Call, f TaskFilter) ([]TaskInfo, map[fika.TaskState]int, error) {
	b, err := d.board(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	list, err := b.List(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	counts, err := b.Counts(ctx)
	return list, counts, err
}

// Show implements [board.Desk].
func (d *Desk) Show(ctx context.Context, c tool.Call, n fika.TaskNumber) (TaskInfo, []TaskLine, error) {
	b, err := d.board(ctx, c)
	if err != nil {
		return TaskInfo{}, nil, err
	}
	v, err := b.Find(ctx, n)
	return v.TaskInfo, v.Log, err
}

// Update implements [board.Desk].
func (d *Desk) Update(ctx context.Context, c tool.Call, u board.Update) (TaskInfo, error) {
	b, err := d.board(ctx, c)
	if err != nil {
		return TaskInfo{}, err
	}
	return b.Report(ctx, fika.TaskNumber(u.Task), TaskReport{Note: u.Note, Body: u.Body, HandBack: u.HandBack})
}
