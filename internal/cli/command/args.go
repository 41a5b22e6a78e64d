package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/text/spelling"
)

// OptionalArg returns the only argument of a command, or "" if there is none.
func OptionalArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// AtMostOne checks the arguments of a command whose only argument is optional.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return UsageError("%s takes at most %s, but got %s; see %s --help", cmd.CommandPath(), what, CountedArgs(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

// UsageError returns an error in the command line itself; its kind is Invalid.
func UsageError(format string, args ...any) error {
	return fika.Errorf(fika.Invalid, "", format, args...)
}

// Exactly checks for n arguments, as cobra does, with an error in fika's words; names
// are those of the arguments, as in "AGENT PROMPT".
func Exactly(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return UsageError("%s takes %s, but got %s; see %s --help", cmd.CommandPath(), names, CountedArgs(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

// AtLeastOne checks the arguments of a command that takes one or more of something.
func AtLeastOne(names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return UsageError("%s takes %s; see %s --help", cmd.CommandPath(), names, cmd.CommandPath())
		}
		return nil
	}
}

// OneOrTwo checks the arguments of a command whose second argument is optional.
func OneOrTwo(names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return UsageError("%s takes %s, but got %s; see %s --help", cmd.CommandPath(), names, CountedArgs(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

// CountedArgs returns the number of arguments in words.
func CountedArgs(n int) string {
	switch n {
	case 0:
		return "none"
	case 1:
		return "one"
	}
	return fmt.Sprint(n)
}

// Group makes a command that only holds other commands.
func Group(use, short, long, example string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(subs...)
	sameGrammar(c)
	return c
}

// sameGrammar adds the other names that people try to the verbs of a noun: ls for
// list, rm for delete, show for view, and so on, unless the noun has a command
// of that name.
func sameGrammar(noun *cobra.Command) {
	taken := CommandNames(noun)
	creates := slices.Contains(taken, "create")
	for _, c := range noun.Commands() {
		if creates && c.Name() == "add" { // new is the other name of create
			continue
		}
		for _, alias := range otherNames(c.Name()) {
			if !slices.Contains(taken, alias) {
				c.Aliases, taken = append(c.Aliases, alias), append(taken, alias)
			}
		}
	}
}

// otherNames returns the aliases of a verb.
func otherNames(verb string) []string {
	switch verb {
	case "list":
		return []string{"ls"}
	case "delete":
		return []string{"rm", "remove"}
	case "remove":
		return []string{"rm", "delete"}
	case "new":
		return []string{"create"}
	case "create":
		return []string{"new"}
	case "add", "set":
		return []string{"create", "new"}
	case "install":
		return []string{"create", "new", "add"}
	case "forget":
		return []string{"delete", "rm", "remove"}
	case "view":
		return []string{"show"}
	case "show":
		return []string{"view"}
	case "rename":
		return []string{"mv"}
	}
	return nil
}

// KnownCommand checks that the words name a command of the root.
func KnownCommand(cmd *cobra.Command, words []string) error {
	at := cmd.Root()
	for _, word := range words {
		i := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
		if i < 0 {
			return unknownCommand(at, word)
		}
		at = at.Commands()[i]
	}
	return nil
}

func unknownCommand(cmd *cobra.Command, word string) error {
	msg := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), word)
	if near := spelling.Nearest(word, CommandNames(cmd)); near != "" {
		msg += fmt.Sprintf("; did you mean %s %s?", cmd.CommandPath(), near)
	} else {
		msg += fmt.Sprintf("; %s --help lists them", cmd.CommandPath())
	}
	return UsageError("%s", msg)
}

// CommandNames returns the names and aliases of the visible commands below cmd.
func CommandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
			names = append(names, c.Aliases...)
		}
	}
	return names
}
