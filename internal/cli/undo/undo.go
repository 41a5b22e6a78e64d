package undo

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/repository/undo"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/changes"
)

type undoOptions struct {
	*command.Env
	list, dry, diff, yes, json bool
	limit                      int
}

// New returns the command fika undo.
func New(e *command.Env) *cobra.Command {
	o := undoOptions{Env: e}
	c := &cobra.Command{
		Use: "undo [REQUEST]", Short: "undo an agent's changes to files, or make them again",
		Long: `Undoes what one request changed with edit and create: the request you name, or
the last one that changed files in this folder. Run again, the command makes the
changes again. The previous contents are kept for 30 days.

A file that somebody has changed since is left as it is, and named; the exit
status is then 1. What commands (bash, plugins) changed is not undone: in a git
repository those files are named. Files outside the agent's workspace, and files
that tools may not write, are left alone. Agents are not notified.`,
		Example: "  fika undo\n  fika undo --diff      # only look at what was changed\n  fika undo --list\n  fika undo 01a1fd6e -y",
		Args:    command.AtMostOne("a request"), ValidArgsFunction: complete.FirstOnly(completeUndo(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	c.Flags().BoolVar(&o.list, "list", false, "list the requests that changed files, the last one first")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "report what would become of every file, and do nothing")
	c.Flags().BoolVar(&o.diff, "diff", false, "show what was changed, and do nothing")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	command.LimitFlag(c, &o.limit, 20, "list at most this many")
	c.MarkFlagsMutuallyExclusive("list", "dry-run", "diff", "yes")
	c.MarkFlagsMutuallyExclusive("json", "diff")
	return c
}

func (o undoOptions) run(ctx context.Context, args []string) error {
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	if o.list {
		if len(args) > 0 {
			return command.UsageError("--list takes no request")
		}
		return o.printList(ctx, c)
	}
	x, err := o.find(ctx, c, args)
	if err != nil {
		return err
	}
	switch {
	case o.diff:
		return o.print(append([]string{changes.Title(x, o.Now())}, changes.Differences(c.Undo().Differences(x), o.look())...))
	case o.dry && o.json:
		return o.PrintJSON(toUndoJSON(x, false))
	case o.dry:
		return o.print(changes.PlanLines(x, o.look()))
	case changes.NothingToDo(x):
		if o.json {
			_ = o.PrintJSON(toUndoJSON(x, false))
		} else {
			o.say(changes.PlanLines(x, o.look()))
		}
		return changes.NothingError(x)
	}
	return o.apply(ctx, c, x)
}

// apply asks the person, undoes the changes or makes them again, and prints the result.
// It fails if it left files as they are.
func (o undoOptions) apply(ctx context.Context, c *service.Service, x service.Undoing) error {
	if !o.yes {
		o.say(changes.PlanLines(x, o.look()))
		if err := o.Confirm("do it"); err != nil {
			return err
		}
	}
	newer := x.Newer
	x, err := c.Undo().Apply(ctx, x.Turn.Request)
	if err != nil {
		return err
	}
	x.Newer = newer
	if o.json {
		err = o.PrintJSON(toUndoJSON(x, true))
	} else {
		err = o.print(changes.OutcomeLines(x, o.look()))
		o.Say("run fika undo %s again to redo; agents are not notified", changes.ShortID(x.Turn.Request))
	}
	if err != nil {
		return err
	}
	return changes.LeftError(x)
}

func (o undoOptions) find(ctx context.Context, c *service.Service, args []string) (service.Undoing, error) {
	if len(args) == 0 {
		return c.Undo().NewestIn(ctx, o.App().Dir())
	}
	return c.Undo().Find(ctx, args[0])
}

func (o undoOptions) look() changes.Look {
	return changes.Look{Style: o.OutStyle(), Width: o.Width, Now: o.Now()}
}

func (o undoOptions) print(lines []string) error {
	_ = o.Print(strings.Join(lines, "\n") + "\n")
	return o.CheckWritten("")
}

// say writes lines to stderr.
func (o undoOptions) say(lines []string) { o.Say("%s", strings.Join(lines, "\n")) }

func (o undoOptions) printList(ctx context.Context, c *service.Service) error {
	list, err := c.Undo().List(ctx, o.limit)
	if err != nil {
		return err
	}
	if o.json {
		return command.PrintLines(o.Env, list, func(x service.Undoing) undoJSON { return toUndoJSON(x, false) })
	}
	infos := make([]service.RequestInfo, len(list))
	for i, x := range list {
		infos[i] = x.Info
	}
	about, err := c.Requests.About(ctx, infos...)
	if err != nil {
		return err
	}
	return o.Table([]string{"REQUEST", "AGENT", "CHANGED", "FILES", "STATE", "PROMPT"}, command.TableRows(list, func(x service.Undoing) []string {
		return []string{changes.ShortID(x.Turn.Request), string(x.Turn.Agent), term.Ago(x.Turn.LastChange(), o.Now()), changes.CountFiles(x), changes.StateText(x), term.Truncate(term.CleanLine(about[x.Info.ID]), 40)}
	}))
}

// undoJSON is what becomes, or has become, of a request's changes, as --json prints it.
type undoJSON struct {
	Request   fika.RequestID  `json:"request"`
	Agent     fika.AgentName  `json:"agent"`
	Workspace string          `json:"workspace"`
	ChangedAt time.Time       `json:"changed_at"`
	Redo      bool            `json:"redo"`
	Done      bool            `json:"done"`
	Files     []undoFileJSON  `json:"files"`
	Commands  undoCommandJSON `json:"commands"`
}

type undoFileJSON struct {
	Path   string      `json:"path"`
	Action undo.Action `json:"action"`
	Why    *string     `json:"why"`
}

type undoCommandJSON struct {
	Ran     bool     `json:"ran"`
	Changed []string `json:"changed"`
	Notes   []string `json:"notes"`
}

func toUndoJSON(x service.Undoing, done bool) undoJSON {
	j := undoJSON{
		Request: x.Turn.Request, Agent: x.Turn.Agent, Workspace: x.Turn.Workspace, ChangedAt: x.Turn.LastChange().UTC(), Redo: x.Redo, Done: done,
		Files: []undoFileJSON{}, Commands: undoCommandJSON{Changed: []string{}, Notes: []string{}},
	}
	for _, i := range x.Items {
		j.Files = append(j.Files, undoFileJSON{i.Path, i.Do, command.Optional(i.Why)})
	}
	ran, changed, notes := x.Turn.Commands()
	j.Commands.Ran = ran
	j.Commands.Changed = append(j.Commands.Changed, changed...)
	j.Commands.Notes = append(j.Commands.Notes, notes...)
	return j
}

// completeUndo completes the ids of requests whose changes are kept.
func completeUndo(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.ServiceOffline(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		list, _ := c.Undo().List(cmd.Context(), 20)
		for _, x := range list {
			out = append(out, cobra.CompletionWithDesc(string(x.Turn.Request), changes.Title(x, e.Now())))
		}
		return out, complete.NoFiles
	}
}
