package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list chats, newest activity first", Example: "  fika chat list", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Chats.List(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.ChatControl.AllPaused(cmd.Context())
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, func(c service.ConversationInfo) listed { return toChatJSON(c, all) })
			}
			if len(list) == 0 {
				e.Say("no chats (fika chat create NAME)")
				return nil
			}
			return e.Table([]string{"CHAT", "MESSAGES", "UPDATED", "STATE", "PARTICIPANTS"}, command.TableRows(list, func(c service.ConversationInfo) []string { return chatRow(e, c, all) }))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

type listed struct {
	Name         fika.ConversationName `json:"name"`
	Messages     int                   `json:"messages"`
	LastSeq      int64                 `json:"last_seq"`
	Paused       bool                  `json:"paused"`     // the chat, or everything
	PausedAll    bool                  `json:"paused_all"` // everything
	Pending      int                   `json:"pending"`
	Running      int                   `json:"running"`
	Participants []string              `json:"participants"`
	CreatedAt    time.Time             `json:"created_at"`
	UpdatedAt    time.Time             `json:"updated_at"`
}

func toChatJSON(c service.ConversationInfo, all bool) listed {
	return listed{c.Name, c.Messages, c.LastSeq, c.Paused || all, all, c.Pending, c.Running, command.EmptyIfNil(c.Participants), c.CreatedAt.UTC(), c.UpdatedAt.UTC()}
}

func chatRow(e *command.Env, c service.ConversationInfo, all bool) []string {
	state := "idle"
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
	return []string{string(c.Name), fmt.Sprint(c.Messages), term.Ago(c.UpdatedAt, e.Now()), state, strings.Join(c.Participants, " ")}
}
