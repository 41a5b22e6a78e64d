package chat

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/changes"
	"fika/internal/text/hint"
)

// rewindOptions are the flags of chat rewind.
type rewindOptions struct {
	*command.Env
	back, keepFiles, json bool
}

// shownPrompts is how many messages chat rewind lists.
const shownPrompts = 20

func newRewind(e *command.Env) *cobra.Command {
	o := &rewindOptions{Env: e}
	c := &cobra.Command{
		Use: "rewind CHAT [N]", Short: "go back to before a message: agents no longer see what followed",
		Long: `Lists what people have said in a chat, newest first, or goes back to before message
N: agents no longer see it, nor what followed. It stays in the chat for you to read, and
costs stay counted. Turns under way are cancelled first, what waits is dropped.

Files that were changed because of it are restored, the newest change first, as fika undo
does; what commands changed stays, and is listed. --keep-files leaves all files alone.
--back puts back what the last rewind took out; files stay as they are.`,
		Example: "  fika chat rewind design\n  fika chat rewind design 12\n  fika chat rewind design --back",
		Args:    command.OneOrTwo("the name of a chat and, to go back, the number of a message"), ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	c.Flags().BoolVar(&o.back, "back", false, "put back what the last rewind took out")
	c.Flags().BoolVar(&o.keepFiles, "keep-files", false, "do not restore files")
	command.JSONFlag(c, &o.json)
	return c
}

func (o *rewindOptions) run(ctx context.Context, args []string) error {
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	conv, err := c.Chats.Find(ctx, args[0])
	if err != nil {
		return err
	}
	if o.back && len(args) == 2 {
		return command.UsageError("--back takes no message: it puts back what the last rewind took out")
	}
	if len(args) == 1 && !o.back {
		return o.list(ctx, c, conv)
	}
	if o.back {
		done, err := c.ChatControl.RewindBack(ctx, conv)
		return o.report(done, err)
	}
	from, err := strconv.ParseInt(strings.TrimPrefix(args[1], "#"), 10, 64)
	if err != nil {
		return fika.WithHint(command.UsageError("%q is not the number of a message", args[1]), hint.ChatRewind.With(conv.Name))
	}
	done, err := c.ChatControl.Rewind(ctx, conv, from, !o.keepFiles)
	return o.report(done, err)
}

// promptJSON is one message in the list of chat rewind --json.
type promptJSON struct {
	Seq  int64  `json:"seq"`
	From string `json:"from"`
	Text string `json:"text"`
}

func (o *rewindOptions) list(ctx context.Context, c *service.Service, conv fika.Conversation) error {
	said, err := c.Chats.Prompts(ctx, conv, shownPrompts)
	if err != nil {
		return err
	}
	if o.json {
		return command.PrintLines(o.Env, said, func(x fika.Entry) promptJSON { return promptJSON{x.Seq, x.From, x.Content} })
	}
	return o.Table([]string{"N", "WHEN", "FROM", "MESSAGE"}, command.TableRows(said, func(x fika.Entry) []string {
		return []string{fmt.Sprint(x.Seq), term.Ago(x.At, o.Now()), term.CleanLine(x.From), term.Truncate(term.CleanLine(x.Content), 60)}
	}))
}

// rewoundJSON is what chat rewind --json prints about a rewind.
type rewoundJSON struct {
	Seq       int64            `json:"seq"`    // of the rewind
	Undoes    int64            `json:"undoes"` // the rewind that it takes back; 0: none
	From      int64            `json:"from"`   // what is taken out
	To        int64            `json:"to"`
	Cancelled []fika.RequestID `json:"cancelled"`
	Restored  []fika.RequestID `json:"restored"` // requests whose changes of files were undone
	Commands  []fika.RequestID `json:"commands"` // requests whose commands may have changed files, which stay
}

func (o *rewindOptions) report(done service.Rewound, err error) error {
	if err != nil {
		return err
	}
	for _, why := range done.Trouble {
		o.Warn(why.Error())
	}
	if o.json {
		m := done.Entry.Meta
		j := rewoundJSON{done.Entry.Seq, m.Undo, m.Cut.From, m.Cut.To, append([]fika.RequestID{}, done.Requests...), []fika.RequestID{}, []fika.RequestID{}}
		for _, x := range done.Undone {
			j.Restored = append(j.Restored, x.Turn.Request)
		}
		for _, x := range done.Commands {
			j.Commands = append(j.Commands, x.Turn.Request)
		}
		return o.PrintLine(j)
	}
	return o.Print(strings.Join(changes.RewoundLines(done, changes.Look{Style: o.OutStyle(), Now: o.Now()}), "\n") + "\n")
}
