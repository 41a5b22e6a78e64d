package client

import (
	"context"
	"errors"

	"fika"
	"fika/internal/workflow"
)

// TeamLine reads a text that begins with a team, as @a, @b: or @a -> @b: does; ok is
// false for any other, which is a message. Error kind: Invalid.
func TeamLine(text string) (l Team, ok bool, err error) {
	if !workflow.BeginsForTeam(text) {
		return l, false, nil
	}
	l, err = workflow.ParseLine(text, nil)
	return l, true, err
}

// eachRun does something with each run that was begun in a chat and goes on. One
// that has ended meanwhile is no error.
func (s *ChatControl) eachRun(ctx context.Context, conv fika.Conversation, do func(*Runs, Run) error) ([]Run, error) {
	runs := s.c.Runs()
	list, err := runs.InChat(ctx, conv)
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, r := range list {
		if err := do(runs, r); err != nil && !fika.IsKind(err, fika.Conflict) {
			wrong = append(wrong, err)
		}
	}
	return list, errors.Join(wrong...)
}
