package session

import (
	"context"
	"strings"

	"fika"
	"fika/internal/cli/input"
	"fika/internal/service"
	"fika/internal/terminal/changes"
)

// chatChanges gives access to the changes made in one chat.
type chatChanges struct {
	*service.Undo
	conv fika.Conversation
}

// Newest implements [changes.Source].
func (c chatChanges) Newest(ctx context.Context) (service.Undoing, error) {
	return c.NewestOf(ctx, c.conv)
}

// showChanges carries out /diff [REQUEST].
func (v *visit) showChanges(ctx context.Context, line input.Line) error {
	return v.doWithChanges(ctx, changes.Diff, line)
}

// undo carries out /undo [REQUEST].
func (v *visit) undo(ctx context.Context, line input.Line) error {
	return v.doWithChanges(ctx, changes.Undo, line)
}

// doWithChanges prints what do returns for the changes that a line names.
func (v *visit) doWithChanges(ctx context.Context, do func(context.Context, changes.Source, []string, changes.Look) ([]string, error), line input.Line) error {
	source := chatChanges{v.chat.service().Undo(), v.chat.conversation()}
	lines, err := do(ctx, source, line.Arguments(), changes.Look{Style: v.OutStyle(), Width: v.screen.Width(), Now: v.Now()})
	if len(lines) > 0 {
		v.screen.Print(strings.Join(lines, "\n"))
	}
	return err
}
