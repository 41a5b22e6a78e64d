package board

import (
	"context"
	"fmt"
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
	wanted := map[fika.TaskState]bool{}
	for _, name := range o.states {
		known := false
		for _, s := range fika.TaskStates() {
			known = known || string(s) == name
		}
		if !known {
			return command.UsageError("%q is not a state of a task; known: %s", name, command.JoinWords(fika.TaskStates()))
		}
		wanted[fika.TaskState(name)] = true
	}
	columns := o.columns && o.OutTTY && !o.asJSON
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	list, err := c.Board().List(ctx, service.TaskFilter{Going: !o.all && !columns && !wanted[fika.TaskDone] && !wanted[fika.TaskDropped]})
	if err != nil {
		return err
	}
	if len(wanted) > 0 {
		list = only(list, func(t service.TaskInfo) bool { return wanted[t.State] })
	}
	list = command.AtMost(list, o.limit)
	switch {
	case o.asJSON:
		return command.PrintLines(o.Env, list, ToJSON)
	case len(list) == 0:
		o.Say("no open tasks (fika board add \"TITLE\")")
		return nil
	case columns:
		ended := endedShown
		if o.all {
			ended = len(list)
		}
		return o.Print(kanban(list, o.Width, ended, o.OutStyle()))
	}
	return o.Table([]string{"TASK", "STATE", "P", "TITLE", "AGENT", "NEEDS"}, command.TableRows(list, row))
}

// only returns the tasks for which keep returns true.
func only(list []service.TaskInfo, keep func(service.TaskInfo) bool) (out []service.TaskInfo) {
	for _, t := range list {
		if keep(t) {
			out = append(out, t)
		}
	}
	return out
}

func row(t service.TaskInfo) []string {
	return []string{digits(t.Number), string(t.State), fmt.Sprint(t.Priority), t.Title, command.OrDash(who(t)), command.OrDash(unmet(t))}
}

// who says which agent has a task, or which may take it.
func who(t service.TaskInfo) string {
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
func unmet(t service.TaskInfo) string {
	var out []string
	for _, n := range t.Unmet() {
		out = append(out, digits(n.Number))
	}
	return strings.Join(out, " ")
}
