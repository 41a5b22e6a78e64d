package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/page"
	"fika/internal/service"
)

func newCompact(e *command.Env) *cobra.Command {
	var instructions string
	var asJSON bool
	c := &cobra.Command{
		Use: "compact CHAT [AGENT]", Short: "replace what agents see of a chat by a summary",
		Long: `Replaces the older part of what each agent of the chat sees by a summary that its
model writes; with AGENT, only what that agent sees. The newest turns, pinned
messages, messages that wait for an answer and calls that wait for an approval stay.
Nothing is deleted: people see everything, and fika conversation search finds it.

An agent that works on something is compacted after its turn. The exit status is
1 if there is nothing to compact, or if an agent could not be compacted.`,
		Example: "  fika chat compact design\n  fika chat compact design coder --instructions 'keep every address'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return command.UsageError("%s takes a chat and perhaps an agent, but got %s; see %s --help", cmd.CommandPath(), command.CountedArgs(len(args)), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: complete.InOrder(complete.ChatNames(e), complete.AgentsOfChat(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return compact(cmd.Context(), e, args, instructions, asJSON)
		},
	}
	c.Flags().StringVar(&instructions, "instructions", "", "what the summary should hold in particular")
	command.JSONFlag(c, &asJSON)
	return c
}

func compact(ctx context.Context, e *command.Env, args []string, instructions string, asJSON bool) error {
	var conv fika.Conversation
	var only fika.AgentName
	o := service.CompactionOrder{
		Compaction: service.Compaction{Instructions: instructions}, Person: e.Person(),
		Busy: func(name fika.AgentName) { e.Say("@%s compacts in its own process, after any running turn", name) },
	}
	c, err := e.ServiceFor(ctx, func(c *service.Service) (err error) {
		if conv, err = c.Chats.Find(ctx, args[0]); err != nil || len(args) == 1 {
			return err
		}
		row, err := c.Agents.FindKnown(ctx, args[1])
		only = row.Name
		return err
	})
	if err != nil {
		return err
	}
	done, err := c.ChatControl.Compact(ctx, conv, only, o)
	if err != nil {
		return err
	}
	if asJSON {
		if err := e.PrintJSON(compactedJSON(conv, done)); err != nil {
			return err
		}
	}
	return compactTrouble(e, conv, done, asJSON)
}

// compactTrouble shows what was done. It fails if an agent could not be compacted, or if
// there was nothing to compact for any.
func compactTrouble(e *command.Env, conv fika.Conversation, done []service.ChatCompacted, quiet bool) error {
	var wrong []error
	compacted := 0
	for _, d := range done {
		switch {
		case d.Err == nil:
			compacted++
		case !fika.IsKind(d.Err, fika.Conflict):
			wrong = append(wrong, fmt.Errorf("@%s: %w", d.Agent, command.HeldHint(d.Err)))
			continue
		}
		if !quiet {
			e.Say("%s", page.Compacted(d))
		}
	}
	if compacted == 0 && len(wrong) == 0 {
		return fika.Errorf(fika.Conflict, "", "nothing to compact in %q", conv.Name)
	}
	return errors.Join(wrong...)
}

type chatCompactJSON struct {
	Chat   fika.ConversationName `json:"chat"`
	Agents []viewJSON            `json:"agents"`
}

// viewJSON is what became of one agent's view.
type viewJSON struct {
	Agent     fika.AgentName `json:"agent"`
	Compacted bool           `json:"compacted"`
	Error     *string        `json:"error"`    // why it was not compacted
	Archived  []int64        `json:"archived"` // seqs
	Kept      int            `json:"kept"`
	Before    int64          `json:"tokens_before"` // estimated, as is tokens_after
	After     int64          `json:"tokens_after"`
	Summary   *string        `json:"summary"`
	Input     int64          `json:"input_tokens"` // of the calls that wrote the summary
	Output    int64          `json:"output_tokens"`
	Estimated bool           `json:"estimated"` // the provider reported no tokens
	CostUSD   *float64       `json:"cost_usd"`  // null: the price is not known
}

func compactedJSON(conv fika.Conversation, done []service.ChatCompacted) chatCompactJSON {
	out := chatCompactJSON{Chat: conv.Name, Agents: []viewJSON{}}
	for _, d := range done {
		v := viewJSON{
			Agent: d.Agent, Compacted: d.Err == nil, Archived: []int64{}, Kept: d.Kept, Before: d.Before, After: d.After,
			Summary: command.Optional(d.Summary), Input: d.Usage.Input, Output: d.Usage.Output, Estimated: d.Usage.Estimated,
		}
		v.Archived = append(v.Archived, d.Archived...)
		if d.Err != nil {
			v.Error = command.Optional(d.Err.Error())
		}
		if usd := float64(d.Usage.Cost) / 1e6; !d.Usage.Unpriced {
			v.CostUSD = &usd
		}
		out.Agents = append(out.Agents, v)
	}
	return out
}
