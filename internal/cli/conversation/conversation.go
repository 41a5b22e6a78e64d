package conversation

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// New returns the command fika conversation.
func New(e *command.Env) *cobra.Command {
	return command.Group("conversation", "list, show and search all conversations",
		"fika keeps every conversation: asks (an agent's ongoing ones), tasks (one\nrequest each) and chats (shared; fika chat has more commands for them).",
		"  fika conversation list --kind task\n  fika conversation search \"port already in use\"",
		newList(e), newShow(e), newSearch(e))
}

type listed struct {
	Name         fika.ConversationName `json:"name"`
	Kind         fika.ConversationKind `json:"kind"`
	Agent        *fika.AgentName       `json:"agent"`  // null for a chat
	Status       string                `json:"status"` // active, completed, or how a task failed
	Active       bool                  `json:"active"` // an ask that the agent's next ask continues
	Paused       bool                  `json:"paused"`
	Messages     int                   `json:"messages"`
	Participants []string              `json:"participants"` // of a chat
	LastSeq      int64                 `json:"last_seq"`
	CreatedAt    time.Time             `json:"created_at"`
	UpdatedAt    time.Time             `json:"updated_at"`
}

// filter are the flags that narrow lists and searches.
type filter struct {
	kind, agent string
	limit       int
}

func (f *filter) flags(e *command.Env, c *cobra.Command, limit int) {
	c.Flags().StringVar(&f.kind, "kind", "", "only this kind: ask, task or chat")
	c.Flags().StringVar(&f.agent, "agent", "", "only those of this agent")
	command.LimitFlag(c, &f.limit, limit, "list at most this many")
	_ = c.RegisterFlagCompletionFunc("agent", complete.AgentNames(e))
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"ask", "task", "chat"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *filter) query(ctx context.Context, c *service.Service) (service.ConversationFilter, error) {
	out := service.ConversationFilter{Kind: fika.ConversationKind(f.kind), Limit: f.limit}
	switch out.Kind {
	case "", fika.Ask, fika.Task, fika.Chat:
	default:
		return out, command.UsageError("--kind is ask, task or chat, not %q", f.kind)
	}
	if f.agent != "" {
		row, err := c.Agents.FindKnown(ctx, f.agent)
		if err != nil {
			return out, err
		}
		out.Agent = row.ID
	}
	return out, nil
}

func toListed(c service.ConversationInfo, active map[fika.ConversationID]bool) listed {
	return listed{
		Name: c.Name, Kind: c.Kind, Agent: command.Optional(c.AgentName), Status: c.Result(), Active: active[c.ID], Paused: c.Paused,
		Messages: c.Messages, Participants: command.EmptyIfNil(c.Participants), LastSeq: c.LastSeq, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
}
