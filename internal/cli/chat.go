package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
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

func newChatList(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list chats, newest activity first", Example: "  fika chat list", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Chats.List(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Chats.AllPaused(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, list, func(c client.ConversationInfo) chatJSON { return toChatJSON(c, all) })
			}
			if len(list) == 0 {
				e.say("no chats yet; fika chat new NAME makes one")
				return nil
			}
			return e.Table([]string{"CHAT", "MESSAGES", "UPDATED", "STATE", "PARTICIPANTS"}, rows(list, func(c client.ConversationInfo) []string { return e.chatRow(c, all) }))
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

func toChatJSON(c client.ConversationInfo, all bool) chatJSON {
	return chatJSON{c.Name, c.Messages, c.LastSeq, c.Paused || all, all, c.Pending, c.Running, emptyIfNil(c.Participants), c.CreatedAt.UTC(), c.UpdatedAt.UTC()}
}

func (e *env) chatRow(c client.ConversationInfo, all bool) []string {
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
