package session

import (
	"context"
	"strings"

	"fika"
	"fika/internal/changes"
	"fika/internal/client"
)

// chatChanges are the changes that were made in one chat.
type chatChanges struct {
	*client.Undo
	conv fika.Conversation
}

// Newest implements [changes.Source].
func (c chatChanges) Newest(ctx context.Context) (client.Undoing, error) {
	return c.NewestOf(ctx, c.conv)
}

// showChanges is /diff [REQUEST].
func (v *visit) showChanges(ctx context.Context, line typedLine) error {
	return v.doWithChanges(ctx, changes.Diff, line)
}

// undo is /undo [REQUEST].
func (v *visit) undo(ctx context.Context, line typedLine) error {
	return v.doWithChanges(ctx, changes.Undo, line)
}

// doWithChanges prints what do has to say of the changes that a line names.
func (v *visit) doWithChanges(ctx context.Context, do func(context.Context, changes.Source, []string, changes.Look) ([]string, error), line typedLine) error {
	source := chatChanges{v.chat.client().Undo(), v.chat.conversation()}
	lines, err := do(ctx, source, line.arguments(), changes.Look{Style: v.OutStyle(), Width: v.screen.con.Width(), Now: v.Now()})
	if len(lines) > 0 {
		v.screen.print(strings.Join(lines, "\n"))
	}
	return err
}
