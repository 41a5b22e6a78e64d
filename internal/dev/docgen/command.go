package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika/internal/cli"
)

// commandsDir is the folder, below docs/, with the reference of the command line.
const commandsDir = "reference/cli"

// commandPages returns the reference of the command line: an index, and a page for each
// command of the root with what is below it.
func commandPages() []page {
	root := cli.CommandTree()
	var index strings.Builder
	index.WriteString("# Commands\n\n" + notice)
	index.WriteString("The help of every command (`fika COMMAND --help`): usage and flags, description, examples. stdout carries the answer or the data; messages for people go to stderr.\n\n")
	var out []page
	for _, c := range root.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		fmt.Fprintf(&index, "- [%s](%s.md) %s\n", c.CommandPath(), c.Name(), c.Short)
		for _, sub := range visible(c)[1:] {
			fmt.Fprintf(&index, "  - [%s](%s.md#%s) %s\n", sub.CommandPath(), c.Name(), anchor(sub.CommandPath()), sub.Short)
		}
		var b strings.Builder
		b.WriteString("# fika " + c.Name() + "\n\n" + notice)
		b.WriteString("[All commands](README.md), and the flags that every command has.\n")
		for _, each := range visible(c) {
			command(&b, each)
		}
		out = append(out, page{commandsDir + "/" + c.Name() + ".md", b.String()})
	}
	index.WriteString("\n## Flags of every command\n\n```\n")
	index.WriteString(flagLines(root.PersistentFlags()))
	index.WriteString("  -h, --help          help for the command\n```\n")
	command(&index, root)
	return append(out, page{commandsDir + "/README.md", index.String()})
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
