package master

import (
	"context"

	"fika"
	"fika/internal/system/term"
	"fika/internal/terminal/changes"
	"fika/internal/text/hint"
)

// showChanges runs /diff [REQUEST].
func (m *Master) showChanges(ctx context.Context, args []string) error {
	return m.doWithChanges(ctx, changes.Diff, args)
}

// undo runs /undo [REQUEST].
func (m *Master) undo(ctx context.Context, args []string) error {
	return m.doWithChanges(ctx, changes.Undo, args)
}

// doWithChanges calls do for the changes that words name, and prints the lines it
// returns.
func (m *Master) doWithChanges(ctx context.Context, do func(context.Context, changes.Source, []string, changes.Look) ([]string, error), words []string) error {
	if m.o.Changes == nil {
		return fika.Errorf(fika.Invalid, "", "what agents change is not known here; %s", hint.Undo)
	}
	width := m.o.Width
	if width == 0 {
		width = term.DefaultWidth
	}
	lines, err := do(ctx, m.o.Changes, words, changes.Look{Style: m.o.Style, Width: width, Now: m.o.Now()})
	for _, line := range lines {
		m.o.Screen.Print(line)
	}
	return err
}
