package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/term"
)

func newConversation(e *env) *cobra.Command {
	return group("conversation", "look at all conversations: list, show, search",
		"Every conversation is kept: asks (an agent's ongoing ones), tasks (one request\neach) and chats (shared; fika chat has more for them).",
		"  fika conversation list --kind task\n  fika conversation search \"port already in use\"",
		newConversationList(e), newConversationShow(e), newConversationSearch(e))
}

type conversationJSON struct {
	Name         fika.ConversationName `json:"name"`
	Kind         fika.ConversationKind `json:"kind"`
	Agent        *fika.AgentName       `json:"agent"`  // null: of a chat
	Status       string                `json:"status"` // active, completed, or how a task failed
	Active       bool                  `json:"active"` // of an ask: the one the next ask goes on with
	Paused       bool                  `json:"paused"`
	Messages     int                   `json:"messages"`
	Participants []string              `json:"participants"` // of a chat
	LastSeq      int64                 `json:"last_seq"`
	CreatedAt    time.Time             `json:"created_at"`
	UpdatedAt    time.Time             `json:"updated_at"`
}

// conversationFilter are the flags that narrow lists and searches.
type conversationFilter struct {
	kind, agent string
	limit       int
}

func (f *conversationFilter) flags(e *env, c *cobra.Command, limit int) {
	c.Flags().StringVar(&f.kind, "kind", "", "only ask, task or chat")
	c.Flags().StringVar(&f.agent, "agent", "", "only those of this agent")
	c.Flags().IntVar(&f.limit, "limit", limit, "at most this many")
	_ = c.RegisterFlagCompletionFunc("agent", e.completeAgents)
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"ask", "task", "chat"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *conversationFilter) query(ctx context.Context, c *client.Client) (client.ConversationFilter, error) {
	out := client.ConversationFilter{Kind: fika.ConversationKind(f.kind), Limit: f.limit}
	switch out.Kind {
	case "", fika.Ask, fika.Task, fika.Chat:
	default:
		return out, usageError("--kind is ask, task or chat, not %q", f.kind)
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

func newConversationList(e *env) *cobra.Command {
	var f conversationFilter
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list conversations, newest first", Example: "  fika conversation list --agent coder", Args: exactly(0, "no arguments"),
		Long: "Lists conversations, newest first. A * marks the ask conversation that an\nagent's next ask goes on with.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := e.reader(ctx)
			if err != nil {
				return err
			}
			filter, err := f.query(ctx, c)
			if err != nil {
				return err
			}
			list, err := c.Conversations.List(ctx, filter)
			if err != nil {
				return err
			}
			active, err := c.Conversations.Active(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, list, func(c client.ConversationInfo) conversationJSON { return toConversationJSON(c, active) })
			}
			return e.Table([]string{"CONVERSATION", "KIND", "AGENT", "STATUS", "MESSAGES", "UPDATED"}, rows(list, func(c client.ConversationInfo) []string {
				name := string(c.Name)
				if active[c.ID] {
					name += " *"
				}
				who := string(c.AgentName)
				if who == "" {
					who = strings.Join(c.Participants, ", ")
				}
				return []string{name, string(c.Kind), who, c.Result(), fmt.Sprint(c.Messages), term.Ago(c.UpdatedAt, e.now())}
			}))
		},
	}
	f.flags(e, c, 50)
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

func toConversationJSON(c client.ConversationInfo, active map[fika.ConversationID]bool) conversationJSON {
	return conversationJSON{
		Name: c.Name, Kind: c.Kind, Agent: optional(c.AgentName), Status: c.Result(), Active: active[c.ID], Paused: c.Paused,
		Messages: c.Messages, Participants: emptyIfNil(c.Participants), LastSeq: c.LastSeq, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
}

func newConversationShow(e *env) *cobra.Command {
	var asJSON, all, raw bool
	var limit int
	c := &cobra.Command{
		Use: "show CONVERSATION", Short: "print a conversation", Args: exactly(1, "the name of a conversation"), ValidArgsFunction: first(e.completeConversations),
		Long:    "Prints the messages and notices of a conversation; --all adds what tools were\ncalled with and said. An agent's name stands for its ongoing conversation.",
		Example: "  fika conversation show task_coder_20260102-101530 --all\n  fika conversation show coder",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.reader(ctx)
			if err != nil {
				return err
			}
			conv, err := c.Conversations.Find(ctx, args[0])
			if err != nil {
				return err
			}
			q := client.EntryQuery{Conversation: conv.ID, Last: limit}
			if !all {
				q.Types = []fika.EntryType{fika.Message, fika.Notice}
			}
			entries, err := c.Conversations.Entries(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, entries, func(x fika.Entry) fika.Entry { return x })
			}
			return e.showEntries(entries, raw)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	c.Flags().BoolVar(&all, "all", false, "tool calls, results and compactions too")
	rawFlag(c, &raw)
	c.Flags().IntVar(&limit, "limit", 0, "only the last N")
	return c
}

// showEntries prints entries for a person to read.
func (e *env) showEntries(entries []fika.Entry, raw bool) error {
	style := e.OutStyle()
	clean := term.Clean
	if raw {
		clean = func(s string) string { return s }
	}
	for _, x := range entries {
		head := style.Speaker(x.From, clean(x.From))
		switch x.Type {
		case fika.ToolCall:
			head += style.Dim(" calls " + clean(x.To))
		case fika.ToolResult:
			head += style.Dim(" says")
		case fika.Notice, fika.Compaction:
			head = style.Yellow(string(x.Type))
		}
		about := style.Dim(fmt.Sprintf("#%d %s", x.Seq, x.At.Local().Format(time.DateTime)))
		if err := e.printf("%s %s\n%s\n\n", head, about, clean(strings.TrimRight(x.Content, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

type foundJSON struct {
	Conversation fika.ConversationName `json:"conversation"`
	Snippet      string                `json:"snippet"`
	Entry        fika.Entry            `json:"entry"`
}

func newConversationSearch(e *env) *cobra.Command {
	var f conversationFilter
	var asJSON bool
	c := &cobra.Command{
		Use: "search WORDS...", Short: "find entries by their words, newest first", ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  fika conversation search \"error handling\" --agent coder", Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usageError("search for what? fika conversation search WORDS")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.reader(ctx)
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
				if err := printLines(e, found, func(x client.Found) foundJSON { return foundJSON{x.ConversationName, x.Snippet, x.Entry} }); err != nil {
					return err
				}
			}
			if len(found) == 0 {
				return fika.Errorf(fika.NotFound, "", "nothing has these words: %s", strings.Join(args, " "))
			}
			if asJSON {
				return nil
			}
			return e.Table([]string{"CONVERSATION", "SEQ", "FROM", "WHEN", "TEXT"}, rows(found, func(x client.Found) []string {
				return []string{string(x.ConversationName), fmt.Sprint(x.Seq), x.From, term.Ago(x.At, e.now()), term.CleanLine(x.Snippet)}
			}))
		},
	}
	f.flags(e, c, 30)
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}
