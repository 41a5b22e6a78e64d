package session

import (
	"fmt"
	"time"

	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/view"
)

// teamRun is a run of a team that was begun in a chat, with its steps under way.
type teamRun struct {
	service.Run
	steps []service.RunStep
}

// workersOfRuns returns the agents at work in runs, for the status line.
func workersOfRuns(list []teamRun) []view.Worker {
	var out []view.Worker
	for _, r := range list {
		for _, s := range r.steps {
			doing := "in the team"
			if s.Worker != "" {
				doing += ", for @" + string(s.Agent)
			}
			out = append(out, view.Worker{Name: string(s.WorkedBy()), Doing: doing, Since: s.Begun})
		}
	}
	return out
}

// whyLine returns what goes on in a run, and how to see more.
func (r teamRun) whyLine() string {
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
		text += fmt.Sprintf("%s%s since %s", sep, s.Who(), s.Begun.Local().Format(time.TimeOnly))
	}
	return text + fmt.Sprintf(" (fika workflow status %s)", r.ID)
}
