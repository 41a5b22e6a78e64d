package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/cli/screen"
	"fika/internal/service"
)

// sender sends what a person has typed to those it is meant for.
type sender struct {
	env     *command.Env
	chat    *joinedChat
	input   *input.Reader
	screen  *screen.Screen
	hub     *hubKeeper
	session *session // nil: the chat is not a session, and each text names those it is for
	queued  *inputs
}

// sendTyped is [sender.send] for what somebody has typed: it may propose another agent
// first. It is not used for the text of the person's own commands.
func (s *sender) sendTyped(ctx context.Context, line input.Line) {
	if s.session != nil {
		if err := s.proposeAgent(ctx, line.Text); err != nil {
			s.screen.NoteNotSent(err)
			return
		}
	}
	s.send(ctx, line)
}

// maxTyped is the most text of one line: no model takes more.
const maxTyped = 512 << 10

// send sends a line, or tells the person why it was not sent.
func (s *sender) send(ctx context.Context, line input.Line) {
	typed := line.Typed
	if len(line.Text) > maxTyped {
		s.screen.NoteNotSent(fika.Errorf(fika.Invalid, "", "the text has %d kB, and %d kB are the most; let an agent read it from a file", len(line.Text)>>10, maxTyped>>10))
		return
	}
	if s.session != nil {
		if _, isTeam, _ := service.TeamLine(line.Text); isTeam {
			if err := s.sendTeam(ctx, line); err != nil {
				s.screen.NoteNotSent(err)
			}
			return
		}
		text, err := s.addressed(ctx, line.Text)
		if err != nil {
			s.screen.Note("— " + command.ErrorText(err))
			return
		}
		line.Text = text
	}
	s.hub.want()
	text, pictures, err := service.PromptFilesOf(s.env.App()).Join(line.Text, line.Files)
	var sent service.Sent
	if err == nil {
		say := s.chat.service().Chats.SendWith
		if s.screen.IsInteractive() { // a turn under way gets it
			say = s.chat.service().Chats.Steer
		}
		sent, err = say(ctx, s.chat.conversation(), text, pictures, s.chat.as)
	}
	for _, given := range s.chat.service().Chats.AssignedTo(text, sent.Notified) {
		s.screen.Note("→ " + given)
	}
	switch {
	case err != nil:
		s.screen.NoteNotSent(err)
	case sent.Input != nil:
		s.queued.add(*sent.Input, typed)
		s.screen.Refresh()
	case sent.Paused:
		s.screen.Note("— paused: nobody answers before /unpause")
	case sent.Nobody && sent.Person:
		s.screen.Note("— only a person is mentioned, so no agent answers")
	case sent.Nobody:
		s.screen.Note("— nobody is mentioned, so nobody answers")
	}
}

// addressed puts the name of the agent spoken to last before a text, unless the text
// itself names its addressee. For @all, it invites the agents of the session.
func (s *sender) addressed(ctx context.Context, text string) (string, error) {
	s.session.takeConfig(s.env, s.screen)
	text, toAll := s.session.agents.Address(text)
	if toAll {
		return text, s.chat.service().Chats.Invite(ctx, s.chat.conversation(), s.session.agents.Names())
	}
	return text, nil
}

// sendTeam starts a team's work on a line, with its files. The result is posted in the
// chat, even if the person has left.
func (s *sender) sendTeam(ctx context.Context, line input.Line) error {
	text, pictures, err := service.PromptFilesOf(s.env.App()).Join(line.Text, line.Files)
	if err != nil {
		return err
	}
	if len(pictures) > 0 {
		return fika.Errorf(fika.Invalid, "", "pictures are for one agent, and the line is for a team")
	}
	team, _, err := service.TeamLine(text)
	if err != nil {
		return err
	}
	s.hub.want()
	r, err := s.chat.service().Runs().StartTeamIn(ctx, s.chat.conversation(), text, team, s.chat.as)
	if err != nil {
		return err
	}
	s.screen.Note(fmt.Sprintf("— run %s: %s; what it gives is said here", r.ID, team.AddressText()))
	if s.chat.isPaused(ctx) {
		s.screen.Note("— paused: nobody answers before /unpause")
	}
	return nil
}

// errUnanswered says that a line was not sent because the person entered another one.
var errUnanswered = errors.New("you answered neither yes nor no")

// proposeAgent asks whether a text without a name should go to the agent that fits it,
// if the fit is certain and another agent would get the text. It asks only at a
// terminal, and never again about an agent that was declined. It fails with
// errUnanswered if the answer was neither yes nor no: the text must not be sent.
func (s *sender) proposeAgent(ctx context.Context, text string) error {
	conf, err := s.env.App().Config()
	if err != nil || conf.Master.DefaultAgent != "" || !s.screen.IsInteractive() || !s.session.agents.IsForLast(text) {
		return nil
	}
	row, match, err := s.chat.service().Routing.Choose(ctx, text)
	if err != nil || row.Name == s.session.agents.SpokenTo() || !slices.Contains(s.session.agents.Names(), row.Name) || slices.Contains(s.session.declined, row.Name) {
		return nil
	}
	work := "work"
	if match.Work != "" {
		work = match.Work
	}
	answer, answered := s.input.Ask(ctx, fmt.Sprintf("This looks like %s. Use @%s? [Y/n] ", work, row.Name), "", "y", "yes", "n", "no")
	switch {
	case !answered:
		return errUnanswered
	case answer == "n" || answer == "no":
		s.session.declined = append(s.session.declined, row.Name)
		s.screen.Note(fmt.Sprintf("— it goes to @%s; @%s is not proposed again here", s.session.agents.SpokenTo(), row.Name))
	default:
		s.session.agents.SpeakTo(row.Name)
	}
	return nil
}
