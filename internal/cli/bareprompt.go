package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/spelling"
)

// checkBarePrompt lets through what is certainly a prompt: nothing (stdin), one
// argument with a space or punctuation in it, or anything after --. Whatever
// else is not a command may be a mistyped one, and a typo must not become a
// prompt that somebody pays for: the error offers both readings.
func checkBarePrompt(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() >= 0 || len(args) == 0 || len(args) == 1 && !isWord(args[0]) {
		return nil
	}
	word, hint := args[0], "fika --help lists the commands"
	if len(args) == 1 || isWord(word) {
		if meant := meantCommands(cmd.Root(), word); len(meant) > 0 {
			rest := shellWords(args[1:])
			for i, m := range meant {
				meant[i] = strings.TrimRight("fika "+m+" "+rest, " ")
			}
			hint = "did you mean: " + strings.Join(meant, ", ") + "?"
		}
	}
	return command.UsageError("no command %q; %s (for a prompt: fika run %s)", word, hint, shellWords(args))
}

// isWord reports whether an argument could be the name of a command: letters,
// digits, - and _ alone.
func isWord(arg string) bool {
	return strings.IndexFunc(arg, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	}) < 0
}

// habits are the commands for which other programs have this word.
func habits(word string) []string {
	return map[string][]string{
		"add": {"context new", "chat new"}, "auth": {"config path", "doctor"}, "bye": {"down"}, "cost": {"usage"}, "costs": {"usage"},
		"daemon": {"up"}, "dir": {"context list"}, "exit": {"down"}, "history": {"context log", "conversation list"}, "info": {"status"},
		"inbox": {"chat list"}, "kill": {"agent stop --now", "down --now"}, "launch": {"up", "agent start"},
		"list": {"context list", "chat list", "agent list"}, "login": {"config path", "doctor"},
		"ls": {"context list", "chat list", "agent list"}, "price": {"usage"},
		"ps": {"agent list", "request list"}, "quit": {"down"}, "remove": {"context delete", "chat delete"}, "search": {"conversation search"},
		"serve": {"up"}, "server": {"up"}, "setup": {"config path", "doctor"}, "shutdown": {"down"}, "stats": {"usage"}, "tools": {"plugin list"},
		"watch": {"monitor", "chat view --follow"},
	}[strings.ToLower(word)]
}

// meantCommands returns the commands that a word at the top level may have
// been meant as, at most three: those that are called so one level down (stop:
// agent stop, chat stop), or, where there are none or too many, one that is spelt
// nearly so, or what other programs mean by it.
func meantCommands(root *cobra.Command, word string) []string {
	var meant []string
	for _, noun := range root.Commands() {
		for _, verb := range noun.Commands() {
			if !noun.Hidden && !verb.Hidden && (verb.Name() == word || slices.Contains(verb.Aliases, word)) {
				meant = append(meant, noun.Name()+" "+verb.Name())
			}
		}
	}
	if near := spelling.Nearest(word, command.CommandNames(root)); near != "" && (len(meant) == 0 || len(meant) > 3) {
		return []string{near}
	}
	if usual := habits(word); len(meant) == 0 || len(meant) > 3 && len(usual) > 0 {
		meant = usual
	}
	return meant[:min(len(meant), 3)]
}

// shellWords writes arguments as a shell would take them.
func shellWords(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		if a == "" || !isWord(a) && strings.ContainsAny(a, " \t\n\r'\"\\$`&|;<>()*?[]#~!{}") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out[i] = a
	}
	return strings.Join(out, " ")
}

// versionFlag is --version, which prints what fika version prints.
func versionFlag(root *cobra.Command) *bool {
	return root.Flags().Bool("version", false, fmt.Sprintf("print the version, as %s version does", root.Name()))
}
