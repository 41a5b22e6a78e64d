package context

import (
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/folder"
	"fika/internal/text/hint"
)

func newSwitch(e *command.Env) *cobra.Command {
	var create bool
	c := &cobra.Command{
		Use: "switch NAME|-|new[:PREFIX]", Short: "make another context current",
		Long: `Makes a context current. - is the previous one; new makes one named after the
time, YYYYMMDD_HHMMSS, and new:PREFIX puts PREFIX_ before that. A name that does
not exist is an error unless --create is given.`,
		Example: "  fika context switch review\n  fika context switch -\n  fika context switch new:bug",
		Args:    command.Exactly(1, "a name, - or new"), ValidArgsFunction: complete.FirstOnly(complete.ContextNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := switchTarget(e, cmd, args[0], create)
			if err != nil {
				return err
			}
			return switchTo(e, cmd, name)
		},
	}
	c.Flags().BoolVarP(&create, "create", "C", false, "create the context if it does not exist")
	return c
}

func switchTarget(e *command.Env, cmd *cobra.Command, word string, create bool) (fika.AgentName, error) {
	h, err := e.App().Home()
	if err != nil {
		return "", err
	}
	who, err := e.Principal()
	if err != nil {
		return "", err
	}
	prefix, fresh := strings.CutPrefix(word, "new:")
	switch {
	case fresh && prefix == "":
		return "", command.UsageError("new: needs a prefix after the colon (or leave the colon out)")
	case fresh || word == "new":
		if word == "new" {
			prefix = ""
		}
		return contexts.CreateDated(cmd.Context(), e.App(), prefix, contexts.CreateOptions{Who: who})
	case word == "-":
		state, err := h.State()
		if err == nil && state.Previous == "" {
			err = fika.Errorf(fika.NotFound, "", "there is no previous context to switch back to")
		}
		return state.Previous, err
	}
	name, err := fika.ParseAgentName(word)
	if err != nil {
		return "", err
	}
	if _, err = folder.OpenFolder(h, name); !fika.IsKind(err, fika.NotFound) {
		return name, err
	}
	if create || name == folder.DefaultContext {
		_, err := contexts.Create(cmd.Context(), e.App(), name, contexts.CreateOptions{Who: who, IfMissing: true})
		return name, err
	}
	return "", noContext(e, h, name, hint.Command(hint.ContextSwitchCreate.With(name)))
}

func switchTo(e *command.Env, cmd *cobra.Command, name fika.AgentName) error {
	before, err := contexts.Switch(cmd.Context(), e.App(), name, e.Person())
	if err != nil {
		return err
	}
	if before == name {
		e.Say("context %q is current already", name)
		return nil
	}
	e.Say("switched from %q to %q", before, name)
	return nil
}
