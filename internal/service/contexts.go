package service

import (
	"context"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/store"
)

// SendToContext puts a message into the ongoing conversation of a context, as the tool
// send_message does: its next turn reads it, and a running agent is woken. A person
// appears under their username or an alias; an agent, through a command in one of its
// tools, speaks as itself and in its chain. The context's files receive the message
// when they are next brought up to date. Error kinds: NotFound, Denied, Invalid, Limit.
func (c *Service) SendToContext(ctx context.Context, name fika.AgentName, text string, as Alias) (Posted, error) {
	if err := c.mayAgent(ctx, "agent.message", name); err != nil {
		return Posted{}, err
	}
	speaker, say, err := c.speaker(ctx, as)
	if err != nil {
		return Posted{}, err
	}
	said, err := c.personSays(text, as.Name)
	if err != nil {
		return Posted{}, err
	}
	row, err := c.app.Recipient(ctx, name)
	if err != nil {
		return Posted{}, err
	}
	if err := c.app.MayCall(ctx, speaker, row.Name); err != nil {
		return Posted{}, err
	}
	m := store.Send{To: row.ID, From: said.From, Writer: fika.ByHuman, WriterName: said.From, Content: text}
	if speaker == nil {
		err = c.app.MayBeCalled(ctx, said.From)
	} else {
		m, err = c.agentSends(ctx, speaker, row, m)
	}
	if err != nil {
		return Posted{}, err
	}
	posted, err := once(ctx, say, "agent.message", []any{m.To, m.From, text}, func(to *store.Store) (Posted, error) {
		return to.Deliver(ctx, m)
	}, func(done *store.Repeated) (Posted, error) {
		r := done.Last(store.EntryEvent)
		entry, err := c.store.EntryByID(ctx, r.Conversation, r.Entry)
		return Posted{Entry: entry, Repeat: true}, err
	})
	if err == nil {
		c.wake(ctx, name)
	}
	return posted, err
}

// agentSends turns m into a message of an agent, one deeper than its request.
func (c *Service) agentSends(ctx context.Context, s *app.Speaker, to fika.Agent, m store.Send) (store.Send, error) {
	if to.Name == s.Agent {
		return m, fika.Errorf(fika.Invalid, "", "%s is your own context: say it in your answer", to.Name)
	}
	settings, err := c.app.Settings(s.Agent, nil, true)
	if err != nil {
		return m, err
	}
	if err := s.CheckDepth(app.StoreLimits(settings.Chat.Limits)); err != nil {
		return m, err
	}
	m.From, m.Writer, m.WriterName = string(s.Agent), fika.ByAgent, string(s.Agent)
	m.Chain, m.Depth = s.Request.Chain, s.Request.Depth+1
	m.Rights, m.Taint = s.PassedOn()
	letter := chat.Letter{From: s.Agent, To: to, Chain: m.Chain, Depth: m.Depth, Text: m.Content}
	repeats, err := chat.OnlyEchoes(ctx, c.store, letter, settings.Chat.MaxEcho)
	if err == nil && repeats {
		err = fika.Errorf(fika.Limit, "", "you and %s only repeat what you have said to each other (max_echo); end here, or say something new", to.Name)
	}
	return m, err
}
