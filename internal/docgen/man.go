package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli"
)

// writeManuals writes a manual page for each command, in the format of man, into an
// existing folder.
func writeManuals(dir string) error {
	for _, c := range visible(cli.CommandTree()) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(manual(c)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manual returns the page of one command.
func manual(c *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(strings.ToUpper(name)), roff(name), roff(c.Short), roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", asIs(strings.TrimSpace(c.Long)))
	}
	if flags := flagLines(c.LocalNonPersistentFlags()) + flagLines(c.Root().PersistentFlags()); flags != "" {
		fmt.Fprintf(&b, ".SH OPTIONS\n%s", asIs(strings.TrimRight(flags, "\n")))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n%s", asIs(unindent(c.Example)))
	}
	var also []string
	if c.HasParent() {
		also = append(also, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			also = append(also, strings.ReplaceAll(sub.CommandPath(), " ", "-"))
		}
	}
	for i, name := range also {
		if i == 0 {
			b.WriteString(".SH SEE ALSO\n")
		}
		end := ","
		if i == len(also)-1 {
			end = ""
		}
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(name), end)
	}
	return b.String()
}

// asIs keeps the lines of a text as they are.
func asIs(text string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.Lines(text + "\n") {
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
