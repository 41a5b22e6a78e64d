package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/spelling"
)

// OptionalArg is the only argument of a command, or "".
func OptionalArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// AtMostOne is the check of a command whose only argument may be left out.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return UsageError("%s takes at most %s, but got %s; see %s --help", cmd.CommandPath(), what, CountedArgs(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

// UsageError makes an error of the command line itself.
func UsageError(format string, args ...any) error {
	return fika.Errorf(fika.Invalid, "", format, args...)
}

// Exactly is cobra's argument check in fika's words; names are those of the
// arguments, as in "AGENT PROMPT".
func Exactly(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return UsageError("%s takes %s, but got %s; see %s --help", cmd.CommandPath(), names, CountedArgs(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

// AtLeastOne is the check of a command that takes one or more of something.
func AtLeastOne(names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return UsageError("%s takes %s; see %s --help", cmd.CommandPath(), names, cmd.CommandPath())
		}
		return nil
	}
}

// OneOrTwo is the check of a command whose second argument may be left out.
func OneOrTwo(names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return UsageError("%s takes %s, but got %s; see %s --help", cmd.CommandPath(), names, CountedArgs(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

// CountedArgs says how many arguments there were.
func CountedArgs(n int) string {
	switch n {
	case 0:
		return "none"
	case 1:
		return "one"
	}
	return fmt.Sprint(n)
}

// Group is a command that only holds others.
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

// sameGrammar gives the verbs of a noun the other names that people try: ls for
// list, rm for delete, show for view, and so on, unless the noun has a command
// of that name.
func sameGrammar(noun *cobra.Command) {
	taken := CommandNames(noun)
	for _, c := range noun.Commands() {
		for _, alias := range otherNames(c.Name()) {
			if !slices.Contains(taken, alias) {
				c.Aliases, taken = append(c.Aliases, alias), append(taken, alias)
			}
		}
	}
}

// otherNames are what a verb is called besides.
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
	case "add", "install", "set":
		return []string{"create", "new"}
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

func unknownCommand(cmd *cobra.Command, word string) error {
	msg := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), word)
	if near := spelling.Nearest(word, CommandNames(cmd)); near != "" {
		msg += fmt.Sprintf("; did you mean %s %s?", cmd.CommandPath(), near)
	} else {
		msg += fmt.Sprintf("; %s --help lists them", cmd.CommandPath())
	}
	return UsageError("%s", msg)
}

// CommandNames are the names and aliases of the commands below one.
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
