package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
)

func newChatPause(e *env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "pause CHAT...", Short: "the brake: running steps finish, nothing new begins",
		Long:    "Pauses chats, or everything with --all (new chats too). What is mentioned\nmeanwhile waits; fika chat resume goes on from there.",
		Example: "  fika chat pause design\n  fika chat pause --all",
		Args:    chatsOrAll(&all), ValidArgsFunction: several(e.completeChats),
		RunE: func(cmd *cobra.Command, args []string) error { return e.setPaused(cmd.Context(), args, all, true) },
	}
	c.Flags().BoolVar(&all, "all", false, "everything, new chats included")
	return c
}

func newChatResume(e *env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "resume CHAT...", Short: "go on after a pause",
		Long:    "Lifts the brake, also one that somebody holds who has joined with --pause.",
		Example: "  fika chat resume design\n  fika chat resume --all",
		Args:    chatsOrAll(&all), ValidArgsFunction: several(e.completeChats),
		RunE: func(cmd *cobra.Command, args []string) error { return e.setPaused(cmd.Context(), args, all, false) },
	}
	c.Flags().BoolVar(&all, "all", false, "lift the brake on everything")
	return c
}

func chatsOrAll(all *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if (len(args) == 0) != *all {
			return usageError("%s takes the names of chats, or --all; see --help", cmd.CommandPath())
		}
		return nil
	}
}

func (e *env) setPaused(ctx context.Context, words []string, all, paused bool) error {
	open := e.reader
	if !paused {
		open = e.client
	}
	c, err := open(ctx)
	if err != nil {
		return err
	}
	verb := map[bool]string{true: "paused", false: "resumed"}[paused]
	if all {
		if paused {
			err = c.Chats.PauseAll(ctx)
		} else {
			err = c.Chats.ResumeAll(ctx)
		}
		if err == nil {
			e.say("everything is %s", verb)
		}
		return err
	}
	convs, _, err := c.Chats.Match(ctx, words)
	if err != nil {
		return err
	}
	for _, conv := range convs {
		if paused {
			err = c.Chats.Pause(ctx, conv)
		} else {
			err = c.Chats.Resume(ctx, conv)
		}
		if err != nil {
			return err
		}
		e.say("%s is %s", conv.Name, verb)
	}
	if everything, err := c.Chats.AllPaused(ctx); err == nil && everything && !paused {
		e.warn("everything is still paused (fika chat resume --all)")
	}
	return nil
}

func newChatStop(e *env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "stop CHAT...", Short: "end what goes on in a chat: drop what waits, cancel what runs",
		Long:    "Drops what waits in chats, or in every chat with --all, and cancels what runs in\nthem. What is said after begins anew: fika chat pause is the brake.",
		Example: "  fika chat stop design\n  fika chat stop 'review-*'\n  fika chat stop --all",
		Args:    chatsOrAll(&all), ValidArgsFunction: several(e.completeChats),
		RunE: func(cmd *cobra.Command, args []string) error { return e.stopChats(cmd.Context(), args, all) },
	}
	c.Flags().BoolVar(&all, "all", false, "every chat")
	return c
}

func (e *env) stopChats(ctx context.Context, words []string, all bool) error {
	c, err := e.reader(ctx)
	if err != nil {
		return err
	}
	var convs []fika.Conversation
	if all {
		if convs, err = c.Chats.Busy(ctx); err != nil {
			return err
		}
		if len(convs) == 0 {
			e.say("nothing runs or waits in any chat")
		}
	} else if convs, _, err = c.Chats.Match(ctx, words); err != nil {
		return err
	}
	for _, conv := range convs {
		d, err := c.Chats.Stop(ctx, conv)
		if err != nil {
			return err
		}
		e.say("%s: %d waiting mentions dropped, %d running turns cancelled", conv.Name, d.Notifications, len(d.Requests))
	}
	return nil
}

func newChatContinue(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "continue CHAT", Short: "go on where a limit ended a chain", Example: "  fika chat continue design",
		Long: `Takes up again what a limit has stopped in a chat, or in a chain that began
there, with fresh counters. It may come to a limit again, and be continued
again. fika chat limit shows and sets the limits.`,
		Args: exactly(1, "the name of a chat"), ValidArgsFunction: first(e.completeChats),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var conv fika.Conversation
			c, err := e.clientFor(ctx, func(c *client.Client) (err error) { conv, err = c.Chats.FindAnyKind(ctx, args[0]); return err })
			if err != nil {
				return err
			}
			agents, err := c.Chats.Continue(ctx, conv)
			if err != nil {
				return err
			}
			e.say("%s goes on with %s", conv.Name, mentions(agents))
			return nil
		},
	}
}

func mentions(agents []fika.AgentName) string {
	var out []string
	for _, a := range agents {
		out = append(out, "@"+string(a))
	}
	return strings.Join(out, " ")
}
