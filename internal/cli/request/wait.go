package request

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/text/hint"
)

func newWait(e *command.Env) *cobra.Command {
	var timeout time.Duration
	var asJSON, raw bool
	c := &cobra.Command{
		Use: "wait REQUEST", Short: "wait for a request and print its answer", Args: command.Exactly(1, "a request id"), ValidArgsFunction: complete.FirstOnly(complete.RequestIDs(e, fika.UnfinishedStates()...)),
		Long:    "Waits for a request and prints its answer. Ctrl-C stops waiting; the work goes\non.\n\n" + command.ExitHelp,
		Example: "  fika request wait $(fika ask --new --no-wait coder \"write tests\")",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			info, err := c.Requests.Request(ctx, fika.RequestID(args[0]))
			if err != nil {
				return err
			}
			follow, err := c.Requests.Follow(info.AgentName)
			if err != nil {
				return err
			}
			defer follow.Close()
			follow.Warn = e.WarnStatus
			waiting, cancel := context.WithCancel(ctx)
			if timeout > 0 {
				waiting, cancel = context.WithTimeout(ctx, timeout)
			}
			defer cancel()
			view := NewFollowView(e, asJSON, raw)
			defer func() { view.Shown.Finish() }()
			view.Begin(follow, info.ID, info.AgentName)
			info, err = follow.Await(waiting, info.ID, view.Show)
			if waiting.Err() != nil {
				view.EndLine()
				return fika.WithHint(fika.Errorf(fika.Detached, "", "you stopped waiting; request %s continues", args[0]), hint.RequestShow.With(args[0]))
			}
			if err != nil {
				return err
			}
			return view.End(info)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "stop waiting after this long")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object at the end")
	command.RawFlag(c, &raw)
	return c
}
