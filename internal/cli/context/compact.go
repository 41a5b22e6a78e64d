package context

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/worker"
)

type compactOptions struct {
	*command.Env
	rolling, dryRun, undo, json bool
	model, instructions         string
	wait                        time.Duration
}

func newCompact(e *command.Env) *cobra.Command {
	o := &compactOptions{Env: e}
	c := oneContext(e, &cobra.Command{
		Use: "compact [NAME]", Short: "replace a conversation by a summary",
		Long: `Replaces the conversation of a context by a summary (summary.md), or with
--rolling a part of it: what the model considers settled, otherwise the oldest.
Nothing is deleted: fika context log --all shows it, and --undo undoes the last
compaction. Messages that nobody has read yet stay.

A running agent compacts its context itself, once it has finished its current
work. With auto_compact = true, contexts are compacted automatically.`,
		Example: "  fika context compact --dry-run\n  fika context compact notes --rolling\n  fika context compact notes --instructions 'keep every address'\n  fika context compact notes --undo",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := Find(e, args)
			if err != nil {
				return err
			}
			return command.HeldHint(o.run(cmd.Context(), f.Name))
		},
	})
	f := c.Flags()
	f.BoolVar(&o.rolling, "rolling", false, "replace only a part (rolling_compact_drop_percentage)")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be archived, without asking a model")
	f.BoolVar(&o.undo, "undo", false, "undo the last compaction")
	f.StringVar(&o.instructions, "instructions", "", "what the summary should hold in particular")
	f.StringVarP(&o.model, "model", "m", "", "model that writes the summary (id or nickname)")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	command.WaitFlag(c, &o.wait)
	_ = c.RegisterFlagCompletionFunc("model", complete.ModelNames(e))
	return c
}

func (o *compactOptions) run(ctx context.Context, name fika.AgentName) error {
	if o.undo && (o.rolling || o.dryRun || o.instructions != "") {
		return command.UsageError("--undo goes alone")
	}
	what := worker.Compaction{Rolling: o.rolling, Instructions: o.instructions}
	if o.dryRun {
		in := worker.CompactOptions{Context: name, Compaction: what, DryRun: true, Wait: o.wait, Person: o.Person(), Flags: map[string]string{}}
		done, err := worker.Compact(ctx, o.App(), in)
		if err != nil {
			return err
		}
		if o.json {
			return o.PrintJSON(o.toJSON(name, done.Message()))
		}
		return o.show(done)
	}
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	order := service.CompactionOrder{Compaction: what, Model: o.model, Wait: o.wait, Person: o.Person(), Busy: func(fika.AgentName) {
		o.Say("@%s runs and compacts itself, after what it works on", name)
	}}
	if o.undo {
		undone, repeat, err := c.Agents.UndoCompaction(ctx, name, order)
		switch {
		case repeat:
			o.Say("it was done before, under this key")
		case err == nil:
			o.Say("taken back in context %q: %s", name, undone)
		}
		return err
	}
	done, repeat, err := c.Agents.Compact(ctx, name, order)
	switch {
	case err != nil:
		return err
	case o.json:
		return o.PrintJSON(o.toJSON(name, done))
	case repeat:
		o.Say("it was done before, under this key")
		return nil
	}
	o.Say("compacted context %q: %d entries archived, %d kept; %s (fika context compact %s --undo takes it back)",
		name, len(done.Archived), done.Kept, sizes(done), name)
	return nil
}

func sizes(c service.Compacted) string {
	how := "estimated"
	if c.Counted {
		how = "as the provider counted"
	}
	return fmt.Sprintf("%d tokens before (%s), about %d after", c.Before, how, c.After)
}

func (o *compactOptions) show(c worker.Compacted) error {
	err := o.Table([]string{"SEQ", "FROM", "TYPE", "CONTENT"}, command.TableRows(c.Archived, func(e fika.Entry) []string {
		return []string{fmt.Sprint(e.Seq), term.CleanLine(e.From), string(e.Type), term.Truncate(term.CleanLine(e.Content), 60)}
	}))
	if err != nil {
		return err
	}
	choice := ""
	if o.rolling {
		choice = "; the model may choose others"
	}
	o.Say("would archive %d entries and keep %d; %s, without the new summary%s", len(c.Archived), c.Kept, sizes(c.Message()), choice)
	return nil
}

type compactJSON struct {
	Context  fika.AgentName `json:"context"`
	DryRun   bool           `json:"dry_run"`
	Archived []int64        `json:"archived"` // seqs
	Kept     int            `json:"kept"`
	Before   int64          `json:"tokens_before"`
	Counted  bool           `json:"counted"` // tokens_before is the provider's count
	After    int64          `json:"tokens_after"`
	Summary  *string        `json:"summary"`
	Usage    fika.Usage     `json:"usage"`
}

func (o *compactOptions) toJSON(name fika.AgentName, c service.Compacted) compactJSON {
	return compactJSON{
		Context: name, DryRun: o.dryRun, Kept: c.Kept, Before: c.Before, Counted: c.Counted, After: c.After,
		Summary: command.Optional(c.Summary), Usage: c.Usage, Archived: append([]int64{}, c.Archived...),
	}
}
