package context

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/folder"
)

func newPrompt(e *command.Env) *cobra.Command {
	var file string
	var assembled, clearIt bool
	var wait time.Duration
	c := &cobra.Command{
		Use: "prompt [NAME [TEXT...]]", Short: "show or set the system prompt of a context",
		Long: `Shows the system prompt of a context. TEXT or --file sets it; --clear brings
back the default. --assembled shows everything that the model gets, including
summary, goals, todos, reflection and what plugins add.`,
		Example: "  fika context prompt\n  fika context prompt review \"You review Go code.\"\n  fika context prompt review --file prompt.md\n  fika context prompt --assembled",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: complete.FirstOnly(complete.ContextNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := Find(e, args)
			if err != nil {
				if len(args) == 1 && strings.ContainsAny(args[0], " \t\n") {
					return command.UsageError("to set a prompt, name the context first: fika context prompt NAME TEXT")
				}
				return err
			}
			words := strings.Join(args[min(1, len(args)):], " ")
			set := words != "" || file != "" || clearIt
			switch {
			case clearIt && (words != "" || file != ""), set && assembled:
				return command.UsageError("give a text, --file, --clear or --assembled: one of them")
			case assembled:
				text, err := contexts.AssembledPrompt(cmd.Context(), e.App(), f, e.Person())
				if err != nil {
					return err
				}
				return e.PrintText(text)
			case !set:
				return showPrompt(e, f)
			}
			text, err := textFrom(e, words, file)
			if err != nil {
				return err
			}
			return contexts.SetPrompt(cmd.Context(), e.App(), f.Name, text, wait)
		},
	}
	fl := c.Flags()
	fl.StringVar(&file, "file", "", "set it to the contents of this file (- for stdin)")
	fl.BoolVar(&assembled, "assembled", false, "show the whole prompt as the model gets it")
	_ = c.RegisterFlagCompletionFunc("file", complete.FileNames)
	fl.BoolVar(&clearIt, "clear", false, "remove it, so that the default applies again")
	command.WaitFlag(c, &wait)
	return c
}

func showPrompt(e *command.Env, f folder.Folder) error {
	text, from, err := contexts.BasePrompt(e.App(), f)
	if err != nil {
		return err
	}
	if from != f.TextPath(folder.SystemPrompt) {
		e.Say("%s", e.ErrStyle().Dim(fmt.Sprintf("context %q has no prompt of its own; this is %s", f.Name, from)))
	}
	return e.PrintText(text)
}
