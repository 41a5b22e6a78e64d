package board

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
)

// Names of the tools.
const (
	AddName    = "board_add"
	ListName   = "board_list"
	UpdateName = "board_update"
	WaitName   = "board_wait"
)

// Names returns the names of all tools of the board.
func Names() []string { return []string{AddName, ListName, UpdateName, WaitName} }

// Task is a task that an agent adds.
type Task struct {
	Title      string   `json:"title"`
	Body       string   `json:"body"`
	Needs      []string `json:"needs"` // numbers of tasks, or titles of the same list
	Agent      string   `json:"agent"`
	Capability string   `json:"capability"`
	Priority   *int     `json:"priority"`
	Parent     int64    `json:"parent"`
	Check      string   `json:"check"`
	Review     string   `json:"review"`
}

// Update is what an agent says about a task.
type Update struct {
	Task     int64   `json:"task"` // 0: the one that it works
	Note     string  `json:"note"`
	Body     *string `json:"body"`
	HandBack string  `json:"hand_back"`
}

// Desk is the board as the agent of a call may use it. Everything about who asks comes
// from the call, and nothing from its arguments. A call that is repeated because of a crash
// takes effect once.
type Desk interface {
	// Add adds all tasks or none, and returns them in their order.
	Add(ctx context.Context, c tool.Call, list []Task) ([]store.TaskInfo, error)
	// List returns the tasks that match, and how many there are in each state.
	List(ctx context.Context, c tool.Call, f store.TaskFilter) ([]store.TaskInfo, map[fika.TaskState]int, error)
	// Show returns one task and its log.
	Show(ctx context.Context, c tool.Call, n fika.TaskNumber) (store.TaskInfo, []store.TaskLine, error)
	Update(ctx context.Context, c tool.Call, u Update) (store.TaskInfo, error)
}

// Bounds of what a call shows.
const (
	maxLines = 100
	maxBody  = 16 << 10 // bytes of a body or a result
	maxLog   = 20       // lines of a log
)

// Tools returns the tools. Without a desk they have names but are not offered.
func Tools(d Desk) []tool.Tool {
	return []tool.Tool{addTool(d), listTool(d), updateTool(d), waitTool{d}}
}

// about describes a tool of the board.
func about(d Desk, name, description, parameters string, effect fika.Effect) tool.Spec {
	return tool.Spec{Name: name, Description: description, Parameters: json.RawMessage(parameters), Checked: true, ByName: true, Hidden: d == nil, Effect: effect}
}

// answer returns the result of a call that failed, or an error if it was interrupted.
func answer(ctx context.Context, name string, err error) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, fika.Wrap(fika.Interrupted, name, ctx.Err())
	}
	return tool.Refusal(err), nil
}

func addTool(d Desk) tool.Tool {
	type arguments struct {
		Tasks []Task `json:"tasks"`
	}
	return tool.Func[arguments]{
		About: about(d, AddName, "Add tasks to the board for others, all or none. needs: titles of this list or numbers of tasks that come first. priority: 0 (urgent) to 4. check: a command that must pass, review: an agent that must call it good, before it is done.",
			`{"type":"object","properties":{"tasks":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"},"needs":{"type":"array","items":{"type":"string"}},"agent":{"type":"string"},"capability":{"type":"string"},"priority":{"type":"integer"},"parent":{"type":"integer"},"check":{"type":"string"},"review":{"type":"string"}},"required":["title"],"additionalProperties":false}}},"required":["tasks"]}`,
			fika.Idempotent),
		Do: func(ctx context.Context, c tool.Call, args arguments) (tool.Result, error) {
			added, err := d.Add(ctx, c, args.Tasks)
			if err != nil {
				return answer(ctx, AddName, err)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "Added %d:\n", len(added))
			for _, t := range added {
				b.WriteString(line(t, false) + "\n")
			}
			return tool.Result{Text: b.String()}, nil
		},
	}
}

func listTool(d Desk) tool.Tool {
	type arguments struct {
		Task  int64  `json:"task"`
		State string `json:"state"`
	}
	return tool.Func[arguments]{
		About: about(d, ListName, "Look at the board: what is not done yet, the tasks in a state, or one task whole.",
			`{"type":"object","properties":{"task":{"type":"integer"},"state":{"type":"string","enum":["open","claimed","review","held","done","dropped"]}}}`, fika.Pure),
		Do: func(ctx context.Context, c tool.Call, args arguments) (tool.Result, error) {
			if args.Task != 0 {
				t, log, err := d.Show(ctx, c, fika.TaskNumber(args.Task))
				if err != nil {
					return answer(ctx, ListName, err)
				}
				return tool.Result{Text: whole(t, log), Taint: t.Taint}, nil
			}
			f := store.TaskFilter{States: fika.GoingTaskStates(), Limit: maxLines}
			if args.State != "" {
				f.States = []fika.TaskState{fika.TaskState(args.State)}
			}
			list, counts, err := d.List(ctx, c, f)
			if err != nil {
				return answer(ctx, ListName, err)
			}
			more := -len(list)
			for _, state := range f.States {
				more += counts[state]
			}
			return tool.Result{Text: lines(list, more, c.Taint == "")}, nil
		},
	}
}

func updateTool(d Desk) tool.Tool {
	return tool.Func[Update]{
		About: about(d, UpdateName, "Say how far a task is (note), change the body of one that you added, or give your task back with the reason (hand_back) when your turn ends. Without task: the one that you work.",
			`{"type":"object","properties":{"task":{"type":"integer"},"note":{"type":"string"},"body":{"type":"string"},"hand_back":{"type":"string"}}}`, fika.Idempotent),
		Do: func(ctx context.Context, c tool.Call, u Update) (tool.Result, error) {
			t, err := d.Update(ctx, c, u)
			if err != nil {
				return answer(ctx, UpdateName, err)
			}
			return tool.Result{Text: "Updated " + line(t, false)}, nil
		},
	}
}

// line writes a task in one line. Hidden leaves out a title that comes from outside, so
// that looking at the board alone taints no turn.
func line(t store.TaskInfo, hidden bool) string {
	title := oneLine(t.Title)
	if hidden && t.Taint != "" {
		title = fmt.Sprintf("(its text comes from outside; %s with task = %d reads it)", ListName, t.Number)
	}
	out := fmt.Sprintf("%d %s", t.Number, t.State)
	if t.State == fika.TaskOpen && len(t.Unmet()) > 0 {
		out += ", needs " + numbers(t.Unmet())
	}
	if t.WorkerName != "" && t.State == fika.TaskClaimed {
		out += " by " + string(t.WorkerName)
	}
	if t.AgentName != "" {
		out += ", for " + string(t.AgentName)
	}
	if t.Capability != "" {
		out += ", for who can " + oneLine(t.Capability)
	}
	if t.State == fika.TaskHeld {
		out += " for a person"
	}
	return out + ": " + title
}

func numbers(list []store.TaskNeed) string {
	var out []string
	for _, n := range list {
		out = append(out, fmt.Sprint(n.Number))
	}
	return strings.Join(out, ", ")
}

// lines writes a list of tasks, and that there are more.
func lines(list []store.TaskInfo, more int, hidden bool) string {
	if len(list) == 0 {
		return "No such tasks."
	}
	var b strings.Builder
	for _, t := range list {
		b.WriteString(line(t, hidden) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "… %d more: ask for one state\n", more)
	}
	return b.String()
}

// whole writes everything about a task. Further lines are indented, so that a text cannot
// pass for what fika says.
func whole(t store.TaskInfo, log []store.TaskLine) string {
	var b strings.Builder
	b.WriteString(line(t, false) + "\nadded by " + oneLine(t.Author()) + "\n")
	part := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", name, indented(clip(text, maxBody)))
		}
	}
	part("check", t.Check)
	if t.ByName != "" {
		part("reviewed by", "@"+string(t.ByName))
	}
	part("held because", t.HeldReason)
	part("body", t.Body)
	part("result", t.Result)
	b.WriteString("log:\n")
	for _, l := range log[max(0, len(log)-maxLog):] {
		b.WriteString(strings.TrimRight(indented(fmt.Sprintf("%s %s %s", l.Who, l.What, l.Text)), " ") + "\n")
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func indented(text string) string {
	return "  " + strings.NewReplacer("\r\n", "\n  ", "\n", "\n  ", "\r", "\n  ").Replace(text)
}

// clip cuts a text after at most size bytes, between characters.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + fmt.Sprintf(" … (%d bytes more)", len(text)-size)
}

// Permit adds the tools of the board to a list of permitted tools that names them as one.
func Permit(allow []string, permission string) []string {
	if !slices.Contains(allow, permission) {
		return allow
	}
	return append(allow[:len(allow):len(allow)], Names()...)
}
