package agent

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
)

// recalledJSON is an entry of an agent's past.
type recalledJSON struct {
	Conversation fika.ConversationName `json:"conversation"`
	Snippet      string                `json:"snippet"`
	Entry        command.FullEntry     `json:"entry"`
}

func newRecall(e *command.Env) *cobra.Command {
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use: "recall NAME WORDS...", Short: "show what an agent would recall from its past",
		Long: `Shows what the recall tool would find for an agent: entries of its own
conversations, of its tasks and of the chats it takes part in, newest first,
that contain all of the words, or else as many of them as any entry contains.
Cleared entries are not found. An agent has the tool if its tool_permissions
name it.`,
		Example: "  fika agent recall coder staging password\n  fika agent recall coder 'deploy* friday' --limit 3 --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || strings.TrimSpace(strings.Join(args[1:], " ")) == "" {
				return command.UsageError("the name of an agent, and words to look for: fika agent recall coder staging password")
			}
			return nil
		},
		ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			row, err := c.Agents.FindLone(ctx, args[0])
			if err != nil {
				return err
			}
			words := strings.Join(args[1:], " ")
			found, err := c.Agents.Recall(ctx, row, words, limit)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fika.Errorf(fika.NotFound, "", "nothing in the past of @%s has these words: %.80q", row.Name, words)
			}
			if asJSON {
				return command.PrintLines(e, found, func(x service.Found) recalledJSON {
					return recalledJSON{x.ConversationName, x.Snippet, command.FullEntry(x.Entry)}
				})
			}
			return e.Table([]string{"CONVERSATION", "SEQ", "FROM", "WHEN", "TEXT"}, command.TableRows(found, func(x service.Found) []string {
				return []string{string(x.ConversationName), fmt.Sprint(x.Seq), x.From, term.Ago(x.At, e.Now()), term.CleanLine(x.Snippet)}
			}))
		},
	}
	command.LimitFlag(c, &limit, 5, "show at most this many", "limit")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
