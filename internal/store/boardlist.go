package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
)

// TaskFilter says which tasks a list has; empty fields match everything.
type TaskFilter struct {
	States []fika.TaskState // only tasks in these states
	Skip   int              // leaves out so many of each state
	Each   int              // at most so many of each state
	Limit  int              // at most so many
}

// TaskCard is what a list shows of a task.
type TaskCard struct {
	Number     fika.TaskNumber
	Title      string
	State      fika.TaskState
	HeldReason string
	Priority   int
	Capability string
	AgentName  fika.AgentName    // the only one that takes it
	WorkerName fika.AgentName    // who has it, or had it last
	Unmet      []fika.TaskNumber // what it needs and is not done
	Since      time.Time         // when it was changed last
	Offer      TaskOffer         // where what was offered of it stands, while it is in review; zero: nothing was
}

// TaskOffer is where an offer of the work on a task stands.
type TaskOffer struct {
	Number fika.OfferNumber
	State  fika.OfferState
	Reason string
}

// Card returns what a list shows of t.
func (t TaskInfo) Card() TaskCard {
	c := TaskCard{Number: t.Number, Title: t.Title, State: t.State, HeldReason: t.HeldReason, Priority: t.Priority, Capability: t.Capability, AgentName: t.AgentName, WorkerName: t.WorkerName, Since: t.UpdatedAt}
	for _, n := range t.Unmet() {
		c.Unmet = append(c.Unmet, n.Number)
	}
	return c
}

// Cards returns the tasks that match as lists show them, in the order of [Board.Tasks].
func (s Board) Cards(ctx context.Context, f TaskFilter) ([]TaskCard, error) {
	type row struct {
		TaskCard
		agent, worker fika.AgentID
	}
	scan := func(sc scanner) (row, error) {
		var n, priority, updated int64 // of the types that are read without a detour: there are thousands
		var title, state, held, capability, agent, worker string
		err := sc.Scan(&n, &title, &state, &held, &priority, &capability, &agent, &worker, &updated)
		c := TaskCard{Number: fika.TaskNumber(n), Title: title, State: fika.TaskState(state), HeldReason: held, Priority: int(priority), Capability: capability, Since: at(updated)}
		return row{c, fika.AgentID(agent), fika.AgentID(worker)}, err
	}
	rows, names, needs, err := listTasks(ctx, s, f, `t.n, t.title, t.state, t.held_reason, t.priority, t.capability, t.agent, t.worker, t.updated_at`, scan, func(r row) fika.TaskNumber { return r.Number })
	var reviewed []fika.TaskNumber
	for _, r := range rows {
		if r.State == fika.TaskReview {
			reviewed = append(reviewed, r.Number)
		}
	}
	offers := map[fika.TaskNumber]TaskOffer{}
	for some := range slices.Chunk(reviewed, fewTasks) {
		if err == nil {
			err = s.lastOffers(ctx, some, offers)
		}
	}
	out := make([]TaskCard, len(rows))
	for i, r := range rows {
		out[i], out[i].AgentName, out[i].WorkerName = r.TaskCard, names[r.agent], names[r.worker]
		if r.State == fika.TaskReview {
			out[i].Offer = offers[r.Number]
		}
		for _, n := range needs[r.Number] {
			if n.State != fika.TaskDone {
				out[i].Unmet = append(out[i].Unmet, n.Number)
			}
		}
	}
	return ordered(f, out, func(c TaskCard) fika.TaskState { return c.State }), err
}

// lastOffers adds the last offer of each of a few tasks.
func (s Board) lastOffers(ctx context.Context, of []fika.TaskNumber, offers map[fika.TaskNumber]TaskOffer) error {
	_, err := many(ctx, s.r, func(sc scanner) (n fika.TaskNumber, err error) {
		var o TaskOffer
		err = sc.Scan(&n, &o.Number, &o.State, &o.Reason)
		offers[n] = o
		return n, err
	}, `SELECT o.task, o.n, o.state, o.reason FROM offers o WHERE o.task `+amongFew()+` AND o.task > 0 ORDER BY o.n`, fewArgs(of)...)
	return s.explain("list tasks", err)
}

// Tasks returns the tasks that match without their bodies, results and what only work on them
// needs: their rights, chains, products and versions. They come by state, the most urgent
// first and then by number, those that have ended last first.
func (s Board) Tasks(ctx context.Context, f TaskFilter) ([]TaskInfo, error) {
	const columns = `t.n, t.title, t.state, t.held_reason, t.priority, t.capability, t.agent, t.parent, t.created_by, t.writer, t.taint,
t.due, t.worker, t.request, t.attempts, t.created_at, t.updated_at, t.ended_at, t.check_cmd, t.review_by, t.review, t.round`
	scan := func(sc scanner) (i TaskInfo, err error) {
		var n, priority, parent, due, attempts, created, updated, ended, round int64 // as in Cards
		var title, state, held, capability, agent, by, writer, taint, worker, request, check, reviewer, review string
		err = sc.Scan(&n, &title, &state, &held, &priority, &capability, &agent, &parent, &by, &writer, &taint,
			&due, &worker, &request, &attempts, &created, &updated, &ended, &check, &reviewer, &review, &round)
		i.BoardTask = fika.BoardTask{
			Number: fika.TaskNumber(n), Title: title, State: fika.TaskState(state), HeldReason: held, Priority: int(priority), Capability: capability,
			Agent: fika.AgentID(agent), Parent: fika.TaskNumber(parent), CreatedBy: by, Writer: fika.Writer(writer), Taint: taint,
			Due: at(due), Worker: fika.AgentID(worker), Request: fika.RequestID(request), Attempts: int(attempts),
			CreatedAt: at(created), UpdatedAt: at(updated), EndedAt: at(ended),
			Check: check, Reviewer: fika.AgentID(reviewer), Review: fika.RequestID(review), Round: int(round),
		}
		return i, err
	}
	list, names, needs, err := listTasks(ctx, s, f, columns, scan, func(i TaskInfo) fika.TaskNumber { return i.Number })
	for i := range list {
		t := &list[i]
		t.AgentName, t.WorkerName, t.ByName, t.Needs = names[t.Agent], names[t.Worker], names[t.Reviewer], needs[t.Number]
	}
	return ordered(f, list, func(t TaskInfo) fika.TaskState { return t.State }), err
}

// listTasks reads columns of the tasks that match, the names of all agents, and what the tasks
// need. All tasks are read in one statement, so that one that moves meanwhile is among them once,
// and each state along an index, no further than is asked for.
func listTasks[T any](ctx context.Context, s Board, f TaskFilter, columns string, scan func(scanner) (T, error), number func(T) fika.TaskNumber) (list []T, names map[fika.AgentID]fika.AgentName, needs map[fika.TaskNumber][]TaskNeed, err error) {
	each := noLimit(f.Limit)
	if f.Each > 0 {
		each = min(each, int64(f.Each))
	}
	var parts []string
	var args []any
	for _, st := range fika.TaskStates() {
		if len(f.States) > 0 && !slices.Contains(f.States, st) {
			continue
		}
		along := `t.ended_at = 0 ORDER BY t.priority, t.n`
		if st.Ended() {
			along = `t.ended_at > 0 ORDER BY t.ended_at DESC, t.n DESC`
		}
		parts = append(parts, `SELECT * FROM (SELECT `+columns+` FROM tasks t WHERE t.state = ? AND `+along+` LIMIT ? OFFSET ?) AS part`)
		args = append(args, st, each, f.Skip)
	}
	if len(parts) == 0 {
		return nil, nil, nil, nil
	}
	type agent struct {
		id   fika.AgentID
		name fika.AgentName
	}
	var agents []agent
	err = s.r.run(ctx, all(&list, scan, strings.Join(parts, ` UNION ALL `), args...),
		all(&agents, func(sc scanner) (a agent, err error) { return a, sc.Scan(&a.id, &a.name) }, `SELECT a.id, a.name FROM agents a`))
	names = map[fika.AgentID]fika.AgentName{}
	for _, a := range agents {
		names[a.id] = a.name
	}
	if err == nil && len(list) > 0 {
		needs, err = needsOf(ctx, s, list, number)
	}
	return list, names, needs, s.explain("list tasks", err)
}

// fewTasks is up to how many tasks are asked for by number, with amongFew and the arguments that
// fewArgs makes: there is one text for any number of them.
const fewTasks = 128

func amongFew() string { return `IN (?` + strings.Repeat(`, ?`, fewTasks-1) + `)` }

func fewArgs(list []fika.TaskNumber) []any {
	args := make([]any, fewTasks)
	for i := range args {
		args[i] = list[min(i, len(list)-1)]
	}
	return args
}

// needsOf returns what the tasks of a list need.
func needsOf[T any](ctx context.Context, s Board, list []T, number func(T) fika.TaskNumber) (map[fika.TaskNumber][]TaskNeed, error) {
	numbers := make([]fika.TaskNumber, len(list))
	for i, t := range list {
		numbers[i] = number(t)
	}
	which, args := `BETWEEN ? AND ?`, []any{slices.Min(numbers), slices.Max(numbers)}
	if len(list) <= fewTasks {
		which, args = amongFew(), fewArgs(numbers)
	}
	type need struct {
		of fika.TaskNumber
		TaskNeed
	}
	met, err := many(ctx, s.r, func(sc scanner) (need, error) {
		var of, n int64
		var state string
		err := sc.Scan(&of, &n, &state)
		return need{fika.TaskNumber(of), TaskNeed{fika.TaskNumber(n), fika.TaskState(state)}}, err
	}, `SELECT d.task, d.needs, (SELECT x.state FROM tasks x WHERE x.n = d.needs) FROM task_needs d WHERE d.task `+which+` ORDER BY d.task, d.needs`, args...)
	needs := make(map[fika.TaskNumber][]TaskNeed, len(met))
	for _, n := range met {
		needs[n.of] = append(needs[n.of], n.TaskNeed)
	}
	return needs, err
}

// ordered returns a list that f has found, by state. Its parts come in their order as both
// engines are now, which SQL does not promise.
func ordered[T any](f TaskFilter, list []T, state func(T) fika.TaskState) []T {
	order := fika.TaskStates()
	slices.SortStableFunc(list, func(a, b T) int { return slices.Index(order, state(a)) - slices.Index(order, state(b)) })
	if f.Limit > 0 && len(list) > f.Limit {
		return list[:f.Limit]
	}
	return list
}

// TaskCounts returns how many tasks are in each state that any is in.
func (s Board) TaskCounts(ctx context.Context) (map[fika.TaskState]int, error) {
	type count struct {
		state fika.TaskState
		n     int
	}
	list, err := many(ctx, s.r, func(sc scanner) (c count, err error) { return c, sc.Scan(&c.state, &c.n) },
		`SELECT t.state, count(*) FROM tasks t WHERE t.ended_at = 0 GROUP BY t.state UNION ALL SELECT t.state, count(*) FROM tasks t WHERE t.ended_at > 0 GROUP BY t.state`)
	out := map[fika.TaskState]int{}
	for _, c := range list {
		out[c.state] = c.n
	}
	return out, s.explain("list tasks", err)
}

// TaskParts returns the tasks whose parent is a task, by number, as [Board.Tasks] does.
func (s Board) TaskParts(ctx context.Context, n fika.TaskNumber) ([]TaskInfo, error) {
	list, err := many(ctx, s.r, scanTaskInfo, `SELECT `+taskColumns+`, `+taskNames+` FROM tasks t WHERE t.parent = ? AND t.parent > 0 ORDER BY t.n`, n)
	return list, s.explain("list tasks", err)
}
