package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika/internal/cli"
)

// writeManuals writes a manual page for each command, in the format of man, into an
// existing folder.
func writeManuals(dir string) error {
	for _, c := range visible(cli.CommandTree()) {
		if err := os.WriteFile(filepath.Join(dir, manualName(c)+".1"), []byte(manual(c)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeCompletions writes a completion script for each shell into an existing folder, under
// the name that the shell looks for.
func writeCompletions(dir string) error {
	for shell, name := range map[string]string{"bash": "fika", "zsh": "_fika", "fish": "fika.fish"} {
		var script bytes.Buffer
		root := cli.CommandTree()
		root.SetOut(&script)
		root.SetArgs([]string{"completion", shell})
		err := root.Execute()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), script.Bytes(), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// manual returns the page of one command.
func manual(c *cobra.Command) string {
	var b strings.Builder
	name := manualName(c)
	fmt.Fprintf(&b, ".TH %s 1 \"\" fika \"fika manual\"\n.nh\n.ad l\n", roff(strings.ToUpper(name)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(name), roff(c.Short))
	subs := visible(c)[1:]
	subs = slices.DeleteFunc(subs, func(sub *cobra.Command) bool { return sub.Parent() != c })
	if c.Runnable() || len(subs) == 0 {
		fmt.Fprintf(&b, ".B %s\n.br\n", roff(c.UseLine()))
	}
	if len(subs) > 0 {
		fmt.Fprintf(&b, ".B %s COMMAND\n", roff(c.CommandPath()))
	}
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", prose(c.Long))
	}
	for i, sub := range subs {
		if i == 0 {
			b.WriteString(".SH COMMANDS\n")
		}
		fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(manualName(sub)), roff(sub.Short))
	}
	fmt.Fprintf(&b, ".SH OPTIONS\n%s%s", options(c.LocalNonPersistentFlags()), options(c.Root().PersistentFlags()))
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n%s", asIs(unindent(c.Example)))
	}
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manualName(c.Parent())))
	}
	return b.String()
}

// manualName returns the name of a command's page: fika-chat-send.
func manualName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// options lists flags, each with its words beneath.
func options(f *pflag.FlagSet) string {
	var b strings.Builder
	f.VisitAll(func(x *pflag.Flag) {
		if x.Hidden || x.Name == "help" {
			return
		}
		value, words := pflag.UnquoteUsage(x)
		name := "--" + x.Name
		if x.Shorthand != "" {
			name = "-" + x.Shorthand + ", " + name
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+value)), roff(words))
	})
	return b.String()
}

// prose lets paragraphs flow, and keeps the lines of those that are indented.
func prose(text string) string {
	var b strings.Builder
	kept := false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.TrimSuffix(line, "\n")
		if keep := strings.HasPrefix(line, " "); keep != kept {
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[keep])
			kept = keep
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if kept {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// asIs keeps the lines of a text as they are.
func asIs(text string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.Lines(text) {
		b.WriteString(roff(strings.TrimSuffix(line, "\n")) + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}

// roff escapes a text so that roff prints it literally.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
