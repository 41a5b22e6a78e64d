package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
)

// makeChat creates a chat of the given name, or of a generated one.
func makeChat(ctx context.Context, c *app.Client, args []string) (fika.Conversation, error) {
	if len(args) == 1 {
		name, err := fika.ParseChatName(args[0])
		if err != nil {
			return fika.Conversation{}, err
		}
		conv, err := c.Store.CreateChat(ctx, name)
		if fika.IsKind(err, fika.Conflict) {
			return conv, fika.Errorf(fika.Conflict, "", "chat %q exists already; fika chat join %s enters it", name, name)
		}
		return conv, err
	}
	for range 100 {
		name := fika.ConversationName(adjectives[rand.IntN(len(adjectives))] + "-" + nouns[rand.IntN(len(nouns))])
		conv, err := c.Store.CreateChat(ctx, name)
		if !fika.IsKind(err, fika.Conflict) {
			return conv, err
		}
	}
	return c.Store.CreateChat(ctx, fika.ConversationName(fmt.Sprintf("chat-%d", time.Now().UnixMilli())))
}

var (
	adjectives = [...]string{"amber", "brisk", "calm", "clever", "crisp", "dapper", "eager", "fuzzy", "gentle", "golden", "hazel", "jolly", "keen", "lively", "mellow", "misty", "nimble", "quiet", "rosy", "sunny", "tidy", "velvet", "warm", "witty"}
	nouns      = [...]string{"almond", "birch", "bun", "cardamom", "cinnamon", "cup", "fern", "harbor", "kettle", "lantern", "maple", "meadow", "mug", "oat", "otter", "pebble", "roast", "saucer", "spoon", "teapot", "thimble", "waffle", "willow", "wren"}
)

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError("%s takes at most %s, but got %s; see %s --help", cmd.CommandPath(), what, counted(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

func newChatNew(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "new [NAME]", Short: "make a chat, and enter it on a terminal",
		Long:    "Makes a chat with the given or a generated name. On a terminal it is entered\n(fika chat join); elsewhere its name is printed.",
		Example: "  fika chat new design", Args: atMostOne("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := makeChat(cmd.Context(), client, args)
			if err != nil {
				return err
			}
			if e.InTTY && e.OutTTY {
				return e.join(cmd.Context(), string(conv.Name), joinOptions{history: 25})
			}
			return e.println(conv.Name)
		},
	}
}

func newChatCreate(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "create [NAME]", Short: "make a chat and print its name", Example: "  fika chat create design", Args: atMostOne("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := makeChat(cmd.Context(), client, args)
			if err != nil {
				return err
			}
			return e.println(conv.Name)
		},
	}
}
