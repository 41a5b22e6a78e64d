package context

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/settings/folder"
)

// logOptions are the flags of context log.
type logOptions struct {
	*command.Env
	last, first int
	since       int64
	all         bool
	json        bool
}

func newLog(e *command.Env) *cobra.Command {
	o := &logOptions{Env: e}
	c := oneContext(e, &cobra.Command{
		Use: "log [NAME]", Short: "show the conversation of a context",
		Long: `Shows the messages that are still in the conversation. --all shows everything:
what was cleared or compacted away, tool calls and their results.

On a terminal the output is a readable page; piped, one entry per line:
seq|timestamp|from|content, with newlines, carriage returns, | and \ in any
field escaped by a backslash.`,
		Example: "  fika context log --last 5\n  fika context log coder --all --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := Find(e, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	})
	f := c.Flags()
	command.LimitFlag(c, &o.last, 0, "show only the last N", "last")
	f.IntVar(&o.first, "first", 0, "show only the first N")
	f.Int64Var(&o.since, "since", 0, "show only what came after this seq")
	f.BoolVar(&o.all, "all", false, "show everything, including archived entries, tool calls and results")
	f.BoolVar(&o.json, "json", false, "print JSON Lines")
	c.MarkFlagsMutuallyExclusive("limit", "first")
	return c
}

func (o *logOptions) run(ctx context.Context, f folder.Folder) error {
	if o.last < 0 || o.first < 0 || o.since < 0 {
		return command.UsageError("--last, --first and --since take numbers from 0")
	}
	who, err := o.Principal()
	if err != nil {
		return err
	}
	r, err := contexts.OpenReader(ctx, o.App(), who, f)
	if err != nil {
		return err
	}
	part := contexts.Part{Archived: o.all, Since: o.since, First: o.first, Last: o.last}
	if !o.all {
		part.Types = []fika.EntryType{fika.Message, fika.Notice}
	}
	p := page.NewPrinter(o.Env, page.Options{JSON: o.json})
	if err := r.Read(ctx, part, p.Entries(ctx)); err != nil {
		return err
	}
	p.End()
	return nil
}
