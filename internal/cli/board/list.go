package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// listOptions are the flags of board and board list.
type listOptions struct {
	*command.Env
	columns bool // on a terminal
	watch   bool
	all     bool
	states  []string
	limit   int
	asJSON  bool
}

// endedShown is how many tasks that have ended the board shows.
const endedShown = 10

func newList(e *command.Env) *cobra.Command {
	o := &listOptions{Env: e}
	c := &cobra.Command{
		Use: "list", Short: "list the tasks", Args: command.Exactly(0, "no arguments"),
		Long:    "Lists the tasks that have not ended, by state, priority and number; with --all\nthose that have ended, too. NEEDS are the tasks that are not done yet and must be\nfirst.",
		Example: "  fika board list\n  fika board list --state held\n  fika board list --all --json | jq 'select(.state == \"done\")'",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.addFlags(c)
	return c
}

func (o *listOptions) addFlags(c *cobra.Command) {
	c.Flags().BoolVarP(&o.all, "all", "a", false, "also show tasks that are done or dropped")
	c.Flags().StringSliceVar(&o.states, "state", nil, "only tasks in these states: "+command.JoinWords(fika.TaskStates()))
	command.LimitFlag(c, &o.limit, 0, "show at most this many")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON Lines")
	var states []cobra.Completion
	for _, s := range fika.TaskStates() {
		states = append(states, string(s))
	}
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, complete.NoFiles))
}

func (o *listOptions) run(ctx context.Context) error {
	f := service.TaskFilter{States: fika.GoingTaskStates(), Limit: o.limit}
	columns := o.columns && o.OutTTY && !o.asJSON
	if o.watch && (!columns || o.Plain) {
		return command.UsageError("--watch needs a terminal, and no --json; piped, see: fika conversation events --kind task --follow")
	}
	if o.all || columns {
		f.States = fika.TaskStates()
	}
	if len(o.states) > 0 {
		f.States = nil
	}
	for _, name := range o.states {
		if !slices.Contains(fika.TaskStates(), fika.TaskState(name)) {
			return command.UsageError("%q is not a state of a task; known: %s", name, command.JoinWords(fika.TaskStates()))
		}
		f.States = append(f.States, fika.TaskState(name))
	}
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	if o.asJSON {
		list, err := c.Board().List(ctx, f)
		if err != nil {
			return err
		}
		return command.PrintLines(o.Env, list, ToJSON)
	}
	if columns {
		f.Each = mostCards
	}
	if o.watch {
		return o.Watch(ctx, func() (string, error) {
			page, err := o.page(ctx, c, f)
			return fmt.Sprintf("fika board at %s; Ctrl-C ends it\n\n", o.Now().Format("15:04:05")) + cmp.Or(page, noTasks), err
		})
	}
	if columns {
		page, err := o.page(ctx, c, f)
		if page == "" || err != nil {
			o.nothing(err)
			return err
		}
		return o.Print(page)
	}
	list, err := c.Board().Cards(ctx, f)
	if len(list) == 0 || err != nil {
		o.nothing(err)
		return err
	}
	if err := o.Table([]string{"TASK", "STATE", "P", "TITLE", "AGENT", "NEEDS"}, command.TableRows(list, row)); err != nil {
		return err
	}
	waiting := 0
	for _, t := range list {
		if waitsForYou(t.Offer.State) {
			waiting++
		}
	}
	if waiting > 0 {
		o.Say("what was offered of %s in review waits for you: fika land list", command.Plural(waiting, "task"))
	}
	return nil
}

const noTasks = "no open tasks (fika board add \"TITLE\")"

// nothing says that there are no tasks.
func (o *listOptions) nothing(err error) {
	if err == nil {
		o.Say(noTasks)
	}
}

// page draws the board; "" if it is empty.
func (o *listOptions) page(ctx context.Context, c *service.Service, f service.TaskFilter) (string, error) {
	list, err := c.Board().Cards(ctx, f)
	if err != nil || len(list) == 0 {
		return "", err
	}
	counts, err := c.Board().Counts(ctx)
	if err != nil {
		return "", err
	}
	ended := endedShown
	if o.all {
		ended = mostCards
	}
	return kanban(list, counts, o.Now(), o.Width, ended, o.OutStyle()), nil
}

func row(t service.TaskCard) []string {
	return []string{digits(t.Number), string(t.State), strconv.Itoa(t.Priority), t.Title, command.OrDash(who(t)), command.OrDash(unmet(t))}
}

// who says which agent has a task, or which may take it.
func who(t service.TaskCard) string {
	switch {
	case t.WorkerName != "" && t.State != fika.TaskOpen && t.State != fika.TaskHeld:
		return "@" + string(t.WorkerName)
	case t.AgentName != "":
		return "for @" + string(t.AgentName)
	case t.Capability != "":
		return "who can " + t.Capability
	}
	return ""
}

// unmet lists what a task still needs.
func unmet(t service.TaskCard) string {
	var out []string
	for _, n := range t.Unmet {
		out = append(out, digits(n))
	}
	return strings.Join(out, " ")
}
