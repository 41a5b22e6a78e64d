package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

// tasks adds tasks with titles. The first needs nothing, and each other one the one before.
func (w *world) tasks(titles ...string) []store.TaskInfo {
	w.Helper()
	add := store.NewTasks{By: "ann", Writer: fika.ByHuman}
	for i, title := range titles {
		n := store.NewTask{Title: title, Priority: fika.DefaultPriority}
		if i > 0 {
			n.After = []int{i - 1}
		}
		add.List = append(add.List, n)
	}
	return must(w.AddTasks(w.ctx, add))(w)
}

// added adds one task.
func (w *world) added(n store.NewTask) store.TaskInfo {
	w.Helper()
	return must(w.AddTasks(w.ctx, store.NewTasks{By: "ann", Writer: fika.ByHuman, List: []store.NewTask{n}}))(w)[0]
}

// board returns number, state and unmet needs of all tasks, by number.
func (w *world) board() string {
	w.Helper()
	var out []string
	list := must(w.Tasks(w.ctx, store.TaskFilter{}))(w)
	slices.SortFunc(list, func(a, b store.TaskInfo) int { return int(a.Number - b.Number) })
	for _, t := range list {
		text := fmt.Sprint(t.Number, " ", t.State)
		for _, n := range t.Unmet() {
			text += fmt.Sprint(" <", n.Number)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (w *world) taskLog(n fika.TaskNumber) string {
	w.Helper()
	var out []string
	for _, l := range must(w.TaskLog(w.ctx, n))(w) {
		out = append(out, strings.TrimSpace(l.Who+" "+string(l.What)+" "+l.Text))
	}
	return strings.Join(out, "; ")
}

var boardTests = map[string]func(*world){
	"tasks are numbered, and wait for what they need": func(w *world) {
		from := w.now()
		list := w.tasks("one", "two", "three")
		equal(w, "numbers", fmt.Sprint(list[0].Number, list[2].Number), "1 3")
		equal(w, "needs", fmt.Sprint(list[2].Needs), "[{2 open}]")
		equal(w, "told", lines(w.since(from)), "task 1 open, task 2 open, task 3 open")
		equal(w, "board", w.board(), "1 open, 2 open <1, 3 open <2")
		w.clock.Advance(time.Second)
		from = w.now()
		done := must(w.CloseTask(w.ctx, 1, fika.TaskDone, "ann", "it was there"))(w)
		equal(w, "done", fmt.Sprintf("%s %s %v", done.State, done.Result, done.EndedAt.Equal(w.clock.Now())), "done it was there true")
		equal(w, "told", lines(w.since(from)), "task 1 done")
		equal(w, "board", w.board(), "1 done, 2 open, 3 open <2")
		must(w.CloseTask(w.ctx, 2, fika.TaskDropped, "ann", ""))(w)
		equal(w, "dropped is not done", w.board(), "1 done, 2 dropped, 3 open <2")
		_, err := w.CloseTask(w.ctx, 2, fika.TaskDone, "ann", "")
		w.refused(err, fika.Conflict)
		_, err = w.ReopenTask(w.ctx, 3, "ann", "")
		w.refused(err, fika.Conflict)
		must(w.ReopenTask(w.ctx, 2, "bob", "wanted after all"))(w)
		equal(w, "again", fmt.Sprint(w.board(), must(w.Task(w.ctx, 2))(w).EndedAt.IsZero()), "1 done, 2 open, 3 open <2true")
		equal(w, "log", w.taskLog(2), "ann added; ann closed dropped; bob reopened wanted after all")
		going := must(w.Tasks(w.ctx, store.TaskFilter{States: fika.GoingTaskStates(), Limit: 1}))(w)
		equal(w, "the first that goes", fmt.Sprint(len(going), going[0].Number), "1 2")
		needing := must(w.TasksNeeding(w.ctx, 2))(w)
		equal(w, "needed by", fmt.Sprint(len(needing), needing[0].Number), "1 3")
		_, err = w.Task(w.ctx, 4)
		w.refused(err, fika.NotFound)
	},
	"all of a list are added, or none": func(w *world) {
		add := func(list ...store.NewTask) error {
			_, err := w.AddTasks(w.ctx, store.NewTasks{By: "ann", List: list})
			return err
		}
		err := add(store.NewTask{Title: "a", After: []int{1}}, store.NewTask{Title: "b", After: []int{2}}, store.NewTask{Title: "c", After: []int{0}})
		w.refused(err, fika.Invalid)
		equal(w, "the circle", strings.Contains(err.Error(), `"a" needs "b" needs "c" needs "a"`), true)
		w.refused(add(store.NewTask{Title: "itself", After: []int{0}}), fika.Invalid)
		w.refused(add(store.NewTask{Title: "a", After: []int{1}}), fika.Invalid)
		w.refused(add(store.NewTask{Title: "a"}, store.NewTask{Title: "b", Needs: []fika.TaskNumber{7}}), fika.NotFound)
		w.refused(add(store.NewTask{Title: "a"}, store.NewTask{Title: "b", Agent: "nobody"}), fika.NotFound)
		w.refused(add(store.NewTask{Title: "a", Parent: 7}), fika.NotFound)
		equal(w, "board", w.board(), "")
		w.added(store.NewTask{Title: "a", Held: "look first"})
		equal(w, "held", fmt.Sprint(w.board(), must(w.Task(w.ctx, 1))(w).HeldReason), "1 heldlook first")
		must(w.CloseTask(w.ctx, 1, fika.TaskDropped, "ann", ""))(w)
		w.refused(add(store.NewTask{Title: "b", Needs: []fika.TaskNumber{1}}), fika.Conflict)
	},
	"a task is changed as long as it has not ended": func(w *world) {
		a := w.agent("coder")
		w.tasks("one", "two", "three")
		title, urgent, parent, none := "first", 0, fika.TaskNumber(3), fika.AgentID("")
		t := must(w.EditTask(w.ctx, 1, store.TaskEdit{Title: &title, Priority: &urgent, Agent: &a.ID, Parent: &parent, By: "bob"}))(w)
		equal(w, "changed", fmt.Sprint(t.Title, t.Priority, t.AgentName, t.Parent, t.Version), "first0coder3 2")
		equal(w, "log", w.taskLog(1), "ann added; bob edited title, priority, parent, for @coder")
		parent = 1
		_, err := w.EditTask(w.ctx, 3, store.TaskEdit{Parent: &parent})
		w.refused(err, fika.Invalid)
		t = must(w.EditTask(w.ctx, 1, store.TaskEdit{Title: &title, By: "bob"}))(w)
		equal(w, "nothing changed", t.Version, 2)
		t = must(w.EditTask(w.ctx, 1, store.TaskEdit{Agent: &none, By: "bob"}))(w)
		equal(w, "for any", t.AgentName, "")
		needs := []fika.TaskNumber{3}
		_, err = w.EditTask(w.ctx, 1, store.TaskEdit{Needs: &needs})
		w.refused(err, fika.Invalid)
		equal(w, "the circle", strings.Contains(err.Error(), "task 1 needs task 3 needs task 2 needs task 1"), true)
		needs = nil
		must(w.EditTask(w.ctx, 3, store.TaskEdit{Needs: &needs}))(w)
		needs = []fika.TaskNumber{3, 3}
		must(w.EditTask(w.ctx, 1, store.TaskEdit{Needs: &needs}))(w)
		equal(w, "board", w.board(), "1 open <3, 2 open <1, 3 open")
		must(w.CloseTask(w.ctx, 3, fika.TaskDone, "ann", ""))(w)
		_, err = w.EditTask(w.ctx, 3, store.TaskEdit{Title: &title})
		w.refused(err, fika.Conflict)
		_, err = w.EditTask(w.ctx, 9, store.TaskEdit{Title: &title})
		w.refused(err, fika.NotFound)
		parts := must(w.TaskParts(w.ctx, 3))(w)
		equal(w, "parts", fmt.Sprint(len(parts), parts[0].Number), "1 1")
	},
	"what is held waits for a person": func(w *world) {
		w.added(store.NewTask{Title: "a", Held: "look first"})
		t := must(w.ReleaseTask(w.ctx, 1, "ann", "looked"))(w)
		equal(w, "open", fmt.Sprint(t.State, t.HeldReason), "open")
		_, err := w.ReleaseTask(w.ctx, 1, "ann", "")
		w.refused(err, fika.Conflict)
		equal(w, "log", w.taskLog(1), "ann added look first; ann released looked")
	},
	"a chain adds so many tasks, and so deep": func(w *world) {
		add := store.NewTasks{By: "coder", Writer: fika.ByAgent, Chain: "chain", Request: "request", MaxInChain: 3, MaxDepth: 2, List: []store.NewTask{{Title: "a"}, {Title: "b"}}}
		must(w.AddTasks(w.ctx, add))(w)
		_, err := w.AddTasks(w.ctx, add)
		w.refused(err, fika.Limit)
		add.List = add.List[:1]
		must(w.AddTasks(w.ctx, add))(w)
		add.Chain = "other"
		equal(w, "another chain", must(w.AddTasks(w.ctx, add))(w)[0].Number, 4)
		equal(w, "by", must(w.Task(w.ctx, 4))(w).Author(), "@coder")
	},
	"numbers are given once, whoever adds at the same time": func(w *world) {
		together(8, func(i int) {
			for range 5 {
				if _, err := w.AddTasks(w.ctx, store.NewTasks{By: "ann", List: []store.NewTask{{Title: fmt.Sprint(i)}, {Title: "then", After: []int{0}}}}); err != nil {
					w.Error(err)
				}
			}
		})
		list := must(w.Tasks(w.ctx, store.TaskFilter{}))(w)
		equal(w, "tasks", len(list), 80)
		equal(w, "the last", list[79].Number, 80)
		for _, t := range list {
			if t.Title == "then" && (len(t.Needs) != 1 || t.Needs[0].Number != t.Number-1) {
				w.Errorf("task %d needs %v", t.Number, t.Needs)
			}
		}
	},
}
