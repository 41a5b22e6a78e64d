package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/rights/authority"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/tool"
)

// Board is the interface to the tasks that wait for whoever can do them.
type Board struct {
	c    *Service
	call *tool.Call // in which an agent asks; nil: it asks otherwise, or a person does
}

// Board returns the interface to the board.
func (c *Service) Board() *Board { return &Board{c: c} }

// Values of the store that a user interface needs.
type (
	// TaskInfo is a task with the names that lists show.
	TaskInfo = store.TaskInfo
	// TaskLine is a line of the log of a task.
	TaskLine = store.TaskLine
	// TaskCard is what a list shows of a task.
	TaskCard = store.TaskCard
	// TaskFilter chooses tasks.
	TaskFilter = store.TaskFilter
)

// What a task may be, and how many are added at once.
const (
	MaxTaskTitle = 200      // bytes
	MaxTaskBody  = 64 << 10 // bytes
	MaxTaskCheck = 4 << 10  // bytes of a command
	MaxTaskNeeds = 50
	MaxNewTasks  = 200
	maxTaskWhy   = 1 << 10 // bytes
)

// These bound agents that add tasks for which agents add tasks.
const (
	maxTasksInChain = 200
	maxTaskDepth    = 8
)

// NewTask describes a task to add.
type NewTask struct {
	Title      string
	Body       string
	Priority   int
	Capability string
	Agent      string // the only agent, or pool, that takes it; empty: any
	Parent     fika.TaskNumber
	Needs      []string // numbers of tasks, or titles of tasks of the same list
	Due        time.Time
	Within     time.Duration // instead of Due, from now; 0: Due
	Check      string        // a command that has to pass before the task is done; empty: none
	Review     string        // the agent that has to call it good before; empty: none
}

// check refuses (Invalid) what is no task.
func (n NewTask) check() error {
	bad := func(format string, args ...any) error { return fika.Errorf(fika.Invalid, "", format, args...) }
	switch {
	case n.Title == "":
		return bad("a task needs a title")
	case len(n.Title) > MaxTaskTitle || strings.ContainsAny(n.Title, "\r\n"):
		return bad("the title of a task is one line of at most %d bytes; the rest belongs into its body: %.40q", MaxTaskTitle, n.Title)
	case len(n.Body) > MaxTaskBody:
		return bad("the body of %.40q has %d bytes; at most %d are taken", n.Title, len(n.Body), MaxTaskBody)
	case n.Priority < fika.MinPriority || n.Priority > fika.MaxPriority:
		return bad("a priority is a number from %d, the most urgent, to %d", fika.MinPriority, fika.MaxPriority)
	case len(n.Needs) > MaxTaskNeeds:
		return bad("%.40q needs %d tasks; at most %d are taken", n.Title, len(n.Needs), MaxTaskNeeds)
	case !utf8.ValidString(n.Title + n.Body + n.Capability):
		return bad("a task is UTF-8 text")
	case len(n.Capability) > MaxTaskTitle:
		return bad("a capability is a short name: %.40q", n.Capability)
	case len(n.Check) > MaxTaskCheck || !utf8.ValidString(n.Check):
		return bad("a check is a command of at most %d bytes; longer ones belong into a script", MaxTaskCheck)
	}
	return nil
}

// ParseTask returns the number of a task as a person writes it: 12, #12 or task-12.
func ParseTask(s string) (fika.TaskNumber, bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimPrefix(s, "task-"), "#"), 10, 64)
	return fika.TaskNumber(n), err == nil && n > 0
}

// may refuses a verb about the board to who may not use it: agents without the permission,
// and programs that do not see everything.
func (b *Board) may(ctx context.Context, verb string) error {
	v := b.c.sight()
	seen, err := v.board(ctx)
	if err != nil {
		return err
	}
	declared, _ := api.Find(verb)
	if authority.Check(b.c.who, declared, relation(seen)) == authority.NotSeen {
		return fika.Errorf(fika.Denied, "", "%s may not use the board (%q in tool_permissions)", b.c.who.Name, app.BoardPermission)
	}
	return v.check(verb, relation(seen), "the board")
}

// Add adds tasks in the name of the caller, all or none. Error kinds: Invalid for what is no
// task and for needs that go in a circle, NotFound for an agent or a task that does not exist,
// Denied, Conflict for a need that was dropped, Limit if a chain adds too many. What is added
// by a turn that has read text from outside waits for a person.
func (b *Board) Add(ctx context.Context, list []NewTask) ([]TaskInfo, error) {
	if err := b.may(ctx, "board.add"); err != nil {
		return nil, err
	}
	switch {
	case len(list) == 0:
		return nil, fika.Errorf(fika.Invalid, "", "there is no task to add")
	case len(list) > MaxNewTasks:
		return nil, fika.Errorf(fika.Invalid, "", "%d tasks at once are too many: at most %d are taken", len(list), MaxNewTasks)
	}
	speaker, say, err := b.c.speaker(ctx, Alias{})
	if err != nil {
		return nil, err
	}
	add := store.NewTasks{By: b.name(), Writer: fika.ByHuman, MaxInChain: maxTasksInChain, MaxDepth: maxTaskDepth}
	if b.c.who.Kind == api.Program {
		add.Taint = "program " + b.c.who.Name
	}
	held := ""
	if speaker != nil {
		add.By, add.Writer, add.Chain, add.Request = string(speaker.Agent), fika.ByAgent, speaker.Request.Chain, speaker.Request.ID
		add.Rights, add.Taint = passedOn(b.call, speaker)
		held = b.c.heldFor(add.Taint, "added")
	}
	titles := map[string]int{}
	for i, n := range list {
		if err := n.check(); err != nil {
			return nil, err
		}
		if _, twice := titles[strings.ToLower(n.Title)]; twice {
			titles[strings.ToLower(n.Title)] = -1
			continue
		}
		titles[strings.ToLower(n.Title)] = i
	}
	for _, n := range list {
		task, err := b.newTask(ctx, n, titles, speaker)
		if err != nil {
			return nil, err
		}
		task.Held = held
		add.List = append(add.List, task)
	}
	return b.added(ctx, say, list, add)
}

// name returns the name of the caller as the log shows it.
func (b *Board) name() string {
	if b.c.who.Kind == api.Person || b.c.who.Kind == api.Program {
		return b.c.who.Name
	}
	return b.c.config().Username
}

// added adds the tasks that were asked for as list.
func (b *Board) added(ctx context.Context, say *Service, list []NewTask, add store.NewTasks) ([]TaskInfo, error) {
	out, err := once(ctx, say, "board.add", []any{list}, func(to *store.Store) ([]TaskInfo, error) { return to.AddTasks(ctx, add) },
		func(done *store.Repeated) (out []TaskInfo, err error) {
			for _, r := range done.All(store.TaskEvent) {
				task, err := b.c.store.Task(ctx, fika.TaskNumber(r.Seq))
				if err != nil {
					return nil, err
				}
				out = append(out, task)
			}
			return out, nil
		})
	if err == nil {
		b.wake(ctx)
	}
	return out, err
}

// wake tells the hub that there is something to look at on the board, and the agents that
// lose a task.
func (b *Board) wake(ctx context.Context, agents ...fika.AgentName) {
	b.c.waker.Wake(agents...)
	b.c.waker.WakeHub()
	_ = b.c.bus.Flush(ctx)
}

// newTask resolves the names in a task. titles are the tasks of the same list by title; -1
// stands for several.
func (b *Board) newTask(ctx context.Context, n NewTask, titles map[string]int, by *app.Speaker) (store.NewTask, error) {
	out := store.NewTask{Title: n.Title, Body: n.Body, Priority: n.Priority, Capability: strings.ToLower(n.Capability), Parent: n.Parent, Due: n.Due, Check: strings.TrimSpace(n.Check)}
	if n.Within > 0 {
		out.Due = b.c.now().Add(n.Within)
	}
	var err error
	if out.Agent, err = b.agentID(ctx, n.Agent, by); err != nil {
		return out, err
	}
	if out.Reviewer, err = b.agentID(ctx, n.Review, by); err != nil {
		return out, err
	}
	for _, need := range n.Needs {
		i, known := titles[strings.ToLower(need)]
		number, isNumber := ParseTask(need)
		switch {
		case known && i < 0:
			return out, fika.Errorf(fika.Invalid, "", "several tasks of this list are called %q: give each title once, or add them one after the other", need)
		case known:
			out.After = append(out.After, i)
		case isNumber:
			out.Needs = append(out.Needs, number)
		default:
			return out, fika.Errorf(fika.NotFound, "", "%q needs %.80q, which is neither the number of a task nor a title of this list", n.Title, need)
		}
	}
	return out, nil
}

// agentID returns the id of the agent that a task is for; "" for no name. The caller must be
// one that may give it work.
func (b *Board) agentID(ctx context.Context, name string, by *app.Speaker) (fika.AgentID, error) {
	if name = strings.TrimPrefix(name, "@"); name == "" {
		return "", nil
	}
	row, err := b.c.Agents.Find(ctx, name)
	if err != nil {
		return "", err
	}
	if by != nil && by.Agent == row.Name {
		return row.ID, nil
	}
	return row.ID, b.c.app.MayCall(ctx, by, row.Name)
}

// List returns the tasks that match and that the caller may see, without their bodies, by
// state, priority and number.
func (b *Board) List(ctx context.Context, f TaskFilter) ([]TaskInfo, error) {
	return tasks(ctx, b.c.sight(), b.c.store.Tasks, f)
}

// Cards returns the tasks of [Board.List] with what a list shows of each.
func (b *Board) Cards(ctx context.Context, f TaskFilter) ([]TaskCard, error) {
	return tasks(ctx, b.c.sight(), b.c.store.Cards, f)
}

// Counts returns how many tasks the caller may see in each state.
func (b *Board) Counts(ctx context.Context) (map[fika.TaskState]int, error) {
	return tasks(ctx, b.c.sight(), func(ctx context.Context, _ TaskFilter) (map[fika.TaskState]int, error) {
		return b.c.store.TaskCounts(ctx)
	}, TaskFilter{})
}

// TaskView is a task with everything that belongs to it.
type TaskView struct {
	TaskInfo
	Log    []TaskLine
	Parts  []TaskInfo // tasks whose parent it is
	Needed []TaskInfo // unfinished tasks that need it
	// Checked is how the last check of its work ended; nil: none has, or none is known any more.
	Checked *TaskChecked
}

// TaskChecked is a check that was run of the work on a task: its own, at the end of a turn, or
// that of landing.
type TaskChecked struct {
	Command string
	Passed  bool
	At      time.Time
	Output  string           // what is kept of what it printed
	In      string           // the conversation that has it; empty: the offer has
	Offer   fika.OfferNumber // that was checked; 0: it was its own check
}

// Find returns a task by its number. Error kinds: NotFound, Denied.
func (b *Board) Find(ctx context.Context, n fika.TaskNumber) (v TaskView, err error) {
	if err := b.may(ctx, "board.show"); err != nil {
		return v, err
	}
	if v.TaskInfo, err = b.c.store.Task(ctx, n); err != nil {
		return v, err
	}
	if v.Log, err = b.c.store.TaskLog(ctx, n); err != nil {
		return v, err
	}
	if v.Needed, err = b.c.store.TasksNeeding(ctx, n); err != nil {
		return v, err
	}
	if v.Checked, err = b.checked(ctx, v.TaskInfo); err != nil {
		return v, err
	}
	v.Parts, err = b.c.store.TaskParts(ctx, n)
	return v, err
}

// checked finds the last check of the work on a task, for who may read what its worker does.
func (b *Board) checked(ctx context.Context, t TaskInfo) (*TaskChecked, error) {
	if !b.c.sight().full() {
		return nil, nil
	}
	o, found, err := b.c.store.OfferOf(ctx, t.Number)
	if err != nil {
		return nil, err
	}
	request, out := t.Request, (*TaskChecked)(nil)
	if found {
		request = cmp.Or(o.Rework, o.Request)
		red := o.Output != "" && (o.State == fika.OfferBack || o.State == fika.OfferRework || o.State == fika.OfferHeld)
		if red || !o.Checked.IsZero() {
			out = &TaskChecked{Command: o.Check, Passed: !red, At: o.UpdatedAt, Output: o.Output, Offer: o.Number}
		}
		if red {
			out.Command = o.Reason
		}
	}
	entries, err := b.c.store.OfRequest(ctx, request)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		if e.Type != fika.ToolResult || e.Meta.Origin != fika.CheckOrigin || out != nil && e.At.Before(out.At) {
			continue
		}
		c, err := b.c.store.ConversationByID(ctx, e.Conversation)
		if err != nil {
			return nil, err
		}
		return &TaskChecked{Command: t.Check, Passed: !e.Meta.IsError, At: e.At, Output: e.Content, In: string(c.Name)}, nil
	}
	return out, nil
}

// TaskEdit says what of a task is changed; what is nil stays as it is.
type TaskEdit struct {
	Title, Body, Capability *string
	Priority                *int
	Agent                   *string // empty: any agent may take it
	Parent                  *fika.TaskNumber
	Due                     *time.Time
	Within                  time.Duration // instead of Due, from now; 0: Due
	Needs                   *[]string     // numbers
	Check, Review           *string       // empty: none
}

// Edit changes a task that has not ended. Error kinds: NotFound, Invalid, Conflict, Denied.
func (b *Board) Edit(ctx context.Context, n fika.TaskNumber, e TaskEdit) (TaskInfo, error) {
	return b.edit(ctx, "board.edit", n, e)
}

// Assign leaves a task to one agent, or, without a name, to any. Another agent that has it
// loses it. Error kinds: as for [Board.Edit].
func (b *Board) Assign(ctx context.Context, n fika.TaskNumber, agent string) (TaskInfo, error) {
	return b.edit(ctx, "board.assign", n, TaskEdit{Agent: &agent})
}

func (b *Board) edit(ctx context.Context, verb string, n fika.TaskNumber, e TaskEdit) (TaskInfo, error) {
	if err := b.may(ctx, verb); err != nil {
		return TaskInfo{}, err
	}
	before, err := b.c.store.Task(ctx, n)
	if err != nil {
		return TaskInfo{}, err
	}
	as := NewTask{Title: before.Title, Priority: before.Priority}
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&as.Title, e.Title)
	set(&as.Body, e.Body)
	set(&as.Capability, e.Capability)
	set(&as.Agent, e.Agent)
	set(&as.Check, e.Check)
	set(&as.Review, e.Review)
	if e.Priority != nil {
		as.Priority = *e.Priority
	}
	if e.Needs != nil {
		as.Needs = *e.Needs
	}
	if err := as.check(); err != nil {
		return TaskInfo{}, err
	}
	resolved, err := b.newTask(ctx, as, nil, nil)
	if err != nil {
		return TaskInfo{}, err
	}
	change := store.TaskEdit{Title: e.Title, Body: e.Body, Priority: e.Priority, Parent: e.Parent, Due: e.Due, By: b.name()}
	if e.Within > 0 {
		due := b.c.now().Add(e.Within)
		change.Due = &due
	}
	if e.Capability != nil {
		change.Capability = &resolved.Capability
	}
	if e.Agent != nil {
		change.Agent = &resolved.Agent
	}
	if e.Needs != nil {
		change.Needs = &resolved.Needs
	}
	if e.Check != nil {
		change.Check = &resolved.Check
	}
	if e.Review != nil {
		change.Reviewer = &resolved.Reviewer
	}
	return b.write(ctx, verb, n, []any{change}, before, func(to *store.Store) (TaskInfo, error) { return to.EditTask(ctx, n, change) })
}

// write does a write about a task, and wakes whoever it concerns.
func (b *Board) write(ctx context.Context, verb string, n fika.TaskNumber, body []any, before TaskInfo, do func(*store.Store) (TaskInfo, error)) (TaskInfo, error) {
	out, err := once(ctx, b.c, verb, append([]any{n}, body...), do, func(*store.Repeated) (TaskInfo, error) { return b.c.store.Task(ctx, n) })
	if err == nil && before.WorkerName != "" {
		b.wake(ctx, before.WorkerName)
	} else if err == nil {
		b.wake(ctx)
	}
	return out, err
}

// control does one of the verbs that move a task.
func (b *Board) control(ctx context.Context, verb string, n fika.TaskNumber, why string, body []any, do func(to *store.Store, why string) (TaskInfo, error)) (TaskInfo, error) {
	if err := b.may(ctx, verb); err != nil {
		return TaskInfo{}, err
	}
	before, err := b.c.store.Task(ctx, n)
	if err != nil {
		return TaskInfo{}, err
	}
	why = strings.ToValidUTF8(strings.TrimSpace(why), "")
	if len(why) > maxTaskWhy {
		return TaskInfo{}, fika.Errorf(fika.Invalid, "", "the reason has %d bytes; at most %d are taken: %s", len(why), maxTaskWhy, fmt.Sprintf("%s takes more", hint.BoardEditBody.With(n)))
	}
	return b.write(ctx, verb, n, append(body, why), before, func(to *store.Store) (TaskInfo, error) { return do(to, why) })
}

// Release lets a task go on that waits for a person, or takes it from the agent that has it.
// Error kinds: NotFound, Conflict, Denied.
func (b *Board) Release(ctx context.Context, n fika.TaskNumber, why string) (TaskInfo, error) {
	return b.control(ctx, "board.release", n, why, nil, func(to *store.Store, why string) (TaskInfo, error) { return to.ReleaseTask(ctx, n, b.name(), why) })
}

// Close ends a task as done, or as dropped, whoever has it. Error kinds: as for
// [Board.Release].
func (b *Board) Close(ctx context.Context, n fika.TaskNumber, dropped bool, why string) (TaskInfo, error) {
	state := fika.TaskDone
	if dropped {
		state = fika.TaskDropped
	}
	return b.control(ctx, "board.close", n, why, []any{state}, func(to *store.Store, why string) (TaskInfo, error) { return to.CloseTask(ctx, n, state, b.name(), why) })
}

// Reopen makes a task that has ended open again. Error kinds: as for [Board.Release].
func (b *Board) Reopen(ctx context.Context, n fika.TaskNumber, why string) (TaskInfo, error) {
	return b.control(ctx, "board.reopen", n, why, nil, func(to *store.Store, why string) (TaskInfo, error) { return to.ReopenTask(ctx, n, b.name(), why) })
}
