package service_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/service"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/tool/board"
)

// atWork gives agents a task each, and returns the requests, which they have begun.
func (h keyHome) atWork(t *testing.T, c *service.Service, agents ...string) map[fika.AgentName]service.RequestInfo {
	t.Helper()
	for _, name := range agents {
		row, err := c.Agents.Find(t.Context(), name)
		check(t, err)
		_, err = c.Requests.Submit(t.Context(), row, service.Ask{Kind: fika.TaskRequest, Prompt: "work"})
		check(t, err)
		check(t, h.begin(row.Name, 1))
	}
	list, err := c.Requests.List(t.Context(), service.RequestFilter{})
	check(t, err)
	out := map[fika.AgentName]service.RequestInfo{}
	for _, q := range list {
		out[q.AgentName] = q
	}
	return out
}

// The tools of the board speak for the request of their call: with its rights and what it
// has read, once, and only while it runs.
func TestTheBoardsToolsSpeakForTheirCall(t *testing.T) {
	h := keyHome{root: t.TempDir()}
	c, _ := openIn(t, h.root, "[[agents]]\nid = \"lead\"\ntool_permissions = [\"board\"]\n[[agents]]\nid = \"coder\"\n")
	ctx := t.Context()
	requests := h.atWork(t, c, "lead", "coder")
	desk := service.DeskOf(func(context.Context) (*service.Service, error) { return c, nil })
	call := func(name fika.AgentName, step int, taint string) tool.Call {
		q := requests[name]
		return tool.Call{Name: board.AddName, Agent: name, Request: q.ID, Chain: q.Chain, Step: fmt.Sprintf("%s/%d", q.ID, step), Rights: &fika.Rights{Tools: []string{"bash"}}, Taint: taint}
	}
	plan := []board.Task{{Title: "parse"}, {Title: "test", Needs: []string{"parse"}, Priority: new(int)}}
	added, err := desk.Add(ctx, call("lead", 1, ""), plan)
	check(t, err)
	again, err := desk.Add(ctx, call("lead", 1, ""), plan)
	check(t, err)
	if len(added) != 2 || again[1].Number != added[1].Number || added[1].Needs[0].Number != added[0].Number || added[1].Priority != 0 || added[0].Author() != "@lead" || fmt.Sprint(added[0].Rights.Tools) != "[bash]" || added[0].Chain != requests["lead"].Chain {
		t.Errorf("%+v\n%+v", added, again)
	}
	held, err := desk.Add(ctx, call("lead", 2, "fetch example.org"), []board.Task{{Title: "what the page says"}})
	check(t, err)
	if held[0].Number != 3 || held[0].State != fika.TaskHeld || !strings.Contains(held[0].HeldReason, "fetch example.org") {
		t.Errorf("%+v", held[0])
	}
	text := "by hand"
	changed, err := desk.Update(ctx, call("lead", 3, ""), board.Update{Task: 1, Body: &text, Note: "simpler"})
	check(t, err)
	if changed.Body != text || changed.State != fika.TaskOpen {
		t.Errorf("%+v", changed)
	}
	open, counts, err := desk.List(ctx, call("lead", 4, ""), store.TaskFilter{States: []fika.TaskState{fika.TaskOpen}})
	check(t, err)
	_, log, err := desk.Show(ctx, call("lead", 5, ""), 1)
	check(t, err)
	if len(open) != 2 || counts[fika.TaskOpen] != 2 || counts[fika.TaskHeld] != 1 || len(log) != 3 {
		t.Errorf("%d open, %v, %d lines", len(open), counts, len(log))
	}
	refuse := func(what string, err error, kind fika.Kind) {
		t.Helper()
		if !fika.IsKind(err, kind) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = desk.Add(ctx, call("coder", 1, ""), plan)
	refuse("who is not permitted adds", err, fika.Denied)
	_, _, err = desk.List(ctx, call("coder", 1, ""), store.TaskFilter{})
	refuse("who is not permitted looks", err, fika.Denied)
	_, err = desk.Update(ctx, call("lead", 6, ""), board.Update{Note: "x"})
	refuse("no task", err, fika.Invalid)
	_, err = desk.Add(ctx, call("lead", 7, ""), []board.Task{{Title: "a", Needs: []string{"b"}}, {Title: "b", Needs: []string{"c"}}, {Title: "c", Needs: []string{"a"}}})
	if refuse("a circle", err, fika.Invalid); !strings.Contains(err.Error(), `"a" needs "b" needs "c" needs "a"`) {
		t.Error(err)
	}
	many := make([]board.Task, 150)
	for i := range many {
		many[i].Title = fmt.Sprint("task ", i)
	}
	_, err = desk.Add(ctx, call("lead", 8, ""), many)
	check(t, err)
	_, err = desk.Add(ctx, call("lead", 9, ""), many)
	refuse("without end", err, fika.Limit)
	check(t, h.sql(`UPDATE requests SET cancel_at = 1`))
	if _, err = desk.Add(ctx, call("lead", 10, ""), plan); !fika.IsKind(err, fika.Denied) {
		t.Errorf("after the end: %v", err)
	}
	var _ store.TaskInfo = added[0]
}
