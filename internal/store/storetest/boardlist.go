package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fika"
	"fika/internal/store"
)

// fullBoard fills a board with tasks in five states, two of which end at the same moment, and
// returns all of them, read one by one.
func (w *world) fullBoard() []store.TaskInfo {
	w.Helper()
	coder, critic := w.agent("coder"), w.agent("critic")
	for i := range 40 {
		n := store.NewTask{Title: fmt.Sprint("part ", i), Body: "say what it is like", Priority: i * 7 % 5, Check: "make test", Due: w.clock.Now().Add(time.Hour)}
		n.Capability = []string{"", "go"}[i%2]
		if i > 2 {
			n.Needs = []fika.TaskNumber{fika.TaskNumber(i), fika.TaskNumber(i - 2)}
		}
		if i%6 == 0 {
			n.Agent, n.Held, n.Reviewer = coder.ID, []string{"", "look first"}[i/6%2], critic.ID
		}
		must(w.AddTasks(w.ctx, store.NewTasks{By: "lead", Writer: fika.ByAgent, Rights: &fika.Rights{}, Chain: "chain", Request: "request", List: []store.NewTask{n}}))(w)
	}
	l, limits := w.taker("taker", "go")
	w.take(l, limits)
	for n := fika.TaskNumber(1); n <= 40; n++ {
		if t := must(w.Task(w.ctx, n))(w); n%3 == 0 && t.State == fika.TaskOpen {
			if n%2 == 0 { // else together with the one before
				w.clock.Advance(time.Second)
			}
			must(w.CloseTask(w.ctx, n, []fika.TaskState{fika.TaskDone, fika.TaskDropped}[n/6%2], "ann", ""))(w)
		}
	}
	var list []store.TaskInfo
	for n := fika.TaskNumber(1); n <= 40; n++ {
		list = append(list, must(w.Task(w.ctx, n))(w))
	}
	states := fika.TaskStates()
	slices.SortFunc(list, func(a, b store.TaskInfo) int {
		if d := slices.Index(states, a.State) - slices.Index(states, b.State); d != 0 {
			return d
		}
		if a.State.Ended() {
			return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(b.Number, a.Number))
		}
		return cmp.Or(a.Priority-b.Priority, cmp.Compare(a.Number, b.Number))
	})
	return list
}

// filtered does plainly what a filter means.
func filtered(list []store.TaskInfo, f store.TaskFilter) (out []store.TaskInfo) {
	seen := map[fika.TaskState]int{}
	for _, t := range list {
		if len(f.States) > 0 && !slices.Contains(f.States, t.State) {
			continue
		}
		seen[t.State]++
		n := seen[t.State] - f.Skip
		if n < 1 || f.Each > 0 && n > f.Each || f.Limit > 0 && len(out) == f.Limit {
			continue
		}
		out = append(out, t)
	}
	return out
}

var boardListTests = map[string]func(*world){
	"a list has what its tasks have one by one": func(w *world) {
		all := w.fullBoard()
		counts := map[fika.TaskState]int{}
		for _, t := range all {
			counts[t.State]++
		}
		equal(w, "states", len(counts), 5)
		equal(w, "counts", fmt.Sprint(must(w.TaskCounts(w.ctx))(w)), fmt.Sprint(counts))
		for _, f := range []store.TaskFilter{
			{}, {States: fika.GoingTaskStates()}, {Limit: 7}, {Limit: 30}, {Each: 3}, {Each: 3, Limit: 8}, {Skip: 2, Each: 4},
			{States: []fika.TaskState{fika.TaskDone}, Skip: 1, Limit: 2}, {States: []fika.TaskState{fika.TaskDropped, fika.TaskHeld}},
			{States: []fika.TaskState{fika.TaskOpen}, Skip: 100}, {States: []fika.TaskState{fika.TaskReview}}, {States: []fika.TaskState{"nothing"}},
		} {
			list, cards := must(w.Tasks(w.ctx, f))(w), must(w.Cards(w.ctx, f))(w)
			want := filtered(all, f)
			equal(w, fmt.Sprintf("number of cards of %+v", f), len(cards), len(want))
			equal(w, fmt.Sprintf("number of tasks of %+v", f), len(list), len(want))
			for i, t := range want {
				equal(w, fmt.Sprintf("card %d of %+v", i, f), fmt.Sprintf("%+v", cards[i]), fmt.Sprintf("%+v", t.Card()))
				t.Body, t.Result, t.Rights, t.Chain, t.Depth, t.Version, t.HandedBack, t.Work = "", "", nil, "", 0, 0, "", ""
				equal(w, fmt.Sprintf("task %d of %+v", i, f), fmt.Sprintf("%+v", list[i]), fmt.Sprintf("%+v", t))
			}
		}
	},
}
