package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/agent"
	"fika/internal/cli/budget"
	"fika/internal/cli/bus"
	"fika/internal/cli/chat"
	"fika/internal/cli/command"
	"fika/internal/cli/config"
	contextcmd "fika/internal/cli/context"
	"fika/internal/cli/conversation"
	"fika/internal/cli/executor"
	"fika/internal/cli/key"
	"fika/internal/cli/mcp"
	"fika/internal/cli/model"
	"fika/internal/cli/plugin"
	"fika/internal/cli/project"
	"fika/internal/cli/request"
	"fika/internal/cli/rules"
	"fika/internal/cli/schedule"
	"fika/internal/cli/store"
	"fika/internal/cli/template"
	"fika/internal/cli/workflow"
)

// newRoot makes the command line. Where args are given, it makes of the commands
// below only what they need.
func newRoot(e *command.Env, args ...string) *cobra.Command {
	o := &runOptions{Env: e}
	var version *bool
	root := &cobra.Command{
		Use:   "fika [PROMPT]",
		Short: "language-model agents that work together, on your machine",
		Long: `fika runs language-model agents on your machine. A prompt is answered in the
current context; with the hub running, agents answer each other by @name. Alone
on a terminal, with agents configured, fika opens the session (/help there).

A bare prompt is one argument with a space or punctuation in it, or stdin. A
single word and several words are not taken for a prompt, because they may be a
mistyped command: for those, write fika run WORDS or fika -- WORDS.

` + command.ExitHelp,
		Example: `  fika "why does this fail?" < build.log
  fika run -c notes summarise what we decided
  fika up && fika chat new design && fika chat send design "@arya sketch an API"`,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			e.LastGood = looksOrStops(cmd)
			e.Looks = conductOf(cmd, args) == looks
			config.PointAtForeign(e, cmd)
			return admit(e, cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if *version {
				return printVersion(e)
			}
			if err := checkBarePrompt(cmd, args); err != nil {
				return err
			}
			if meansMaster(e, cmd, args) {
				return openConsole(cmd.Context(), e, masterOptions{})
			}
			if meansSession(e, cmd, args) {
				return chat.Session(cmd.Context(), e)
			}
			return o.run(cmd.Context(), args)
		},
	}
	root.PersistentFlags().StringVar(&e.Home, "home", "", "folder that holds everything (default $FIKA_HOME, else the project's, else ~/.fika)")
	o.flags(root)
	version = versionFlag(root)
	root.CompletionOptions.SetDefaultShellCompDirective(command.NoFiles)
	_ = root.RegisterFlagCompletionFunc("home", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return command.UsageError("%v; see %s --help", err, cmd.CommandPath())
	})
	if alone := commandAlone(e, args); alone != nil {
		root.AddCommand(alone)
	} else {
		root.AddCommand(commands(e)...)
	}
	groupHelp(root)
	return root
}

// commandAlone makes the command that args begin with, if it is one of those that
// programs and agents run again and again: to make all of them takes a tenth of what
// the shortest of these takes. nil: all are needed.
func commandAlone(e *command.Env, args []string) *cobra.Command {
	if len(args) == 0 {
		return nil
	}
	switch args[0] {
	case "run":
		return newRun(e)
	case "ask":
		return newAsk(e)
	case "task":
		return newTask(e)
	case "chat":
		return chat.New(e)
	case "agent":
		return agent.New(e)
	case "request":
		return request.New(e)
	case "status":
		return newStatus(e)
	case "version":
		return newVersion(e)
	}
	return nil
}

// commands are all nouns and verbs below the root.
func commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{
		newDemo(e), newRun(e), contextcmd.New(e), plugin.New(e), mcp.New(e), chat.New(e), newAsk(e), newTask(e), newRoute(e), request.New(e), newUp(e), newDown(e), agent.New(e), executor.New(e), newMaster(e), newMonitor(e), newStatus(e), newUsage(e), budget.New(e), bus.New(e), newTrace(e), newProfile(e), newTop(e), conversation.New(e), config.New(e), model.New(e), workflow.New(e), schedule.New(e), key.New(e), store.New(e), newBackup(e), newRestore(e), newApprove(e), newUndo(e), rules.New(e), newInit(e), newTrust(e), project.New(e), template.New(e), newDoctor(e), newCompletion(e), newVersion(e),
	}
}

// seedSpellings translates flags that stand for commands: --master,
// --agent-mode --agent-name X, --migrate-config.
func seedSpellings(args []string) []string {
	if len(args) == 0 {
		return args
	}
	switch args[0] {
	case "--master":
		return append([]string{"master"}, args[1:]...)
	case "--migrate-config":
		return append([]string{"config", "migrate"}, args[1:]...)
	case "--agent-mode":
		out := []string{"agent", "run"}
		for i := 1; i < len(args); i++ {
			if name, ok := strings.CutPrefix(args[i], "--agent-name="); ok {
				out = append(out, name)
			} else if args[i] != "--agent-name" {
				out = append(out, args[i])
			}
		}
		return out
	}
	return args
}
