package cli

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/spelling"
	"fika/internal/store"
	"fika/internal/term"
)

func newChat(e *env) *cobra.Command {
	c := group("chat", "let agents talk to each other, watch and steer them",
		"A chat is a conversation of many. Who is mentioned as @name answers, and whom\nan answer mentions answers in turn, with nobody watching. pause is the brake.\nNames may be patterns (* and ?) where several chats make sense.",
		"  fika chat new design\n  fika chat send design \"@arya sketch an API, then ask @gendry to attack it\"\n  fika chat view design --follow",
		newChatList(e), newChatNew(e), newChatCreate(e), newChatJoin(e), newChatSend(e), newChatView(e), newChatPause(e), newChatResume(e),
		newChatStop(e), newChatContinue(e), newChatLimit(e), newChatQueue(e), newChatRetry(e), newChatWhy(e), newChatWait(e), newChatPin(e), newChatUnpin(e), newChatClear(e), newChatDelete(e), newChatCleanup(e))
	list := newChatList(e)
	c.RunE = list.RunE // fika chat lists, as its help says
	return c
}

// findChat finds one chat by name; NotFound comes with the nearest name.
func findChat(ctx context.Context, c *app.Client, word string) (fika.Conversation, error) {
	name, err := fika.ParseChatName(word)
	if err != nil {
		return fika.Conversation{}, err
	}
	conv, err := c.Store.Conversation(ctx, name)
	if err == nil && conv.Kind == fika.Chat {
		return conv, nil
	}
	if err != nil && !fika.IsKind(err, fika.NotFound) {
		return conv, err
	}
	list, err := c.Store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Chat})
	if err != nil {
		return conv, err
	}
	var names []string
	for _, x := range list {
		names = append(names, string(x.Name))
	}
	hint := fmt.Sprintf(" (fika chat create %s makes it)", name)
	if near := spelling.Nearest(string(name), names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return conv, fika.Errorf(fika.NotFound, "", "no chat named %q%s", name, hint)
}

// findChats finds the chats that names and patterns mean. wild reports
// whether a pattern was among them.
func findChats(ctx context.Context, c *app.Client, words []string) (found []fika.Conversation, wild bool, err error) {
	seen := map[fika.ConversationID]bool{}
	add := func(conv fika.Conversation) {
		if !seen[conv.ID] {
			seen[conv.ID] = true
			found = append(found, conv)
		}
	}
	for _, w := range words {
		if !strings.ContainsAny(w, "*?[") {
			conv, err := findChat(ctx, c, w)
			if err != nil {
				return nil, wild, err
			}
			add(conv)
			continue
		}
		wild = true
		list, err := c.Store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Chat})
		if err != nil {
			return nil, wild, err
		}
		n := len(found)
		for _, x := range list {
			ok, err := path.Match(strings.ToLower(w), string(x.Name))
			if err != nil {
				return nil, wild, usageError("%q is not a pattern: use * and ?", w)
			}
			if ok {
				add(x.Conversation)
			}
		}
		if len(found) == n {
			return nil, wild, fika.Errorf(fika.NotFound, "", "no chat matches %q", w)
		}
	}
	return found, wild, nil
}

func newChatList(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list chats, newest activity first", Example: "  fika chat list", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			list, err := client.Store.ListConversations(cmd.Context(), store.ConversationFilter{Kind: fika.Chat})
			if err != nil {
				return err
			}
			all, err := client.Store.AllPaused(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, list, func(c store.ConversationInfo) chatJSON { return toChatJSON(c, all) })
			}
			if len(list) == 0 {
				e.say("no chats yet; fika chat new NAME makes one")
				return nil
			}
			return e.Table([]string{"CHAT", "MESSAGES", "UPDATED", "STATE", "PARTICIPANTS"}, rows(list, func(c store.ConversationInfo) []string { return e.chatRow(c, all) }))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

type chatJSON struct {
	Name         fika.ConversationName `json:"name"`
	Messages     int                   `json:"messages"`
	LastSeq      int64                 `json:"last_seq"`
	Paused       bool                  `json:"paused"`     // it, or everything
	PausedAll    bool                  `json:"paused_all"` // everything
	Pending      int                   `json:"pending"`
	Running      int                   `json:"running"`
	Participants []string              `json:"participants"`
	CreatedAt    time.Time             `json:"created_at"`
	UpdatedAt    time.Time             `json:"updated_at"`
}

func toChatJSON(c store.ConversationInfo, all bool) chatJSON {
	return chatJSON{c.Name, c.Messages, c.LastSeq, c.Paused || all, all, c.Pending, c.Running, emptyIfNil(c.Participants), c.CreatedAt.UTC(), c.UpdatedAt.UTC()}
}

func (e *env) chatRow(c store.ConversationInfo, all bool) []string {
	state := "quiet"
	switch {
	case all:
		state = fmt.Sprintf("everything is paused, %d waiting", c.Pending)
	case c.Paused:
		state = fmt.Sprintf("paused, %d waiting", c.Pending)
	case c.Running > 0:
		state = fmt.Sprintf("%d working", c.Running)
	case c.Pending > 0:
		state = fmt.Sprintf("%d waiting", c.Pending)
	}
	return []string{string(c.Name), fmt.Sprint(c.Messages), term.Ago(c.UpdatedAt, e.now()), state, strings.Join(c.Participants, " ")}
}

func atLeastOneChat(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("%s takes the name of a chat; see --help", cmd.CommandPath())
	}
	return nil
}
