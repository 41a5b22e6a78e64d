package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika/internal/cli"
)

// commandsPage returns the reference of the command line.
func commandsPage() string {
	root := cli.CommandTree()
	var b strings.Builder
	b.WriteString("# Commands\n\n" + notice)
	b.WriteString("The help of every command (`fika COMMAND --help`) on one page: usage and flags, description, examples. stdout carries the answer or the data; messages for people go to stderr.\n\n")
	for _, c := range visible(root) {
		fmt.Fprintf(&b, "- [%s](#%s) %s\n", c.CommandPath(), anchor(c.CommandPath()), c.Short)
	}
	b.WriteString("\n## Flags of every command\n\n```\n")
	b.WriteString(flagLines(root.PersistentFlags()))
	b.WriteString("  -h, --help          help for the command\n```\n")
	for _, c := range visible(root) {
		command(&b, c)
	}
	return b.String()
}

// visible returns a command and all visible ones below it, in the order of the help.
func visible(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			out = append(out, visible(sub)...)
		}
	}
	return out
}

func anchor(path string) string { return strings.ReplaceAll(path, " ", "-") }

func command(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```\n%s\n%s```\n", c.CommandPath(), sentence(c.Short), c.UseLine(), flagLines(c.LocalNonPersistentFlags()))
	if c.Long != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimSpace(c.Long))
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, "\nAlso: `%s`\n", strings.Join(c.Aliases, "`, `"))
	}
	if example := unindent(c.Example); example != "" && example != c.CommandPath() {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", example)
	}
}

func flagLines(f *pflag.FlagSet) string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.VisitAll(func(x *pflag.Flag) {
		if x.Name != "help" {
			set.AddFlag(x)
		}
	})
	return set.FlagUsages()
}

func unindent(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

// sentence turns a short description into a sentence.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
