package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika"
)

func newChatClear(e *env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "clear CHAT...", Short: "let agents forget what was said so far; the entries stay",
		Long:    "Puts a compaction with an empty summary into the chat: agents no longer see\nwhat was said before it, people still do.",
		Example: "  fika chat clear design", Args: atLeastOneChat, ValidArgsFunction: several(e.completeChats),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.reader(ctx)
			if err != nil {
				return err
			}
			convs, wild, err := c.Chats.Match(ctx, args)
			if err != nil {
				return err
			}
			if (wild || len(convs) > 1) && !yes {
				if err := e.confirm(fmt.Sprintf("clear %d chats", len(convs))); err != nil {
					return err
				}
			}
			for _, conv := range convs {
				if err := c.Chats.Clear(ctx, conv); err != nil {
					return err
				}
				e.say("%s is cleared", conv.Name)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func newChatDelete(e *env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete CHAT...", Short: "stop a chat and delete it for good",
		Long:    "Stops what goes on in a chat, then deletes it with everything in it. Asks on a\nterminal; elsewhere --yes is needed.",
		Example: "  fika chat delete design --yes", Args: atLeastOneChat, ValidArgsFunction: several(e.completeChats),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.reader(ctx)
			if err != nil {
				return err
			}
			convs, _, err := c.Chats.Match(ctx, args)
			if err != nil {
				return err
			}
			if !yes {
				var names []string
				for _, c := range convs {
					names = append(names, string(c.Name))
				}
				if err := e.confirm("delete " + strings.Join(names, ", ") + " with everything in it"); err != nil {
					return err
				}
			}
			var errs []error
			for _, conv := range convs {
				busy, err := c.Chats.Delete(ctx, conv)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				for _, a := range busy {
					e.warn(fmt.Sprintf("@%s did not stop in time; what it was doing may go on for a moment (fika agent list)", a))
				}
				e.say("%s is deleted", conv.Name)
			}
			return errors.Join(errs...)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// confirm asks on a terminal; without one it refuses. The default is no.
func (e *env) confirm(what string) error {
	if !e.InTTY {
		return usageError("%s? Say --yes, since there is no terminal to ask on", what)
	}
	fmt.Fprintf(e.Err, "%s? [y/N] ", what)
	var answer string
	_, _ = fmt.Fscanln(e.In, &answer)
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return fika.Errorf(fika.Interrupted, "", "nothing was done")
	}
	return nil
}

func newChatCleanup(e *env) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "cleanup", Short: "remove expired messages, and empty chats older than a day",
		Long: `Removes, all at once or not at all, messages whose time to live is over ([chat]
message_ttl) and chats in which nothing has been said, or nothing is left, for a
day; prints the names of those. Pinned messages stay, and so does everything in
a chat in which a turn is under way. The hub does the same every hour.`,
		Example: "  fika chat cleanup --dry-run", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			r, err := c.Chats.Cleanup(cmd.Context(), dry)
			if err != nil {
				return err
			}
			verb := "removed"
			if dry {
				verb = "would be removed"
			}
			e.say("%d expired entries and %d empty chats %s", r.Expired, len(r.Chats), verb)
			for _, n := range r.Chats {
				_ = e.println(n)
			}
			return e.checkWritten("")
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	return c
}
