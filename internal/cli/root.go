package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

func newRoot(e *env) *cobra.Command {
	o := &runOptions{env: e}
	var version *bool
	root := &cobra.Command{
		Use:   "fika [PROMPT]",
		Short: "language-model agents that work together, on your machine",
		Long: `fika runs language-model agents on your machine. A prompt is answered in the
current context; with the hub running, agents answer each other by @name.

A bare prompt is one argument with a space or punctuation in it, or stdin. A
single word and several words are not taken for a prompt, because they may be a
mistyped command: for those, write fika run WORDS or fika -- WORDS.

` + exitHelp,
		Example: `  fika "why does this fail?" < build.log
  fika run -c notes summarise what we decided
  fika up && fika chat new design && fika chat send design "@arya sketch an API"`,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			e.lastGood = looksOrStops(cmd)
			e.looks = conductOf(cmd, args) == looks
			e.pointAtForeign(cmd)
			return e.admit(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if *version {
				return e.printVersion()
			}
			if err := checkBarePrompt(cmd, args); err != nil {
				return err
			}
			if e.meansMaster(cmd, args) {
				return e.master(cmd.Context(), masterOptions{})
			}
			return o.run(cmd.Context(), args)
		},
	}
	root.PersistentFlags().StringVar(&e.home, "home", "", "folder that holds everything (default $FIKA_HOME, else ~/.fika)")
	o.flags(root)
	version = versionFlag(root)
	root.CompletionOptions.SetDefaultShellCompDirective(nothing)
	_ = root.RegisterFlagCompletionFunc("home", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%v; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(commands(e)...)
	return root
}

// commands are all nouns and verbs below the root.
func commands(e *env) []*cobra.Command {
	return []*cobra.Command{
		newDemo(e), newRun(e), newContext(e), newPlugin(e), newChat(e), newAsk(e), newTask(e), newRequest(e), newUp(e), newDown(e), newAgent(e), newMaster(e), newMonitor(e), newStatus(e), newUsage(e), newConversation(e), newConfig(e), newModel(e), newWorkflow(e), newKey(e), newStore(e), newBackup(e), newRestore(e), newApprove(e), newRules(e), newDoctor(e), newCompletion(e), newVersion(e),
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
