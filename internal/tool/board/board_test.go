package board_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/tool/board"
	"fika/internal/tool/tooltest"
)

// table is a desk with some tasks on it.
type table []store.TaskInfo

func (d table) Add(_ context.Context, _ tool.Call, list []board.Task) ([]store.TaskInfo, error) {
	if len(list) == 0 {
		return nil, fika.Errorf(fika.Invalid, "", "there is no task to add")
	}
	return d[:len(list)], nil
}

func (d table) List(_ context.Context, _ tool.Call, f store.TaskFilter) (out []store.TaskInfo, _ map[fika.TaskState]int, _ error) {
	counts := map[fika.TaskState]int{}
	for _, t := range d {
		counts[t.State]++
		if slices.Contains(f.States, t.State) && len(out) < f.Limit {
			out = append(out, t)
		}
	}
	return out, counts, nil
}

func (d table) Show(_ context.Context, _ tool.Call, n fika.TaskNumber) (store.TaskInfo, []store.TaskLine, error) {
	for _, t := range d {
		if t.Number == n {
			return t, []store.TaskLine{{Who: "@lead", What: store.TaskAdded, Text: "a\nb"}}, nil
		}
	}
	return store.TaskInfo{}, nil, fika.Errorf(fika.NotFound, "", "task %d not found (fika board list)", n)
}

func (d table) Update(ctx context.Context, c tool.Call, u board.Update) (store.TaskInfo, error) {
	t, _, err := d.Show(ctx, c, fika.TaskNumber(u.Task))
	return t, err
}

func tasks() (d table) {
	for i := range 300 {
		d = append(d, store.TaskInfo{BoardTask: fika.BoardTask{Number: fika.TaskNumber(i + 1), State: fika.TaskOpen, Title: strings.Repeat("ä word ", 20), Body: strings.Repeat("long\n", 10_000), Result: strings.Repeat("ö", 30_000)}})
	}
	d[1].Taint, d[1].Title, d[1].Needs = "fetch example.org", "rm -rf", []store.TaskNeed{{Number: 1, State: fika.TaskOpen}}
	return d
}

func TestTheToolsKeepTheContract(t *testing.T) {
	good := map[string][]string{
		board.AddName:    {`{"tasks":[{"title":"a"},{"title":"b","body":"c","needs":["a","7"],"agent":"coder","capability":"go","priority":0,"parent":3}]}`},
		board.ListName:   {`{}`, `{"state":"open"}`, `{"state":"done"}`, `{"task":1}`},
		board.UpdateName: {`{"task":1,"note":"half"}`, `{"task":2,"body":"x","hand_back":"no"}`},
	}
	bad := map[string][]string{
		board.AddName:    {`{"tasks":[]}`, `{"tasks":[{"body":"a"}]}`, `{"tasks":[{"title":"a","by":"anna"}]}`, `{"tasks":[{"title":1}]}`},
		board.ListName:   {`{"state":"new"}`, `{"task":999}`, `{"task":-1}`},
		board.UpdateName: {`{"task":999,"note":"x"}`, `{"task":"1"}`},
	}
	for _, one := range board.Tools(tasks()) {
		name := one.Spec().Name
		t.Run(name, func(t *testing.T) { tooltest.Run(t, tooltest.Case{Tool: one, Good: good[name], Bad: bad[name]}) })
	}
	for _, one := range board.Tools(nil) {
		if !one.Spec().Hidden {
			t.Errorf("%s is offered without a board", one.Spec().Name)
		}
	}
}

// What comes from outside is not shown in passing, and taints the turn that asks for it.
func TestTextFromOutsideIsAskedFor(t *testing.T) {
	list := board.Tools(tasks())[1]
	call := func(args, taint string) tool.Result {
		r, err := list.Call(t.Context(), tool.Call{Args: []byte(args), Taint: taint})
		if err != nil || r.IsError {
			t.Fatal(r, err)
		}
		return r
	}
	if r := call(`{}`, ""); strings.Contains(r.Text, "rm -rf") || r.Taint != "" || !strings.Contains(r.Text, "2 open, needs 1: (its text comes from outside; board_list with task = 2 reads it)") || !strings.Contains(r.Text, "200 more") {
		t.Errorf("%q, %q", r.Text[:min(400, len(r.Text))], r.Taint)
	}
	if r := call(`{}`, "a page"); !strings.Contains(r.Text, "rm -rf") {
		t.Error("a turn that has read such text is not shown it")
	}
	if r := call(`{"task":2}`, ""); !strings.Contains(r.Text, "rm -rf") || r.Taint != "fetch example.org" || !strings.Contains(r.Text, "\n  @lead added a\n  b\n") {
		t.Errorf("%q, %q", r.Text[len(r.Text)-100:], r.Taint)
	}
}
