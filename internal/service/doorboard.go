package service

import (
	"context"
	"slices"
	"strconv"

	"fika"
	"fika/internal/api"
)

// offersLookedAt is how many of the latest offers are looked through for those of tasks.
const offersLookedAt = 200

func (d door) Board(ctx context.Context, each int) (out []api.TaskColumn, err error) {
	list, err := d.c.Board().List(ctx, TaskFilter{Each: each})
	if err != nil {
		return nil, d.fails(err)
	}
	counts, err := d.c.Board().Counts(ctx)
	if err != nil {
		return nil, d.fails(err)
	}
	offers, err := d.offersByChain(ctx)
	if err != nil {
		return nil, err
	}
	look := d.tasks()
	for _, t := range list { // by state
		if len(out) == 0 || out[len(out)-1].State != string(t.State) {
			out = append(out, api.TaskColumn{State: string(t.State), Tasks: []api.TaskInfo{}})
		}
		info, err := look.info(ctx, t)
		if err != nil {
			return nil, d.fails(err)
		}
		info.Offer = offers[info.Request]
		c := &out[len(out)-1]
		c.Tasks = append(c.Tasks, info)
		c.Count = max(counts[t.State], len(c.Tasks))
	}
	return out, nil
}

// offersByChain returns the latest offers, as far as they belong to a chain: the request of
// a task is the root of one.
func (d door) offersByChain(ctx context.Context) (map[string]*api.OfferInfo, error) {
	list, err := d.Offers(ctx, api.Page{Limit: offersLookedAt})
	out := map[string]*api.OfferInfo{}
	for _, o := range list.Items { // newest first
		if out[o.Chain] == nil && o.Chain != "" {
			out[o.Chain] = &o
		}
	}
	return out, err
}

func (d door) Tasks(ctx context.Context, state string, p api.Page) (out api.List[api.TaskInfo], err error) {
	skip := 0
	if p.After != "" {
		if skip, err = strconv.Atoi(p.After); err != nil || skip < 1 {
			return out, d.fails(badPage(p.After))
		}
	}
	if !slices.Contains(fika.TaskStates(), fika.TaskState(state)) {
		return out, d.fails(fika.Errorf(fika.Invalid, "", "%.40q is not a state of a task", state))
	}
	size, look := pageSize(p), d.tasks()
	list, err := d.c.Board().List(ctx, TaskFilter{States: []fika.TaskState{fika.TaskState(state)}, Skip: skip, Limit: size + 1})
	if err != nil {
		return out, d.fails(err)
	}
	if len(list) > size {
		list, out.Next = list[:size], strconv.Itoa(skip+size)
	}
	out.Items = []api.TaskInfo{}
	for _, t := range list {
		info, err := look.info(ctx, t)
		if err != nil {
			return out, d.fails(err)
		}
		out.Items = append(out.Items, info)
	}
	return out, nil
}

func (d door) Task(ctx context.Context, n int64) (out api.Task, err error) {
	v, err := d.c.Board().Find(ctx, fika.TaskNumber(n))
	if err != nil {
		return out, d.fails(err)
	}
	look := d.tasks()
	if out.TaskInfo, err = look.info(ctx, v.TaskInfo); err != nil {
		return out, d.fails(err)
	}
	out.Body, out.Result, out.Log = v.Body, v.Result, []api.TaskLine{}
	for _, l := range v.Log {
		out.Log = append(out.Log, api.TaskLine{At: l.At, Who: l.Who, What: string(l.What), Text: l.Text})
	}
	for _, part := range []struct {
		from []TaskInfo
		to   *[]api.TaskInfo
	}{{v.Parts, &out.Parts}, {v.Needed, &out.NeededBy}} {
		*part.to = []api.TaskInfo{}
		for _, t := range part.from {
			*part.to = append(*part.to, taskInfo(t))
		}
	}
	offers, err := d.offersByChain(ctx)
	out.Offer = offers[out.Request]
	return out, err
}

// taskLook makes what doors see of tasks.
type taskLook struct {
	c       *Service
	answers *boardAnswers
}

func (d door) tasks() taskLook { return taskLook{d.c, d.c.Board().answers()} }

// info returns a task with why nobody takes it, or who has it since when.
func (l taskLook) info(ctx context.Context, t TaskInfo) (out api.TaskInfo, err error) {
	out = taskInfo(t)
	if t.State.Ended() {
		return out, nil
	}
	if out.Why, err = l.answers.why(ctx, t); err != nil || t.State != fika.TaskClaimed {
		return out, err
	}
	r, err := l.c.store.Request(ctx, t.Request)
	if fika.IsKind(err, fika.NotFound) { // it was deleted meanwhile
		return out, nil
	}
	out.Since = r.CreatedAt
	return out, err
}

func taskInfo(t TaskInfo) api.TaskInfo {
	out := api.TaskInfo{
		Number: int64(t.Number), Title: t.Title, State: string(t.State), Since: t.UpdatedAt, HeldReason: t.HeldReason, Priority: t.Priority,
		Capability: t.Capability, Agent: string(t.AgentName), Worker: string(t.WorkerName), Request: string(t.Request), Parent: int64(t.Parent),
		By: t.Author(), Taint: t.Taint, Attempts: t.Attempts, Due: t.Due, Created: t.CreatedAt, Ended: t.EndedAt,
		Check: t.Check, Reviewer: string(t.ByName), Review: string(t.Review), Rounds: t.Round,
	}
	for _, n := range t.Needs {
		out.Needs = append(out.Needs, api.TaskNeed{Number: int64(n.Number), State: string(n.State)})
	}
	return out
}

func (d door) AddTask(ctx context.Context, n api.NewTask, w api.Write) (out api.TaskInfo, err error) {
	list, err := d.write(w).Board().Add(ctx, []NewTask{{
		Title: n.Title, Body: n.Body, Priority: n.Priority, Capability: n.Capability, Agent: n.Agent, Parent: fika.TaskNumber(n.Parent), Needs: n.Needs, Due: n.Due,
		Check: n.Check, Review: n.Review,
	}})
	if err != nil {
		return out, d.fails(err)
	}
	return taskInfo(list[0]), nil
}

func (d door) EditTask(ctx context.Context, n int64, e api.TaskEdit, w api.Write) error {
	_, err := d.write(w).Board().Edit(ctx, fika.TaskNumber(n), TaskEdit{
		Title: e.Title, Body: e.Body, Capability: e.Capability, Agent: e.Agent, Priority: e.Priority, Needs: e.Needs, Check: e.Check, Review: e.Review,
	})
	return d.fails(err)
}

func (d door) NoteTask(ctx context.Context, n int64, note string, w api.Write) error {
	_, err := d.write(w).Board().Report(ctx, fika.TaskNumber(n), TaskReport{Note: note})
	return d.fails(err)
}

func (d door) ReleaseTask(ctx context.Context, n int64, why string, w api.Write) error {
	_, err := d.write(w).Board().Release(ctx, fika.TaskNumber(n), why)
	return d.fails(err)
}

func (d door) CloseTask(ctx context.Context, n int64, dropped bool, why string, w api.Write) error {
	_, err := d.write(w).Board().Close(ctx, fika.TaskNumber(n), dropped, why)
	return d.fails(err)
}

func (d door) ReopenTask(ctx context.Context, n int64, why string, w api.Write) error {
	_, err := d.write(w).Board().Reopen(ctx, fika.TaskNumber(n), why)
	return d.fails(err)
}
