package conversation

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON, all, raw bool
	var limit int
	c := &cobra.Command{
		Use: "show CONVERSATION", Short: "print a conversation", Args: command.Exactly(1, "the name of a conversation"), ValidArgsFunction: complete.FirstOnly(complete.ConversationNames(e)),
		Long:    "Prints the messages and notices of a conversation; --all adds tool calls, their\nresults and compactions. The name of an agent stands for its ongoing\nconversation.",
		Example: "  fika conversation show task_coder_20260102-101530 --all\n  fika conversation show coder",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			conv, err := c.Conversations.Find(ctx, args[0])
			if err != nil {
				return err
			}
			q := service.EntryQuery{Conversation: conv.ID, Last: limit}
			if !all {
				q.Types = []fika.EntryType{fika.Message, fika.Notice}
			}
			show := showEntry(e, raw)
			if asJSON {
				show = func(x fika.Entry) error { return e.PrintLine(command.FullEntry(x)) }
			}
			_, err = c.Chats.Read(ctx, q, show)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	c.Flags().BoolVar(&all, "all", false, "include tool calls, results and compactions")
	command.RawFlag(c, &raw)
	command.LimitFlag(c, &limit, 0, "show only the last N", "last")
	return c
}

// showEntry returns a function that prints an entry for a person to read.
func showEntry(e *command.Env, raw bool) func(fika.Entry) error {
	style := e.OutStyle()
	clean := term.Clean
	if raw {
		clean = func(s string) string { return s }
	}
	return func(x fika.Entry) error {
		head := style.Speaker(x.From, clean(x.From))
		switch x.Type {
		case fika.ToolCall:
			head += style.Dim(" calls " + clean(x.To))
		case fika.ToolResult:
			head += style.Dim(" says")
		case fika.Notice, fika.Compaction, fika.Rewind:
			head = style.Yellow(string(x.Type))
		}
		about := style.Dim(fmt.Sprintf("#%d %s", x.Seq, x.At.Local().Format(time.DateTime)))
		return e.Printf("%s %s\n%s\n\n", head, about, clean(strings.TrimRight(x.Content, "\n")))
	}
}
