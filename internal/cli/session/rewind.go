package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"fika"
	"fika/internal/cli/input"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/changes"
)

// shownPrompts is how many messages /rewind lists.
const shownPrompts = 12

// rewind carries out /rewind: it lists what people said, goes back to before one of these
// messages, or puts back what the last rewind took out.
func (v *visit) rewind(ctx context.Context, line input.Line) error {
	conv, c := v.chat.conversation(), v.chat.service()
	words := line.Arguments()
	var done service.Rewound
	var err error
	switch {
	case len(words) == 0:
		return v.listPrompts(ctx, c, conv)
	case len(words) == 1 && words[0] == "back":
		done, err = c.ChatControl.RewindBack(ctx, conv)
	case len(words) == 1 || len(words) == 2 && words[1] == "--keep-files":
		n, bad := strconv.ParseInt(strings.TrimPrefix(words[0], "#"), 10, 64)
		if bad != nil {
			return fika.Errorf(fika.Invalid, "", "%q is not the number of a message; /rewind lists them", term.CleanLine(words[0]))
		}
		done, err = c.ChatControl.Rewind(ctx, conv, n, len(words) == 1)
	default:
		return fika.Errorf(fika.Invalid, "", "/rewind takes the number of a message, and --keep-files to leave files alone, or back")
	}
	if err != nil {
		return err
	}
	for _, why := range done.Trouble {
		v.screen.Note("— " + why.Error())
	}
	if lines := changes.RewoundLines(done, changes.Look{Style: v.OutStyle(), Width: v.screen.Width(), Now: v.Now()})[1:]; len(lines) > 0 {
		v.screen.Print(strings.Join(lines, "\n"))
	}
	if done.Entry.Meta.Undo == 0 {
		v.screen.Note("— /rewind back puts it back")
	}
	return nil
}

func (v *visit) listPrompts(ctx context.Context, c *service.Service, conv fika.Conversation) error {
	said, err := c.Chats.Prompts(ctx, conv, shownPrompts)
	if err != nil {
		return err
	}
	if len(said) == 0 {
		v.screen.Note("— nothing was said yet")
		return nil
	}
	var rows []string
	for _, x := range said {
		rows = append(rows, term.Truncate(fmt.Sprintf("  /rewind %-5d %-12s %s", x.Seq, term.Ago(x.At, v.Now()), term.CleanLine(x.Content)), v.screen.Width()-1))
	}
	v.screen.Print(strings.Join(rows, "\n"))
	return nil
}
