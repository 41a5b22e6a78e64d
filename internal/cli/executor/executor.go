package executor

import (
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/daemon"
)

// New returns the command fika executor.
func New(e *command.Env) *cobra.Command {
	var byHub bool
	c := &cobra.Command{
		Use:   "executor NAME",
		Short: "run the commands of agents in their place",
		Long: `Runs the process of an executor in this terminal and shows what it runs. Agents
whose settings name the executor (executor) give it the commands that their
models ask for (bash), and what these do to files (read, list, edit, create).
The executor judges each call by the database and the settings, runs it as the
user of its [[executors]] entry, commands in the sandbox, and writes the result
back.

The hub starts and supervises the executors that agents name, so this command is
needed only where no hub runs. Ctrl-C ends the executor when its current calls
are done; if it is killed, it settles the calls that were running when it starts
again.`,
		Example: "  fika executor box",
		Args:    command.Exactly(1, "the name of an executor"), ValidArgsFunction: complete.FirstOnly(completeExecutors(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return fika.Errorf(fika.Invalid, "", "%s", strings.Replace(err.Error(), "agent name", "name of an executor", 1))
			}
			e.LastGood = byHub
			ctx, release := command.EndOnSignals(cmd.Context(), func(func(func(fika.Desired))) {}) // an executor ends in one way only
			defer release()
			return daemon.RunExecutor(ctx, e.App(), daemon.ExecutorOptions{Name: string(name), ByHub: byHub, Tell: func(line string) { e.Say("%s", line) }})
		},
	}
	c.Flags().BoolVar(&byHub, "by-hub", false, "started by the hub")
	_ = c.Flags().MarkHidden("by-hub")
	return c
}

// completeExecutors completes the executors that the settings define.
func completeExecutors(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.App().Config()
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, x := range c.Executors {
			out = append(out, complete.WithAbout(x.Name, runsAs(x.User)))
		}
		return out, complete.NoFiles
	}
}

func runsAs(user string) string {
	if user == "" {
		return ""
	}
	return "as " + user
}
