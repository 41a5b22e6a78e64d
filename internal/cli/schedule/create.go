package schedule

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/config"
)

// createOptions are the flags of schedule create.
type createOptions struct {
	*command.Env
	schedule config.Schedule
	inputs   []string
	asJSON   bool
}

func newCreate(e *command.Env) *cobra.Command {
	o := &createOptions{Env: e}
	c := &cobra.Command{
		Use: "create NAME [PROMPT]", Short: "create a schedule",
		Long: `Writes a schedule into config.toml. It gives PROMPT to an agent as a task, sends
it to a chat in your name, or starts a run of a workflow with PROMPT as the
input named prompt. With --summarise the agent summarises its conversation, as
fika agent summarise does; fika schedule show NAME says how to read the summary.

--cron takes five fields: minute, hour, day of the month, month and day of the
week, with numbers or names, * , - and /, or @hourly, @daily, @weekly, @monthly,
@yearly. Times are in the time zone of this machine, or in that of --zone.`,
		Example: "  fika schedule create report --cron \"30 8 * * mon-fri\" --agent coder \"What changed since yesterday?\"\n" +
			"  fika schedule create standup --cron \"0 9 * * *\" --zone Europe/Stockholm --chat standup \"@coder what is next?\"\n" +
			"  fika schedule create week --cron @weekly --workflow review --input work=\"what changed this week\"\n" +
			"  fika schedule create evening --cron \"0 18 * * *\" --agent coder --summarise",
		Args: command.OneOrTwo("a NAME, and at most one PROMPT"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return command.UsageError("%q is not a name of a schedule: 1 to 32 of a-z 0-9 _ -", args[0])
			}
			o.schedule.Name = string(name)
			if len(args) > 1 {
				o.schedule.Prompt = args[1]
			}
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f, s := c.Flags(), &o.schedule
	f.StringVar(&s.Cron, "cron", "", "when, as in \"30 8 * * mon-fri\"")
	f.StringVar(&s.Zone, "zone", "", "time zone, as in Europe/Stockholm")
	f.StringVar(&s.Agent, "agent", "", "agent that gets the prompt")
	f.BoolVar(&s.Summarise, "summarise", false, "have the agent summarise its conversation; takes no PROMPT")
	f.StringVar(&s.Workflow, "workflow", "", "workflow to run")
	f.StringVar(&s.Chat, "chat", "", "chat to which the prompt is sent")
	f.StringArrayVarP(&o.inputs, "input", "i", nil, "input of the workflow as NAME=VALUE (repeat for several)")
	command.JSONFlag(c, &o.asJSON)
	c.MarkFlagsMutuallyExclusive("agent", "workflow", "chat")
	_ = c.RegisterFlagCompletionFunc("cron", cobra.FixedCompletions([]string{"@hourly", "@daily", "@weekly", "@monthly", "@yearly"}, complete.NoFiles))
	_ = c.RegisterFlagCompletionFunc("zone", cobra.FixedCompletions([]string{"UTC", "Local"}, complete.NoFiles))
	_ = c.RegisterFlagCompletionFunc("agent", complete.AgentNames(e))
	_ = c.RegisterFlagCompletionFunc("workflow", func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		out, _ := complete.WorkflowsOrFiles(e)(cmd, args, word)
		return out, complete.NoFiles
	})
	_ = c.RegisterFlagCompletionFunc("chat", complete.ChatNames(e))
	_ = c.RegisterFlagCompletionFunc("input", cobra.NoFileCompletions)
	return c
}

// check checks the flags against each other, and reads the inputs.
func (o *createOptions) check() error {
	s := &o.schedule
	switch {
	case s.Cron == "":
		return command.UsageError("specify --cron, as in --cron \"30 8 * * mon-fri\"")
	case s.Agent == "" && s.Workflow == "" && s.Chat == "":
		return command.UsageError("specify one of --agent, --workflow, --chat")
	case s.Summarise && s.Agent == "":
		return command.UsageError("--summarise requires --agent")
	case s.Summarise && s.Prompt != "":
		return command.UsageError("--summarise takes no PROMPT: the agent sums up what it has before it")
	case !s.Summarise && s.Workflow == "" && strings.TrimSpace(s.Prompt) == "":
		return command.UsageError("the prompt is missing: fika schedule create %s … \"PROMPT\"", s.Name)
	case s.Workflow == "" && len(o.inputs) > 0:
		return command.UsageError("--input goes with --workflow")
	}
	for _, given := range o.inputs {
		name, value, ok := strings.Cut(given, "=")
		if !ok || name == "" {
			return command.UsageError("an input is NAME=VALUE, not %q", given)
		}
		if s.Inputs == nil {
			s.Inputs = map[string]string{}
		}
		s.Inputs[name] = value
	}
	if s.Chat != "" {
		name, err := fika.ParseChatName(s.Chat)
		if err != nil {
			return err
		}
		s.Chat = string(name)
	}
	s.Agent = strings.ToLower(strings.TrimPrefix(s.Agent, "@"))
	return nil
}

func (o *createOptions) run(ctx context.Context) error {
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	s, err := c.Schedules().Add(ctx, o.schedule)
	if err != nil {
		return err
	}
	if o.asJSON {
		err = o.PrintLine(ToJSON(s))
	} else {
		o.Say("created schedule %s; next run: %s", s.Schedule.Name, NextLine(s))
	}
	o.WarnWithoutHub("nothing begins by itself")
	return err
}
