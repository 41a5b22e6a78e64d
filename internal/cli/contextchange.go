package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/contexts"
	"fika/internal/folder"
)

func newContextPrompt(e *env) *cobra.Command {
	var file string
	var assembled, clearIt bool
	var wait time.Duration
	c := &cobra.Command{
		Use: "prompt [NAME [TEXT...]]", Short: "show or set the system prompt of a context",
		Long: `Shows the system prompt of a context; with a text or --file it sets it, with
--clear the default one counts again. --assembled shows all that the model gets:
with summary, goals, todos, reflection and what plugins put in.`,
		Example: "  fika context prompt\n  fika context prompt review \"You review Go code.\"\n  fika context prompt review --file prompt.md\n  fika context prompt --assembled",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: first(e.completeContexts),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := e.findContext(args)
			if err != nil {
				if len(args) == 1 && strings.ContainsAny(args[0], " \t\n") {
					return usageError("to set a prompt, name the context first: fika context prompt NAME TEXT")
				}
				return err
			}
			words := strings.Join(args[min(1, len(args)):], " ")
			set := words != "" || file != "" || clearIt
			switch {
			case clearIt && (words != "" || file != ""), set && assembled:
				return usageError("give a text, --file, --clear or --assembled: one of them")
			case assembled:
				text, err := contexts.AssembledPrompt(cmd.Context(), e.open(), f, e.person())
				if err != nil {
					return err
				}
				return e.printText(text)
			case !set:
				return e.showPrompt(f)
			}
			text, err := e.textFrom(words, file)
			if err != nil {
				return err
			}
			return contexts.SetPrompt(cmd.Context(), e.open(), f.Name, text, wait)
		},
	}
	fl := c.Flags()
	fl.StringVar(&file, "file", "", "set it to what this file holds (- for stdin)")
	fl.BoolVar(&assembled, "assembled", false, "show the whole prompt as the model gets it")
	_ = c.RegisterFlagCompletionFunc("file", files)
	fl.BoolVar(&clearIt, "clear", false, "take it away: the default counts again")
	waitFlag(c, &wait)
	return c
}

func (e *env) showPrompt(f folder.Folder) error {
	text, from, err := contexts.BasePrompt(e.open(), f)
	if err != nil {
		return err
	}
	if from != f.TextPath(folder.SystemPrompt) {
		e.say("%s", e.ErrStyle().Dim(fmt.Sprintf("context %q has no prompt of its own; this is %s", f.Name, from)))
	}
	return e.printText(text)
}

func (e *env) printText(text string) error {
	return e.answerText(strings.TrimRight(text, "\n"), false)
}

func newContextClear(e *env) *cobra.Command {
	var wait time.Duration
	c := e.oneContext(&cobra.Command{
		Use: "clear [NAME]", Short: "begin the conversation of a context anew",
		Long: `Takes everything said so far out of the conversation and empties the summary.
Nothing is deleted: fika context log --all still shows it.`,
		Example: "  fika context clear\n  fika context clear review",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := e.findContext(args)
			if err != nil {
				return err
			}
			n, err := contexts.Clear(cmd.Context(), e.open(), f.Name, wait, e.person())
			switch {
			case err != nil:
				return heldHint(err)
			case n == 0:
				e.say("context %q has no messages now", f.Name)
			default:
				e.say("cleared context %q: %d messages are out of the conversation (fika context compact %s --undo takes that back)", f.Name, n, f.Name)
			}
			return nil
		},
	})
	waitFlag(c, &wait)
	return c
}

func newContextRename(e *env) *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: "rename OLD NEW", Short: "give a context another name", Example: "  fika context rename 20260301_101500 parser",
		Args: exactly(2, "the old and the new name"), ValidArgsFunction: first(e.completeContexts),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			to, err := fika.ParseAgentName(args[1])
			if err != nil {
				return err
			}
			if from == to {
				return usageError("that is its name already")
			}
			err = contexts.Rename(cmd.Context(), e.open(), from, to, wait, e.person())
			if fika.IsKind(err, fika.NotFound) {
				if h, herr := e.open().Home(); herr == nil {
					return e.noContext(h, from, "")
				}
			}
			if err != nil {
				return heldHint(err)
			}
			e.say("renamed context %q to %q", from, to)
			return nil
		},
	}
	waitFlag(c, &wait)
	return c
}

func newContextDelete(e *env) *cobra.Command {
	var yes bool
	var wait time.Duration
	c := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "delete a context with all that was said in it",
		Long: `Deletes a context: its folder, its conversations and its agent. What it said in
chats stays. Asks first; without a terminal, or for the current context, --yes
has to say it.`,
		Example: "  fika context delete scratch\n  fika context delete scratch --yes",
		Args:    exactly(1, "the name of a context"), ValidArgsFunction: first(e.completeContexts),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			if err := e.mayDelete(name, yes); err != nil {
				return err
			}
			err = contexts.Delete(cmd.Context(), e.open(), name, wait, e.person())
			if fika.IsKind(err, fika.NotFound) {
				if h, herr := e.open().Home(); herr == nil {
					return e.noContext(h, name, "")
				}
			}
			if err != nil {
				return heldHint(err)
			}
			e.say("deleted context %q", name)
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	waitFlag(c, &wait)
	return c
}

func (e *env) mayDelete(name fika.AgentName, yes bool) error {
	h, err := e.open().Home()
	if err != nil {
		return err
	}
	current, err := e.currentContext()
	if err != nil {
		return err
	}
	_, err = folder.OpenFolder(h, name)
	switch {
	case fika.IsKind(err, fika.NotFound):
		return nil // the deletion says so, or removes what is left of its agent
	case err != nil:
		return err
	case name == current && !yes:
		return usageError("%q is the current context: switch to another one first, or say --yes", name)
	}
	if yes {
		return nil
	}
	return e.confirm(fmt.Sprintf("delete context %q and all that was said in it", name))
}

func newContextImport(e *env) *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: "import NAME PATH", Short: "take over a context folder from elsewhere",
		Long: `Takes over the entries and texts of a context folder: one that fika exported, or
one of another program in the same format. The context is made if it is missing.
Entries that are here already are not taken twice; texts that are here stay.`,
		Example: "  fika context import parser ~/backup/parser",
		Args:    exactly(2, "a name and a folder"), ValidArgsFunction: inOrder(e.completeContexts, files),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			got, err := contexts.Import(cmd.Context(), e.open(), name, args[1], wait, e.person())
			if err != nil {
				return heldHint(err)
			}
			for _, n := range got.Notes {
				e.warn(n)
			}
			e.say("imported %d of %d entries into context %q", got.New, got.Entries, name)
			if got.Unread > 0 {
				e.say("%d unread messages came along; its next turn reads them", got.Unread)
			}
			return nil
		},
	}
	waitFlag(c, &wait)
	return c
}

func newContextExport(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "export NAME PATH", Short: "write a copy of a context into a new folder",
		Long: `Writes the entries and texts of a context into a new folder, from which any fika
can make it again: with fika context import, or put into its contexts folder.`,
		Example: "  fika context export parser ~/backup/parser",
		Args:    exactly(2, "a name and a folder that does not exist yet"), ValidArgsFunction: inOrder(e.completeContexts, files),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := e.findContext(args[:1])
			if err != nil {
				return err
			}
			n, err := contexts.Export(cmd.Context(), e.open(), f.Name, args[1])
			if err != nil {
				return err
			}
			e.say("exported context %q with %d entries to %s", f.Name, n, args[1])
			return nil
		},
	}
}

func newContextUnlock(e *env) *cobra.Command {
	var o folder.UnlockOptions
	c := &cobra.Command{
		Use: "unlock NAME", Short: "end a process that holds a context and is silent",
		Long: `Ends the process that holds a context when it has given no sign of life for one
and a half heartbeats; a lock whose process is gone needs nothing. --force also
ends one that is alive.`,
		Example: "  fika context unlock coder",
		Args:    exactly(1, "the name of a context"), ValidArgsFunction: first(e.completeContexts),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := e.findContext(args)
			if err != nil {
				return err
			}
			before, err := f.Inspect()
			if err != nil {
				return err
			}
			ended, err := f.Unlock(cmd.Context(), o)
			switch {
			case err != nil && before.Status == folder.LockActive && fika.IsKind(err, fika.Locked):
				return fika.Errorf(fika.Locked, "", "context %q is in use by process %d (%s), which is alive; --force ends it all the same", f.Name, before.Info.PID, before.Info.Kind)
			case err != nil:
				return err
			case ended:
				e.say("ended process %d (%s); context %q is free", before.Info.PID, before.Info.Kind, f.Name)
			case before.Status == folder.LockStale:
				e.say("process %d is gone already; the next prompt takes context %q over", before.Info.PID, f.Name)
			default:
				e.say("context %q is free", f.Name)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&o.Force, "force", false, "also end a process that is alive")
	return c
}
