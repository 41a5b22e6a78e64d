package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/config"
	"fika/internal/cli/master"
	"fika/internal/cli/run"
	"fika/internal/cli/session"
	"fika/internal/cli/setup"
	"fika/internal/system/term"
)

// newRoot makes the root command. If args are given, it makes only those of the
// commands below it that args need.
func newRoot(e *command.Env, args ...string) *cobra.Command {
	o := &run.Options{Env: e}
	var version, plain *bool
	all := new(bool) // of fika help --all
	root := &cobra.Command{
		Use:   "fika [PROMPT]",
		Short: "language-model agents that work together, on your machine",
		Long: `fika runs language-model agents on your machine. The current context answers a
prompt; while the hub runs, agents answer each other by @name. On a terminal,
with agents configured, fika alone opens the session (/help there).

A bare prompt is one argument that contains a space or punctuation, or stdin.
fika does not take a single word, or several words, for a prompt, because they
may be a mistyped command: for those, write fika -p WORDS or fika run WORDS.

` + command.ExitHelp,
		Example: `  cd ~/src/shop && fika init && fika    # a team in a repository, and a session
  fika "why does this fail?" < build.log
  fika run -c notes summarise what we decided
  fika chat create design && fika chat send design "@coder sketch an API"`,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if *plain {
				e.Plain, e.Color = true, false
			}
			if err := checkFlagGroups(cmd); err != nil {
				return err
			}
			e.LastGood = looksOrStops(cmd)
			// fika agent route may ask the routing model, and what that costs is written down.
			e.Looks = verbOf(cmd, args).Conduct == api.Looks && cmd.Name() != "route"
			if e.Looks && e.Home != "" {
				if _, err := os.Stat(e.Home); errors.Is(err, fs.ErrNotExist) {
					return fika.Errorf(fika.NotFound, "", "home %q not found", e.Home) // the commands that only look make none
				}
			}
			config.PointAtForeign(e, cmd)
			return admit(e, cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if *version {
				return e.Println(versionLine())
			}
			return runBare(e, o, cmd, args)
		},
	}
	root.PersistentFlags().StringVar(&e.Home, "home", "", "folder that holds everything (default $FIKA_HOME, else the project's, else ~/.fika)")
	plain = root.PersistentFlags().Bool("plain", false, "print line after line and redraw nothing, without colour, as for a screen reader")
	root.PersistentFlags().BoolVarP(&e.Quiet, "quiet", "q", false, "say only what was asked for, warnings and errors")
	o.AddFlags(root)
	version = versionFlag(root)
	root.CompletionOptions.SetDefaultShellCompDirective(complete.NoFiles)
	_ = root.RegisterFlagCompletionFunc("home", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	root.SetFlagErrorFunc(flagError)
	for _, g := range titles() {
		root.AddGroup(&g)
	}
	root.AddCommand(commands(e, args)...)
	if len(root.Commands()) > 1 { // else the one command that was asked for
		addHelp(root, all)
	}
	root.SetUsageTemplate(usageTemplate)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root && !*all {
			cmd.Print(firstHelp)
			return
		}
		cmd.Long = term.ReflowText(cmd.Long, helpWidth)
		help(cmd, args)
	})
	return root
}

// runBare runs fika without a command: it answers a prompt, or opens the console, the
// session or the first minute, whatever the arguments and the terminal mean.
func runBare(e *command.Env, o *run.Options, cmd *cobra.Command, args []string) error {
	if o.MeansPrompt() {
		return o.RunPrompt(cmd.Context(), args)
	}
	if err := checkBarePrompt(cmd, args); err != nil {
		return err
	}
	if master.MeansConsole(e, cmd, args) {
		return master.OpenConsole(cmd.Context(), e, master.Flags{})
	}
	if meansSession(e, cmd, args) {
		return session.Open(cmd.Context(), e)
	}
	if alone(e, cmd, args) {
		if made, err := setup.FirstMinute(cmd.Context(), e); err != nil {
			return err
		} else if made {
			return session.Open(cmd.Context(), e)
		}
		if err := withoutAgents(e); err != nil {
			return err
		}
	}
	return o.RunPrompt(cmd.Context(), args)
}

// checkFlagGroups refuses flags that exclude each other.
func checkFlagGroups(cmd *cobra.Command) error {
	if cmd.ValidateFlagGroups() == nil {
		return nil
	}
	var given []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Annotations["cobra_annotation_mutually_exclusive"] != nil {
			given = append(given, "--"+f.Name)
		}
	})
	return command.UsageError("%s do not go together: give one of them; see %s --help", strings.Join(given, " and "), cmd.CommandPath())
}

// seedSpellings translates the flags that stand for commands: --master,
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
