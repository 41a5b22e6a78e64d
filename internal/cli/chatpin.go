package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
)

func newChatPin(e *env) *cobra.Command {
	return pinning(e, &cobra.Command{
		Use: "pin CHAT MESSAGE...", Short: "keep messages beyond their time to live",
		Long:    "Pinned messages stay when their time to live ([chat] message_ttl) is over, and\nthe chat with them. MESSAGE is a number that chat view shows, or an id.",
		Example: "  fika chat pin design 3 7",
	}, true)
}

func newChatUnpin(e *env) *cobra.Command {
	return pinning(e, &cobra.Command{
		Use: "unpin CHAT MESSAGE...", Short: "let pinned messages expire again",
		Long:    "Takes fika chat pin back. What should have expired meanwhile is gone at once.",
		Example: "  fika chat unpin design 3",
	}, false)
}

func pinning(e *env, c *cobra.Command, pinned bool) *cobra.Command {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return usageError("%s takes a chat and the numbers of messages, but got %s; see %s --help", cmd.CommandPath(), counted(len(args)), cmd.CommandPath())
		}
		return nil
	}
	c.ValidArgsFunction = first(e.completeChats)
	c.RunE = func(cmd *cobra.Command, args []string) error { return e.pin(cmd.Context(), args[0], args[1:], pinned) }
	return c
}

func (e *env) pin(ctx context.Context, word string, messages []string, pinned bool) error {
	client, err := e.reader(ctx)
	if err != nil {
		return err
	}
	conv, err := findChat(ctx, client, word)
	if err != nil {
		return err
	}
	var seqs []int64
	for _, m := range messages { // all are found before any is changed
		seq, err := findEntry(ctx, client, conv, m)
		if err != nil {
			return err
		}
		seqs = append(seqs, seq)
	}
	verb := map[bool]string{true: "pinned", false: "no longer pinned"}[pinned]
	for _, seq := range seqs {
		entry, err := client.Store.Pin(ctx, conv.ID, seq, pinned)
		if fika.IsKind(err, fika.NotFound) {
			return fika.Errorf(fika.NotFound, "", "no entry %d in %q", seq, conv.Name)
		}
		if err != nil {
			return err
		}
		e.say("#%d of %s is %s", entry.Seq, conv.Name, verb)
	}
	return nil
}

// findEntry finds the seq of an entry by what a person typed: seq or id.
func findEntry(ctx context.Context, c *app.Client, conv fika.Conversation, word string) (int64, error) {
	seq, err := strconv.ParseInt(strings.TrimPrefix(word, "#"), 10, 64)
	if err == nil {
		return seq, nil
	}
	entry, err := c.Store.EntryByID(ctx, conv.ID, fika.EntryID(word))
	if fika.IsKind(err, fika.NotFound) {
		return 0, fika.Errorf(fika.NotFound, "", "no entry %q in %q", word, conv.Name)
	}
	return entry.Seq, err
}
