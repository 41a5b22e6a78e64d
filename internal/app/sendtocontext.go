package app

import (
	"context"
	"fika"
	"fika/internal/chat"
	"fika/internal/store"
)

// SendToContext puts a message into the ongoing conversation of a context, as
// the tool send_message does: its next turn reads it, its files have it now,
// and an agent that is there is woken. from is what a person is called; an
// agent, through a command in one of its tools, speaks as itself and in its
// chain. Error kinds: NotFound, Denied, Invalid, Limit.
func (c *Client) SendToContext(ctx context.Context, a *App, name fika.AgentName, from, text string) (store.Posted, error) {
	row, err := a.Recipient(ctx, name)
	if err != nil {
		return store.Posted{}, err
	}
	speaker, err := a.Speaker(ctx)
	if err != nil {
		return store.Posted{}, err
	}
	m := store.Send{To: row.ID, From: from, Writer: fika.ByHuman, WriterName: from, Content: text}
	if speaker == nil {
		err = a.MayBeCalled(ctx, from)
	} else {
		m, err = speaker.write(ctx, a, row, m)
	}
	if err != nil {
		return store.Posted{}, err
	}
	posted, err := c.Store.Deliver(ctx, m)
	if err != nil {
		return posted, err
	}
	c.Ring(name)
	_ = c.Bus.Flush(ctx)
	return posted, a.catchUp(ctx, name)
}

// write makes a message that of the agent: one deeper than its request.
func (s *Speaker) write(ctx context.Context, a *App, to fika.Agent, m store.Send) (store.Send, error) {
	if to.Name == s.Agent {
		return m, fika.Errorf(fika.Invalid, "", "%s is your own context: say it in your answer", to.Name)
	}
	settings, err := a.Settings(s.Agent, nil, true)
	if err != nil {
		return m, err
	}
	if err := s.within(Limits(settings.Chat.Limits)); err != nil {
		return m, err
	}
	m.From, m.Writer, m.WriterName = string(s.Agent), fika.ByAgent, string(s.Agent)
	m.Chain, m.Depth = s.Request.Chain, s.Request.Depth+1
	letter := chat.Letter{From: s.Agent, To: to, Chain: m.Chain, Depth: m.Depth, Text: m.Content}
	repeats, err := chat.Echoes(ctx, a.store, letter, settings.Chat.MaxEcho)
	if err == nil && repeats {
		err = fika.Errorf(fika.Limit, "", "you and %s only repeat what you have said to each other (max_echo); end here, or say something new", to.Name)
	}
	return m, err
}
