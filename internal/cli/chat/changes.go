package chat

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
func (j *joined) showChanges(ctx context.Context, words []string) error {
	return j.change(ctx, changes.Diff, words)
}

// undo is /undo [REQUEST].
func (j *joined) undo(ctx context.Context, words []string) error {
	return j.change(ctx, changes.Undo, words)
}

func (j *joined) change(ctx context.Context, do func(context.Context, changes.Source, []string, changes.Look) ([]string, error), words []string) error {
	lines, err := do(ctx, chatChanges{j.client().Undo(), j.chat()}, words[1:], changes.Look{Style: j.OutStyle(), Width: j.con.Width(), Now: j.Now()})
	if len(lines) > 0 {
		j.feed.Print(strings.Join(lines, "\n"))
	}
	return err
}
