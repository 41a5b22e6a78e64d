package session

import (
	"context"
	"fmt"
	"strconv"

	"fika"
	"fika/internal/cli/input"
	"fika/internal/service"
	"fika/internal/system/term"
)

// shownSessions is how many earlier sessions /resume lists.
const shownSessions = 20

// resumeSession carries out /resume [N]: it lists earlier sessions, newest first, by their
// first prompts, or enters one of them. If the chat is paused, /resume alone ends that.
func (v *visit) resumeSession(ctx context.Context, line input.Line) error {
	words := line.Arguments()
	if len(words) == 0 && v.chat.isPaused(ctx) {
		return v.unpause(ctx, line)
	}
	list, err := v.earlierSessions(ctx)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return v.listSessions(ctx, list)
	}
	if n, err := strconv.Atoi(words[0]); err == nil && n > 0 && n <= len(list) {
		v.session.next = &list[n-1].Conversation
		return errAnother
	}
	for _, x := range list {
		if string(x.Name) == words[0] {
			v.session.next = &x.Conversation
			return errAnother
		}
	}
	return fika.Errorf(fika.NotFound, "", "session %q not found; /resume lists them", term.CleanLine(words[0]))
}

// earlierSessions returns the other sessions of the home, newest first.
func (v *visit) earlierSessions(ctx context.Context) (out []service.ConversationInfo, err error) {
	all, err := v.chat.service().Chats.List(ctx)
	for _, x := range all {
		if service.IsSessionName(x.Name) && x.ID != v.chat.conversation().ID && len(out) < shownSessions {
			out = append(out, x)
		}
	}
	return out, err
}

func (v *visit) listSessions(ctx context.Context, list []service.ConversationInfo) error {
	if len(list) == 0 {
		v.screen.Note("— no earlier session")
		return nil
	}
	var rows [][]string
	for i, x := range list {
		first, at := "(nothing was said)", ""
		q := service.EntryQuery{Conversation: x.ID, Types: []fika.EntryType{fika.Message}, First: 1}
		_, err := v.chat.service().Chats.Read(ctx, q, func(e fika.Entry) error {
			first, at = term.CleanLine(e.Content), term.Ago(e.At, v.Now())
			return nil
		})
		if err != nil {
			return err
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), at, term.Truncate(first, 60)})
	}
	v.screen.Print(term.FormatTable(term.TableOptions{Width: v.screen.Width(), Style: v.OutStyle()}, []string{"N", "BEGUN", "FIRST PROMPT"}, rows))
	v.screen.Note("— /resume N continues with one")
	return nil
}

// showStatus carries out /status.
func (v *visit) showStatus(ctx context.Context, line input.Line) error {
	v.screen.Note(v.session.welcome(ctx, v.Env, v.chat.service().Sandbox(), v.screen.Width()))
	v.screen.Note("— session " + v.chat.name())
	agent := v.session.agents.SpokenTo()
	if use, err := v.chat.service().Chats.ContextUse(ctx, v.chat.conversation(), agent, false); err == nil && use.Tokens > 0 {
		v.screen.Note(fmt.Sprintf("— window of @%s: %s (/context)", agent, fillText(use)))
	}
	if err := v.showCost(ctx, line); err != nil {
		return err
	}
	return v.showWaiting(ctx, line)
}

// clear carries out /clear.
func (v *visit) clear(ctx context.Context, _ input.Line) error {
	err := v.chat.service().Chats.Clear(ctx, v.chat.conversation())
	if err == nil {
		v.screen.Note("— cleared: the agents no longer see what is above; it stays in the chat")
	}
	return err
}
