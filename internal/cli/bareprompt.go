package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/text/spelling"
)

// checkBarePrompt accepts arguments that are certainly a prompt: none (the prompt
// is on stdin), a single one with a space or punctuation in it, or anything after --.
// Anything else that is not a command may be a mistyped command, and a typo must not
// become a prompt that costs money: the error offers both readings.
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

// isWord reports whether an argument could be the name of a command: only
// letters, digits, - and _.
func isWord(arg string) bool {
	return strings.IndexFunc(arg, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	}) < 0
}

// habits returns the commands for what a word means in other programs.
func habits(word string) []string {
	return map[string][]string{
		"add": {"context new", "chat new"}, "auth": {"key set", "doctor"}, "bye": {"down"}, "cost": {"usage"}, "costs": {"usage"},
		"daemon": {"up"}, "dir": {"context list"}, "exit": {"down"}, "history": {"context log", "conversation list"}, "info": {"status"},
		"kill": {"agent stop --now", "down --now"}, "launch": {"up", "agent start"},
		"list": {"context list", "chat list", "agent list"}, "login": {"key set", "mcp login"},
		"ls": {"context list", "chat list", "agent list"}, "price": {"usage"},
		"ps": {"agent list", "request list"}, "quit": {"down"}, "remove": {"context delete", "chat delete"}, "search": {"conversation search"},
		"serve": {"up"}, "server": {"up"}, "setup": {"init", "doctor"}, "shutdown": {"down"}, "stats": {"usage"}, "tools": {"plugin list"},
		"watch": {"monitor", "chat view --follow"},
	}[strings.ToLower(word)]
}

// meantCommands returns at most three commands that a word at the top level may
// stand for: those with this name one level down (stop: agent stop, chat stop) or,
// if there are none or too many, what the word means in other programs, or else one with a
// similar spelling.
func meantCommands(root *cobra.Command, word string) []string {
	var meant []string
	for _, noun := range root.Commands() {
		for _, verb := range noun.Commands() {
			if !noun.Hidden && !verb.Hidden && (verb.Name() == word || slices.Contains(verb.Aliases, word)) {
				meant = append(meant, noun.Name()+" "+verb.Name())
			}
		}
	}
	if len(meant) == 0 || len(meant) > 3 || word == "login" { // elsewhere a login is to a provider
		if usual := habits(word); len(usual) > 0 {
			meant = usual
		} else if near := spelling.Nearest(word, command.CommandNames(root)); near != "" {
			meant = []string{near}
		}
	}
	return meant[:min(len(meant), 3)]
}

// shellWords joins arguments, quoted as a shell needs them.
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

// versionFlag adds --version, which prints what fika version prints.
func versionFlag(root *cobra.Command) *bool {
	return root.Flags().Bool("version", false, fmt.Sprintf("print the version, as %s version does", root.Name()))
}
