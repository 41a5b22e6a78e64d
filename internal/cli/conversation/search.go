package conversation

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

type foundJSON struct {
	Conversation fika.ConversationName `json:"conversation"`
	Snippet      string                `json:"snippet"`
	Entry        command.FullEntry     `json:"entry"`
}

func newSearch(e *command.Env) *cobra.Command {
	var f filter
	var asJSON bool
	c := &cobra.Command{
		Use: "search WORDS...", Short: "find entries by their words, newest first", ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  fika conversation search \"error handling\" --agent coder", Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return command.UsageError("search for what? fika conversation search WORDS")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			filter, err := f.query(ctx, c)
			if err != nil {
				return err
			}
			found, err := c.Conversations.Search(ctx, strings.Join(args, " "), filter)
			if err != nil {
				return err
			}
			if asJSON {
				if err := command.PrintLines(e, found, func(x service.Found) foundJSON {
					return foundJSON{x.ConversationName, x.Snippet, command.FullEntry(x.Entry)}
				}); err != nil {
					return err
				}
			}
			if len(found) == 0 {
				return fika.Errorf(fika.NotFound, "", "nothing has these words: %s", strings.Join(args, " "))
			}
			if asJSON {
				return nil
			}
			return e.Table([]string{"CONVERSATION", "SEQ", "FROM", "WHEN", "TEXT"}, command.TableRows(found, func(x service.Found) []string {
				return []string{string(x.ConversationName), fmt.Sprint(x.Seq), x.From, term.Ago(x.At, e.Now()), term.CleanLine(x.Snippet)}
			}))
		},
	}
	f.flags(e, c, 30)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
