package board

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// taskFlags are the flags that describe a task.
type taskFlags struct {
	*command.Env
	title, body, agent, capability, check, review string
	priority                                      int
	parent                                        string
	needs                                         []string
	due                                           time.Duration
}

func (f *taskFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVarP(&f.body, "body", "b", "", "what is to be done; - reads it from stdin")
	flags.StringSliceVar(&f.needs, "needs", nil, "tasks that must be done first, by number")
	flags.StringVar(&f.capability, "capability", "", "only agents with this capability take it")
	flags.IntVarP(&f.priority, "priority", "p", fika.DefaultPriority, "from 0, the most urgent, to 4")
	flags.StringVar(&f.parent, "parent", "", "the task of which it is a part")
	flags.StringVar(&f.check, "check", "", "a command that must pass before the task is done, as in \"make test\"")
	flags.StringVar(&f.review, "review", "", "an agent that must call it good before it is done")
	flags.DurationVar(&f.due, "due", 0, "how long it may take, from now, as in 48h")
	for _, name := range []string{"needs", "parent"} {
		_ = c.RegisterFlagCompletionFunc(name, complete.TaskNumbers(f.Env, true))
	}
	_ = c.RegisterFlagCompletionFunc("review", complete.AgentNames(f.Env))
	_ = c.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"0", "1", "2", "3", "4"}, complete.NoFiles))
	for _, name := range []string{"body", "capability", "due", "check"} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// agentFlag adds --agent.
func (f *taskFlags) agentFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.agent, "agent", "", "only this agent, or a member of this pool, takes it")
	_ = c.RegisterFlagCompletionFunc("agent", complete.AgentNames(f.Env))
}

// readBody reads the body from stdin if it is -.
func (f *taskFlags) readBody() error {
	if f.body != "-" {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f.In, service.MaxTaskBody+1))
	if err != nil {
		return fika.Wrap(fika.Failed, "read stdin", err)
	}
	f.body = string(text)
	return nil
}

// task returns the task that the flags describe.
func (f *taskFlags) task() (service.NewTask, error) {
	t := service.NewTask{
		Title: strings.TrimSpace(f.title), Body: f.body, Priority: f.priority, Capability: f.capability, Agent: f.agent, Needs: f.needs,
		Check: f.check, Review: f.review,
	}
	if f.parent != "" {
		var err error
		if t.Parent, err = number(f.parent); err != nil {
			return t, err
		}
	}
	if f.due < 0 {
		return t, command.UsageError("--due is how long the task may take, as in 48h")
	}
	t.Within = f.due
	return t, nil
}

func newAdd(e *command.Env) *cobra.Command {
	f := &taskFlags{Env: e}
	var asJSON bool
	c := &cobra.Command{
		Use: "add TITLE [BODY]", Short: "add a task", Args: command.OneOrTwo("a TITLE, and at most one BODY"), ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Adds a task to the board and prints its number. It waits until the tasks that it\nneeds are done.",
		Example: "  fika board add \"write the parser\"\n  fika board add \"test the parser\" --needs 1 --capability go --priority 1\n  fika board add \"fix the parser\" --check \"make test\" --review reviewer\n  fika board add \"fix the crash\" --body - < report.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.title = args[0]; len(args) > 1 {
				if f.body != "" {
					return command.UsageError("the body is there twice: as an argument and as --body")
				}
				f.body = args[1]
			}
			if err := f.readBody(); err != nil {
				return err
			}
			t, err := f.task()
			if err != nil {
				return err
			}
			return added(cmd.Context(), e, []service.NewTask{t}, asJSON)
		},
	}
	f.add(c)
	f.agentFlag(c)
	command.JSONFlag(c, &asJSON)
	return c
}

// added adds tasks and prints their numbers.
func added(ctx context.Context, e *command.Env, list []service.NewTask, asJSON bool) error {
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	tasks, err := c.Board().Add(ctx, list)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t.HeldReason != "" {
			e.Say("task %d waits for a person: %s", t.Number, t.HeldReason)
		}
	}
	sayNoHub(e)
	sayNobody(ctx, e, c, tasks)
	if asJSON {
		return command.PrintLines(e, tasks, ToJSON)
	}
	for _, t := range tasks {
		if err := e.Println(int64(t.Number)); err != nil {
			return err
		}
	}
	return nil
}

// sayNobody says, once, that no agent takes one of the tasks, and how one would.
func sayNobody(ctx context.Context, e *command.Env, c *service.Service, tasks []service.TaskInfo) {
	for _, t := range tasks {
		w, err := c.Board().Why(ctx, t.Number)
		if at := slices.IndexFunc(w.Why, func(st api.Status) bool { return st.Code == api.BoardNobody }); err == nil && at >= 0 {
			e.WarnStatus(w.Why[at])
			return
		}
	}
}

// sayNoHub says that nothing happens by itself while no hub is running.
func sayNoHub(e *command.Env) {
	if _, up, err := service.HubOf(e.App()).Process(); err == nil && !up && !e.InsideTool() {
		e.Say("no hub is running, so no agent takes it by itself: fika up")
	}
}
