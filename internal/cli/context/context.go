package context

import (
	"fmt"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/settings/folder"
	"fika/internal/text/hint"
)

// New returns the command fika context.
func New(e *command.Env) *cobra.Command {
	return command.Group("context", "manage contexts: list, new, switch, show, log, prompt, …",
		"A context is an agent's folder with its ongoing conversation. One context is\ncurrent: prompts go there unless -c names another.\n\n"+command.ExitHelp,
		"  fika context list\n  fika context switch new:review\n  fika context show",
		newList(e), newNew(e), newSwitch(e), newShow(e), newLog(e), newSend(e), newPrompt(e),
		newRename(e), newDelete(e), newClear(e), newCompact(e), newImport(e), newExport(e), newUnlock(e))
}

// Find opens the context that a person named, or the current one. The current context
// is found even if it does not exist yet; for any other missing context, Find fails
// with NotFound and suggests the nearest spelling.
func Find(e *command.Env, args []string) (folder.Folder, error) {
	h, err := e.App().Home()
	if err != nil {
		return folder.Folder{}, err
	}
	current, err := e.CurrentContext()
	if err != nil {
		return folder.Folder{}, err
	}
	name := current
	if len(args) > 0 {
		if name, err = fika.ParseAgentName(args[0]); err != nil {
			return folder.Folder{}, err
		}
	}
	f, err := folder.OpenFolder(h, name)
	if fika.IsKind(err, fika.NotFound) {
		if name == current {
			return h.Folder(name), nil
		}
		return f, noContext(e, h, name, hint.ContextList)
	}
	return f, err
}

// noContext returns the error for a context that does not exist, with the command that helps.
func noContext(e *command.Env, h folder.Home, name fika.AgentName, helps hint.Command) error {
	msg := fmt.Sprintf("context %q not found", name)
	if near := e.NearContext(h, name); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return fika.WithHint(fika.Errorf(fika.NotFound, "", "%s", msg), helps)
}

// oneContext makes c complete and check its optional argument NAME.
func oneContext(e *command.Env, c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = complete.FirstOnly(complete.ContextNames(e))
	c.Args = command.AtMostOne("the name of a context")
	return c
}
