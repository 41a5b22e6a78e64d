package service

import (
	"context"
	"errors"

	"fika"
	"fika/internal/workflow"
)

// TeamLine parses a text that begins with a team, such as @a, @b: or @a -> @b:. ok is
// false for any other text, which is a message. Error kind: Invalid.
func TeamLine(text string) (l Team, ok bool, err error) {
	if !workflow.BeginsForTeam(text) {
		return l, false, nil
	}
	l, err = workflow.ParseLine(text, nil)
	return l, true, err
}

// eachRun calls do for each unfinished run that was begun in a chat. It is not an error
// if a run has ended meanwhile.
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
