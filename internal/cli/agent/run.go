package agent

import (
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/daemon"
)

func newRun(e *command.Env) *cobra.Command {
	var byHub bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "run NAME",
		Short: "run an agent in this terminal",
		Long: `Runs the process of an agent here and shows what it receives and does. Ctrl-C
stops the agent after its current step; its unfinished work is handed back.`,
		Example: "  fika agent run coder",
		Args:    command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			e.LastGood = byHub
			out := e.Display()
			defer out.Close()
			o := daemon.AgentOptions{Name: name, Out: out, ByHub: byHub, Wait: wait}
			ctx, release := command.EndOnSignals(cmd.Context(), func(take func(func(fika.Desired))) { o.Shutdown = take })
			defer release()
			return daemon.RunAgent(ctx, e.App(), o)
		},
	}
	c.Flags().BoolVar(&byHub, "by-hub", false, "started by the hub")
	_ = c.Flags().MarkHidden("by-hub")
	c.Flags().DurationVar(&wait, "wait", 0, "wait this long for a context that is in use")
	return c
}
