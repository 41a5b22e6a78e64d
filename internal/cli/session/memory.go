package session

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/system/term"
)

// remembers reports whether a line asks to be remembered: "# " and one line.
func remembers(text string) bool {
	return strings.HasPrefix(text, "# ") && !strings.Contains(text, "\n")
}

// remember adds a line to the instructions of the folder.
func (v *visit) remember(text string) {
	path, inForce, err := setup.Remember(v.App(), strings.TrimPrefix(text, "# "))
	switch {
	case err != nil:
		v.screen.Note("— not remembered: " + err.Error())
	case inForce:
		v.screen.Note("— remembered in " + filepath.Base(path) + ", for every agent that works here")
	default:
		v.screen.Note("— written to " + filepath.Base(path) + "; takes effect after fika trust")
	}
}

// showMemory carries out /memory: it lists the instructions that agents have in their prompts.
func (v *visit) showMemory(context.Context, input.Line) error {
	m, err := setup.Remembered(v.App())
	if err != nil {
		return err
	}
	if len(m.Files) == 0 {
		v.screen.Note("— no AGENTS.md in " + m.Root + "; a line that begins with # and a space is written there, and /init has an agent write one")
		return nil
	}
	var rows []string
	for _, f := range m.Files {
		rows = append(rows, fmt.Sprintf("  %-24s %s", term.CleanLine(f.Path), command.Plural(strings.Count(string(f.Data), "\n"), "line")))
	}
	v.screen.Print(strings.Join(rows, "\n"))
	switch {
	case m.Off:
		v.screen.Note("— agents_md = false: no prompt has them")
	case m.InForce():
		v.screen.Note("— in every prompt of agents that work there")
	default:
		v.screen.Note("— not all of it is active: see fika trust")
	}
	return nil
}

// newInstructions is the file that /init has an agent write: agents cannot change AGENTS.md,
// which others obey.
const newInstructions = "AGENTS.new.md"

// firstInstructions is what /init asks an agent for.
const firstInstructions = "Look through this folder and write " + newInstructions + " at its root, for agents that will work here: what the project is, in a sentence; " +
	"how it is built, tested, formatted and run, with the exact commands, found in its files and not guessed; how it is laid out; and the rules that its code visibly follows. " +
	"At most 40 lines, nothing that a reader sees at a glance, no advice that holds for any project. If there is an AGENTS.md or a CLAUDE.md, begin with what is right in it."

// writeInstructions carries out /init.
func (v *visit) writeInstructions(ctx context.Context, _ input.Line) error {
	v.sender.send(ctx, input.Line{Text: firstInstructions, Typed: input.Typed{Text: "/init"}})
	v.screen.Note("— when you have read it: !mv " + newInstructions + " AGENTS.md, which takes effect after fika trust")
	return nil
}
