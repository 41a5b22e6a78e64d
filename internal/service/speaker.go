package service

import (
	"context"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/system/crash"
)

// Alias is the name that a person wants to use instead of their username; empty: none.
// Option is how it was given, for errors.
type Alias struct {
	Name   string
	Option string
}

// speaker returns the agent that speaks through this command, or nil if a person does,
// and the service for what is said: a tool that hides its agent, too, speaks as that one.
// It returns Denied if an agent wants to use another name: it speaks as itself.
func (c *Service) speaker(ctx context.Context, as Alias) (*app.Speaker, *Service, error) {
	s, err := app.SpeakerOf(ctx, c.store, c.who)
	if s == nil || err != nil {
		return nil, c, err
	}
	if as.Name != "" {
		return nil, c, fika.Errorf(fika.Denied, "", "%s can only be run by a person, not by a tool of @%s", as.Option, s.Agent)
	}
	crash.Point("speak")
	who := api.Principal{Kind: api.Agent, Name: string(s.Agent), Door: c.who.Door, Request: string(s.Request.ID), Step: c.who.Step}
	if who.Step == "" {
		who.Step = who.Request
	}
	say := c.As(who)
	say.write = c.write
	return s, say, nil
}

// CheckAlias returns an error for a name that a person may not use, before anything is
// created for their message: Denied for the name of an agent.
func (c *Service) CheckAlias(ctx context.Context, as Alias) error {
	if as.Name == "" {
		return nil
	}
	return c.app.MayBeCalled(ctx, as.Name)
}

// SetUsername stores a person's name for a context in its local.toml, and creates the
// context if needed. It needs no service. Error kinds: Invalid for a malformed username,
// Denied for the name of an agent.
func SetUsername(ctx context.Context, a *app.App, in fika.AgentName, username string) error {
	user, err := fika.ParseUsername(username)
	if err == nil { // checked before writing: with an agent's name no run would work any more
		err = a.MayBeCalled(ctx, user)
	}
	if err != nil {
		return err
	}
	h, err := a.Home()
	if err != nil {
		return err
	}
	f, _, err := h.Ensure(in)
	if err != nil {
		return err
	}
	return config.SetKey(f.LocalConfig(), "username", user)
}

// personSays returns a message of the person who asks.
func (c *Service) personSays(text, as string) (chat.Said, error) {
	conf, err := c.app.Config()
	if err != nil {
		return chat.Said{}, err
	}
	user := conf.Username
	if c.who.Kind == api.Person || c.who.Kind == api.Program {
		user = c.who.Name
	}
	if user, err = fika.ParseUsername(user); err != nil {
		return chat.Said{}, err
	}
	s := chat.Said{From: user, Username: user, Text: text, TTL: conf.Chat.MessageTTL}
	if as != "" {
		if s.From, err = fika.ParseUsername(as); err != nil {
			return s, err
		}
	}
	return s, nil
}

// agentSays returns what an agent adds to a message in a conversation: its chain, one
// deeper than its request. It returns Limit if the chain has reached its greatest
// depth.
func (c *Service) agentSays(s *app.Speaker, conv fika.Conversation) (*chat.AgentSays, error) {
	limits, err := c.limitsOf(s)
	if err != nil {
		return nil, err
	}
	if err := s.CheckDepth(limits.HoldingIn(conv.Limits)); err != nil {
		return nil, err
	}
	rights, taint := s.PassedOn()
	return &chat.AgentSays{Name: s.Agent, Chain: s.Request.Chain, Depth: s.Request.Depth + 1, Rights: rights, Taint: taint}, nil
}

// limitsOf returns the limits on chains in an agent's settings.
func (c *Service) limitsOf(s *app.Speaker) (store.Limits, error) {
	settings, err := c.app.Settings(s.Agent, nil, true)
	if err != nil {
		return store.Limits{}, err
	}
	return app.StoreLimits(settings.Chat.Limits), nil
}

// programAsks makes a request that of the program that asks: in its name, tainted, and
// with the tools of the agent if a person runs it here, or with those that a person gave to
// it as a member of the bus; others have none. It returns Denied for an agent that the
// program may not reach, or that takes no work from people.
func (c *Service) programAsks(ctx context.Context, to fika.Agent, r store.NewRequest) (store.NewRequest, error) {
	if !c.who.Reaches(string(to.Name)) {
		return r, fika.Errorf(fika.Denied, "", "%s may not ask @%s", c.who.Name, to.Name)
	}
	r.Payload.From, r.Payload.Sender, r.Taint = "", c.who.Name, "program "+c.who.Name
	if name, err := fika.ParseUsername(c.who.Name); err == nil {
		r.Payload.From = name
	}
	m := c.config().BusMember(c.who.Name)
	switch {
	case c.who.For != "":
	case m != nil:
		r.Rights = rightsWith(m.Tools, m.Network == "on")
	default:
		r.Rights = rightsWith(nil, false)
	}
	return r, c.app.MayCall(ctx, nil, to.Name)
}
