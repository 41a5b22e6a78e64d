package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/store"
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
	client, err := open(ctx)
	if err != nil {
		return err
	}
	verb := map[bool]string{true: "paused", false: "resumed"}[paused]
	if all {
		agents, err := client.Store.SetAllPaused(ctx, paused)
		if err != nil {
			return err
		}
		client.Ring(agents...)
		_ = client.Bus.Flush(ctx)
		e.say("everything is %s", verb)
		return nil
	}
	convs, _, err := findChats(ctx, client, words)
	if err != nil {
		return err
	}
	for _, conv := range convs {
		agents, err := client.Store.SetPaused(ctx, conv.ID, paused)
		if err != nil {
			return err
		}
		client.Ring(agents...)
		e.say("%s is %s", conv.Name, verb)
	}
	if everything, err := client.Store.AllPaused(ctx); err == nil && everything && !paused {
		e.warn("everything is still paused (fika chat resume --all)")
	}
	return client.Bus.Flush(ctx)
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
	client, err := e.reader(ctx)
	if err != nil {
		return err
	}
	var convs []fika.Conversation
	if all {
		list, err := client.Store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Chat})
		if err != nil {
			return err
		}
		for _, c := range list {
			if c.Pending+c.Running > 0 {
				convs = append(convs, c.Conversation)
			}
		}
		if len(convs) == 0 {
			e.say("nothing runs or waits in any chat")
		}
	} else if convs, _, err = findChats(ctx, client, words); err != nil {
		return err
	}
	for _, conv := range convs {
		d, err := client.Store.StopChat(ctx, conv.ID)
		if err != nil {
			return err
		}
		ringRequests(ctx, client, d.Requests)
		e.say("%s: %d waiting mentions dropped, %d running turns cancelled", conv.Name, d.Notifications, len(d.Requests))
	}
	return client.Bus.Flush(ctx)
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
			client, err := e.clientFor(ctx, func(c *app.Client) (err error) { conv, err = findTalk(ctx, c, args[0]); return err })
			if err != nil {
				return err
			}
			agents, err := client.Store.ContinueChain(ctx, conv.ID)
			if fika.IsKind(err, fika.NotFound) {
				return fika.Errorf(fika.NotFound, "", "no limit has stopped anything in %q", conv.Name)
			}
			if err != nil {
				return err
			}
			client.Ring(agents...)
			e.say("%s goes on with %s", conv.Name, mentions(agents))
			return client.Bus.Flush(ctx)
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
