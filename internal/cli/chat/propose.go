package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/mention"
)

// errUnanswered says that a line was not sent because its person entered another one.
var errUnanswered = errors.New("you answered neither yes nor no")

// propose asks whether a text without a name shall go to the agent that it is for,
// where that is sure and another one would get it. It asks only at a terminal, and not
// again about an agent that was declined. A line other than yes or no is the next
// line, and errUnanswered says that the text was not sent.
func (j *joined) propose(ctx context.Context, text string) error {
	s := j.session
	if conf, err := j.App().Config(); err != nil || conf.Master.DefaultAgent != "" || !j.con.Interactive() || !s.isForLast(text) {
		return nil
	}
	row, match, err := j.client().Agents.Choose(ctx, text)
	if err != nil || row.Name == s.spokenTo() || !slices.Contains(s.known(), row.Name) || slices.Contains(s.declined, row.Name) {
		return nil
	}
	what := "work"
	if match.Work != "" {
		what = match.Work
	}
	j.con.SetPrompt(fmt.Sprintf("This looks like %s. Use @%s? [Y/n] ", what, row.Name))
	defer j.con.SetPrompt(j.prompt())
	line, err := j.con.Read(ctx)
	if err != nil {
		return errUnanswered
	}
	switch strings.ToLower(strings.TrimSpace(line.Text)) {
	case "", "y", "yes":
		s.speakTo(row.Name)
	case "n", "no":
		s.declined = append(s.declined, row.Name)
		j.note(fmt.Sprintf("— it goes to @%s; @%s is not proposed again here", s.spokenTo(), row.Name))
	default:
		j.next = &line
		return errUnanswered
	}
	return nil
}

// isForLast reports whether a text names nobody, so that it goes to the agent spoken
// to last.
func (s *session) isForLast(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return mention.Parse(text, mention.Known{Agents: s.agents}).NoneAddressed()
}

// speakTo lets text without a name go to an agent.
func (s *session) speakTo(name fika.AgentName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = name
}
