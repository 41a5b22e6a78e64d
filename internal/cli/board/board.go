package board

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// New returns the command fika board.
func New(e *command.Env) *cobra.Command {
	c := command.Group("board", "one list of tasks, for people and agents",
		`The board holds the tasks of this home. A task may need others done first, may be
for one agent or for those with a capability, and has a priority from 0 (the most
urgent) to 4.

Without a command it shows the board: in columns on a terminal, as a list when
piped. With --watch the columns stay on the screen, and up to date.`,
		"  fika board add \"write the parser\" --priority 1\n  fika board add \"test the parser\" --needs 1 --agent tester\n  fika board\n  fika board --watch",
		newAdd(e), newImport(e), newList(e), newShow(e), newWhy(e), newEdit(e), newAssign(e), newNote(e), newRelease(e), newClose(e), newReopen(e), newWait(e))
	o := &listOptions{Env: e, columns: true}
	o.addFlags(c)
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "keep the board on the screen up to date, until Ctrl-C")
	c.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) }
	return c
}

// JSON is a task, as --json prints it.
type JSON struct {
	Number     fika.TaskNumber  `json:"number"`
	Title      string           `json:"title"`
	State      string           `json:"state"`
	HeldReason command.Nullable `json:"held_reason"`
	Priority   int              `json:"priority"`
	Capability command.Nullable `json:"capability"`
	Agent      command.Nullable `json:"agent"`  // the only one that takes it; null: any
	Worker     command.Nullable `json:"worker"` // who has it, or had it last
	Request    command.Nullable `json:"request"`
	Parent     *fika.TaskNumber `json:"parent"`
	Needs      []needJSON       `json:"needs"`
	CreatedBy  string           `json:"created_by"` // an agent has an @
	Taint      command.Nullable `json:"taint"`
	Attempts   int              `json:"attempts"`
	Check      command.Nullable `json:"check"`     // the command that must pass before it is done
	ReviewBy   command.Nullable `json:"review_by"` // the agent that must call it good before
	Review     command.Nullable `json:"review"`    // the request in which that looks at it, or did last
	Rounds     int              `json:"rounds"`    // how often the reviewer has given it back
	Due        *time.Time       `json:"due"`
	CreatedAt  *time.Time       `json:"created_at"`
	UpdatedAt  *time.Time       `json:"updated_at"`
	EndedAt    *time.Time       `json:"ended_at"`
}

type needJSON struct {
	Number fika.TaskNumber `json:"number"`
	State  string          `json:"state"`
}

// ToJSON returns a task as --json prints it.
func ToJSON(t service.TaskInfo) JSON {
	j := JSON{
		Number: t.Number, Title: t.Title, State: string(t.State), HeldReason: command.Nullable(t.HeldReason), Priority: t.Priority,
		Capability: command.Nullable(t.Capability), Agent: command.Nullable(t.AgentName), Worker: command.Nullable(t.WorkerName), Request: command.Nullable(t.Request),
		Needs: []needJSON{}, CreatedBy: t.Author(), Taint: command.Nullable(t.Taint), Attempts: t.Attempts,
		Check: command.Nullable(t.Check), ReviewBy: command.Nullable(t.ByName), Review: command.Nullable(t.Review), Rounds: t.Round, Due: command.JSONTime(t.Due),
		CreatedAt: command.JSONTime(t.CreatedAt), UpdatedAt: command.JSONTime(t.UpdatedAt), EndedAt: command.JSONTime(t.EndedAt),
	}
	if t.Parent > 0 {
		j.Parent = &t.Parent
	}
	for _, n := range t.Needs {
		j.Needs = append(j.Needs, needJSON{n.Number, string(n.State)})
	}
	return j
}

// number reads the number of a task.
func number(word string) (fika.TaskNumber, error) {
	n, ok := service.ParseTask(word)
	if !ok {
		return 0, command.UsageError("%q is not the number of a task", word)
	}
	return n, nil
}

func digits(n fika.TaskNumber) string { return strconv.FormatInt(int64(n), 10) }

// numbers completes the numbers of tasks.
func numbers(e *command.Env, all bool) cobra.CompletionFunc {
	return complete.FirstOnly(complete.TaskNumbers(e, all))
}
