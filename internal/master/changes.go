package master

import (
	"context"

	"fika"
	"fika/internal/changes"
	"fika/internal/term"
)

// changes carries out /diff and /undo.
func (m *Master) changes(ctx context.Context, do func(context.Context, changes.Source, []string, changes.Look) ([]string, error), words []string) error {
	if m.o.Changes == nil {
		return fika.Errorf(fika.Invalid, "", "what agents change is not known here; fika undo")
	}
	width := m.o.Width
	if width == 0 {
		width = term.DefaultWidth
	}
	lines, err := do(ctx, m.o.Changes, words, changes.Look{Style: m.o.Style, Width: width, Now: m.o.Now()})
	for _, line := range lines {
		m.printLine("%s", line)
	}
	return err
}
