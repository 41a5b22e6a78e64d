package chat

import (
	"context"
	"fmt"
	"time"

	"fika"
	"fika/internal/client"
	"fika/internal/term"
	"fika/internal/view"
)

// sendTeam begins the work of a team on a line, with the files that it names. What
// they give is said in the chat, also when its person has gone.
func (j *joined) sendTeam(ctx context.Context, text string) error {
	text, pictures, err := j.Env.Join(j.files, text)
	if err != nil {
		return err
	}
	if len(pictures) > 0 {
		return fika.Errorf(fika.Invalid, "", "pictures are for one agent, and the line is for a team")
	}
	l, _, err := client.TeamLine(text)
	if err != nil {
		return err
	}
	select {
	case j.spoken <- struct{}{}:
	default:
	}
	r, err := j.client().Runs().StartTeamIn(ctx, j.chat(), text, l, j.as)
	if err != nil {
		return err
	}
	j.note(fmt.Sprintf("— run %s: %s; what it gives is said here", r.ID, l.AddressText()))
	if j.paused(ctx) {
		j.note("— paused: nobody answers before /resume")
	}
	return nil
}

// paused reports whether the chat is; what cannot be read is not.
func (j *joined) paused(ctx context.Context) bool {
	c, err := j.client().Chats.ByID(ctx, j.chat().ID)
	return err == nil && c.Paused
}

// chatRun is a run that was begun in a chat, and what of it is under way.
type chatRun struct {
	client.Run
	steps []client.RunStep
}

// runs are those that were begun here and go on.
func (j *joined) runs(ctx context.Context) ([]chatRun, error) {
	runs := j.client().Runs()
	list, err := runs.InChat(ctx, j.chat())
	if err != nil {
		return nil, err
	}
	out := make([]chatRun, len(list))
	for i, r := range list {
		out[i].Run = r
		steps, err := runs.UnderWay(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		out[i].steps = steps
	}
	return out, nil
}

// ofRuns are the agents at work in runs, as the status line tells them.
func ofRuns(list []chatRun) []view.Worker {
	var out []view.Worker
	for _, r := range list {
		for _, s := range r.steps {
			out = append(out, view.Worker{Name: string(s.Agent), Doing: "in the team", Since: s.Begun})
		}
	}
	return out
}

// whyRun says what goes on in a run, and how to see more.
func whyRun(r chatRun) string {
	text := "the team of " + term.Truncate(term.CleanLine(r.Title), 60)
	switch {
	case !r.Paused.IsZero():
		text += " is paused"
	case len(r.steps) == 0:
		text += " begins its next step"
	}
	for i, s := range r.steps {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%s@%s since %s", sep, s.Agent, s.Begun.Local().Format(time.TimeOnly))
	}
	return text + fmt.Sprintf(" (fika workflow status %s)", r.ID)
}
