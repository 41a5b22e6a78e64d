package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/system/term"
)

// CommandTree builds the whole command tree for inspection: the generated
// reference and the tests of the help read it. To run a command, use [Main].
func CommandTree() *cobra.Command {
	return newRoot(&command.Env{Streams: term.SystemStreams(), Getenv: os.Getenv})
}

func newCompletion(*command.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "print a completion script for bash, zsh or fish",
		Long: `Prints a script that lets your shell complete the commands of fika and the names
of your agents, chats and contexts. Load it once to try it, or in the shell's
start-up file to keep it.`,
		Example: `  source <(fika completion bash)          # bash
  source <(fika completion zsh)           # zsh, after compinit
  fika completion fish | source           # fish`,
		Args:      command.Exactly(1, "the name of a shell: bash, zsh or fish"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				if _, err := io.WriteString(cmd.OutOrStdout(), bashWords); err != nil {
					return err
				}
				return root.GenBashCompletionV2(cmd.OutOrStdout(), true)
			case "zsh":
				return root.GenZshCompletion(cmd.OutOrStdout())
			case "fish":
				return root.GenFishCompletion(cmd.OutOrStdout(), true)
			}
			return command.UsageError("no completion for %q; there is one for bash, zsh and fish", args[0])
		},
	}
}

// bashWords does for the completion script what the package bash-completion does
// where it is installed: it joins words that bash has split at : and =.
const bashWords = `# fika completion for bash; the package bash-completion is not needed.
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    _get_comp_words_by_ref() {
        local i word glue=0
        words=()
        for ((i = 0; i <= COMP_CWORD; i++)); do
            word=${COMP_WORDS[i]}
            if ((${#words[@]} > 0)) && { ((glue)) || [[ $word == [:=]* ]]; }; then
                words[${#words[@]}-1]+=$word
            else
                words+=("$word")
            fi
            glue=0
            [[ $word == *[:=] && $i -gt 0 ]] && glue=1
        done
        cword=$((${#words[@]} - 1))
        cur=${words[cword]}
        prev=
        ((cword > 0)) && prev=${words[cword-1]}
        return 0
    }
fi
`
