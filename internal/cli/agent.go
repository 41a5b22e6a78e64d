package cli

import (
	"fika/internal/daemon"
	"time"

	"github.com/spf13/cobra"

	"fika"
)

func newAgent(e *env) *cobra.Command {
	c := group("agent", "list, start, stop and watch agents", "", `  fika agent list
  fika agent start coder
  fika agent attach coder`, newAgentRun(e))
	c.AddCommand(agentCommands(e)...)
	return c
}

func newAgentRun(e *env) *cobra.Command {
	var byHub bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "run NAME",
		Short: "run an agent in this terminal",
		Long: `Runs the process of an agent here and shows what it receives and does. Ctrl-C
stops it after its current step; what it was working on is handed back.`,
		Example: "  fika agent run coder",
		Args:    exactly(1, "the name of an agent"), ValidArgsFunction: first(e.completeAgents),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			e.lastGood = byHub
			out := e.display()
			defer out.Close()
			o := daemon.AgentOptions{Name: name, Out: out, ByHub: byHub, Wait: wait}
			ctx, release := stopsBySignal(cmd.Context(), func(take func(func(fika.Desired))) { o.Shutdown = take })
			defer release()
			return daemon.RunAgent(ctx, e.open(), o)
		},
	}
	c.Flags().BoolVar(&byHub, "by-hub", false, "started by the hub")
	_ = c.Flags().MarkHidden("by-hub")
	c.Flags().DurationVar(&wait, "wait", 0, "wait this long for a context that is in use")
	return c
}
