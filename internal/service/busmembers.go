package service

import (
	"context"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	busnats "fika/internal/bus/nats"
	"fika/internal/settings/config"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// BusMember is a program that may ask agents with its own credential.
type BusMember = config.BusMember

// MemberAccess says how a member reaches the bus, and which subjects it uses.
type MemberAccess struct {
	Member   BusMember
	URL      string
	User     string
	Password string
	Subject  string // that it publishes to, with AGENT for the name
	Inbox    string // prefix of its reply subjects
}

// BusMembers returns the members that the configuration names.
func (c *Service) BusMembers() []BusMember { return c.config().BusMembers }

// MembersIgnored says why members have no effect here; "" if they have.
func (c *Service) MembersIgnored() string {
	if !c.app.External(c.config(), c.home) {
		return ""
	}
	return "members count on the hub's own server only: on the one that [nats] server names, fika cannot tell who publishes (request_tools in [nats] is what all may)"
}

// AddBusMember writes a member into the home's config.toml and wakes the hub, which
// creates its credential. Error kinds: Conflict for a name that is taken, NotFound for
// an agent that does not exist, Invalid, Storage.
func (c *Service) AddBusMember(ctx context.Context, m BusMember) error {
	if err := c.may("file.bus-member"); err != nil {
		return err
	}
	known := c.config()
	switch {
	case known.BusMember(m.Name) != nil:
		return fika.Errorf(fika.Conflict, "", "member %q already exists: %s first, or edit [[bus_members]]", m.Name, hint.BusRemove.With(m.Name))
	case known.Agent(fika.AgentName(m.Name)) != nil:
		return fika.Errorf(fika.Conflict, "", "%q is the id of an agent: members of the bus and agents cannot share a name", m.Name)
	}
	for _, name := range m.Agents {
		if name == message.TeamAgent || known.Agent(fika.AgentName(name)) != nil {
			continue
		}
		if _, err := c.store.Agent(ctx, fika.AgentName(name)); err != nil {
			return err
		}
	}
	if err := config.AddBusMember(c.home.ConfigFile(), m); err != nil {
		return err
	}
	c.waker.WakeHub()
	return nil
}

// RemoveBusMember removes a member from the home's config.toml and wakes the hub, which
// forgets its credential. Error kinds: NotFound, Invalid, Storage.
func (c *Service) RemoveBusMember(name string) error {
	if err := c.may("file.bus-member"); err != nil {
		return err
	}
	if err := config.RemoveBusMember(c.home.ConfigFile(), name); err != nil {
		return err
	}
	c.waker.WakeHub()
	return nil
}

// credentialWait is how long the hub may take to create a credential.
const credentialWait = 5 * time.Second

// MemberAccess returns how a member reaches the bus. It waits for a running hub that
// has not created the credential yet. Error kinds: NotFound if there is no such member
// or no hub; Invalid on an external server.
func (c *Service) MemberAccess(ctx context.Context, name string) (MemberAccess, error) {
	if err := c.may("host.bus-secret"); err != nil {
		return MemberAccess{}, err
	}
	m := c.config().BusMember(name)
	if m == nil {
		return MemberAccess{}, fika.WithHint(fika.Errorf(fika.NotFound, "", "member %q not found", name), hint.BusList)
	}
	if why := c.MembersIgnored(); why != "" {
		return MemberAccess{}, fika.Errorf(fika.Invalid, "", "%s", why)
	}
	ctx, cancel := context.WithTimeout(ctx, credentialWait)
	defer cancel()
	for {
		ep, err := busnats.Credentials(c.home.RunDir(), busnats.MemberUser(m.Name))
		_, up := c.home.HubProcess()
		switch {
		case err == nil:
			return MemberAccess{
				Member: *m, URL: ep.URL, User: ep.User, Password: ep.Password, Inbox: ep.Inbox,
				Subject: bus.Subjects{Prefix: c.config().NATS.SubjectPrefix}.MemberRequest(m.Name, "AGENT"),
			}, nil
		case !up || !fika.IsKind(err, fika.NotFound):
			return MemberAccess{}, err
		}
		c.waker.WakeHub()
		if sleep.For(ctx, 50*time.Millisecond) != nil {
			return MemberAccess{}, err
		}
	}
}
