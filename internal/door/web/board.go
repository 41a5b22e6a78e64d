package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fika/internal/api"
)

const (
	// cardsShown is how many tasks of a state the board shows.
	cardsShown = 30
	// tasksShown is how many tasks a page of one state shows.
	tasksShown = 100
	// slowly is the least time between two updates of what costs more to read.
	slowly = time.Second
)

// taskKinds are the events that change the board; offers stand on it, too.
func taskKinds() api.Scope {
	return api.Scope{Kinds: []api.EventKind{api.TaskEvent, api.OfferEvent, api.PauseEvent, api.AgentEvent}}
}

// taskPage is the tasks in one state.
type taskPage struct {
	State string
	List  []api.TaskInfo
	Next  string
}

// board shows the tasks in a column for each state or, of one state, page by page.
func board(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	x := view{Title: "Board", Nav: "board", Class: "wide", Live: "/live/board?" + r.URL.RawQuery, scope: taskKinds(), every: slowly}
	if state := r.FormValue("state"); state != "" {
		list, err := to.Tasks(ctx, state, api.Page{After: r.FormValue("after"), Limit: tasksShown})
		x.Title, x.Class = "Board: "+state, ""
		x.Parts = []part{{"tasks", "taskpage", taskPage{state, list.Items, list.Next}}}
		return x, err
	}
	columns, err := to.Board(ctx, cardsShown)
	x.Parts = []part{{"add", "addtask", nil}, {"board", "board", columns}}
	return x, err
}

// task shows everything about one task.
func task(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	n, err := number(r)
	if err != nil {
		return view{}, err
	}
	t, err := to.Task(ctx, n)
	if err != nil {
		return view{}, err
	}
	at := "/live/board/" + r.PathValue("number")
	return view{Title: "Task " + r.PathValue("number"), Nav: "board", Live: at, scope: taskKinds(), Parts: []part{
		{"task", "task", t}, {"act", "taskactions", t}, {"edit", "taskedit", t}, {"history", "tasklog", t},
	}}, nil
}

// number returns the number in the path.
func number(r *http.Request) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil || n < 1 {
		return 0, &api.Error{Code: api.NotFound, Detail: "That is no number."}
	}
	return n, nil
}

// addTask adds the task of a form.
func addTask(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	n := api.NewTask{
		Title: strings.TrimSpace(r.PostFormValue("title")), Body: r.PostFormValue("body"), Agent: r.PostFormValue("agent"),
		Capability: strings.TrimSpace(r.PostFormValue("capability")), Needs: numbersIn(r.PostFormValue("needs")),
		Check: strings.TrimSpace(r.PostFormValue("check")), Review: strings.TrimSpace(r.PostFormValue("review")),
	}
	var err error
	if n.Priority, err = priority(r); err != nil {
		return "", err
	}
	t, err := to.AddTask(ctx, n, w)
	if err != nil {
		return "", err
	}
	return "Task " + strconv.FormatInt(t.Number, 10) + " was added.", nil
}

// numbersIn returns the numbers in a text, however they are separated.
func numbersIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == ';' || r == '\n' || r == '\t' || r == '\r' })
}

func priority(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.PostFormValue("priority"))
	if err != nil {
		return 0, &api.Error{Code: api.Invalid, Field: "priority", Detail: "A priority is a number from 0, the most urgent, to 4."}
	}
	return n, nil
}

// changeTask does one of the things that a person can do to a task.
func changeTask(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	n, err := number(r)
	if err != nil {
		return "", err
	}
	why := r.PostFormValue("why")
	switch r.PathValue("verb") {
	case "release":
		return "Released.", to.ReleaseTask(ctx, n, why, w)
	case "close":
		if r.PostFormValue("as") == "dropped" {
			return "Dropped.", to.CloseTask(ctx, n, true, why, w)
		}
		return "Closed as done.", to.CloseTask(ctx, n, false, why, w)
	case "reopen":
		return "Reopened.", to.ReopenTask(ctx, n, why, w)
	case "note":
		return "The note was added.", to.NoteTask(ctx, n, r.PostFormValue("note"), w)
	case "edit":
		return "Changed.", editTask(ctx, to, n, r, w)
	}
	return "", &api.Error{Code: api.NotFound}
}

// editTask changes what a form names.
func editTask(ctx context.Context, to api.Service, n int64, r *http.Request, w api.Write) error {
	var e api.TaskEdit
	for name, field := range map[string]**string{"title": &e.Title, "body": &e.Body, "capability": &e.Capability, "agent": &e.Agent, "check": &e.Check, "review": &e.Review} {
		if r.PostForm.Has(name) {
			text := r.PostFormValue(name)
			if name != "body" {
				text = strings.TrimSpace(text)
			}
			*field = &text
		}
	}
	if r.PostForm.Has("priority") {
		p, err := priority(r)
		if err != nil {
			return err
		}
		e.Priority = &p
	}
	if r.PostForm.Has("needs") {
		needs := numbersIn(r.PostFormValue("needs"))
		e.Needs = &needs
	}
	return to.EditTask(ctx, n, e, w)
}

// taskAct is a button that does something to a task.
type taskAct struct {
	Number          int64
	Verb, Label, As string
}

func newAct(n int64, verb, label, as string) taskAct { return taskAct{n, verb, label, as} }

// needed returns the numbers of what a task needs.
func needed(t api.TaskInfo) string {
	var out []string
	for _, n := range t.Needs {
		out = append(out, strconv.FormatInt(n.Number, 10))
	}
	return strings.Join(out, " ")
}

// priorities are the choices of a form.
func priorities() []int { return []int{0, 1, 2, 3, 4} }
