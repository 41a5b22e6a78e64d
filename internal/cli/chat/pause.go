package chat

import (
	"context"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newPause(e *command.Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "pause CHAT...", Short: "pause chats: running steps finish, nothing new begins",
		Long:    "Pauses chats, or everything with --all (new chats too). Mentions made meanwhile\nwait; fika chat resume continues from there.",
		Example: "  fika chat pause design\n  fika chat pause --all",
		Args:    chatsOrAll(&all), ValidArgsFunction: complete.AnyNumber(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return setPaused(cmd.Context(), e, args, all, true) },
	}
	c.Flags().BoolVar(&all, "all", false, "pause everything, new chats included")
	return c
}

func chatsOrAll(all *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if (len(args) == 0) != *all {
			return command.UsageError("%s takes the names of chats, or --all; see --help", cmd.CommandPath())
		}
		return nil
	}
}

func setPaused(ctx context.Context, e *command.Env, words []string, all, paused bool) error {
	open := e.Service
	if !paused {
		open = e.ServiceWithHub
	}
	c, err := open(ctx)
	if err != nil {
		return err
	}
	verb := map[bool]string{true: "paused", false: "resumed"}[paused]
	if all {
		if paused {
			err = c.ChatControl.PauseAll(ctx)
		} else {
			err = c.ChatControl.ResumeAll(ctx)
		}
		if err == nil {
			e.Say("everything is %s", verb)
		}
		return err
	}
	convs, _, err := c.Chats.Match(ctx, words)
	if err != nil {
		return err
	}
	for _, conv := range convs {
		if paused {
			err = c.ChatControl.Pause(ctx, conv)
		} else {
			err = c.ChatControl.Resume(ctx, conv)
		}
		if err != nil {
			return err
		}
		e.Say("%s is %s", conv.Name, verb)
	}
	if everything, err := c.ChatControl.AllPaused(ctx); err == nil && everything && !paused {
		e.Warn("everything is still paused (fika chat resume --all)")
	}
	return nil
}
