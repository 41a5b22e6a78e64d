package nats

import (
	"maps"
	"reflect"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"fika"
	"fika/internal/bus"
)

// Member is a program that a person allows to ask agents, with a bus user of its own
// ([MemberUser]). It publishes requests on subjects where nobody else may publish, so
// that the asker is known by the connection and not by what a message says.
type Member struct {
	Name   string
	Agents []fika.AgentName // that it may ask; nil: all
}

// permissions returns what a member may publish and subscribe to: requests to the agents
// it may ask, what they answer to it and do for it, and an inbox of its own.
func (m Member) permissions(prefix string) *server.Permissions {
	subjects := bus.Subjects{Prefix: prefix}
	agents := m.Agents
	if agents == nil {
		agents = []fika.AgentName{"*"}
	}
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{},
		Subscribe: &server.SubjectPermission{Allow: []string{inboxOf(MemberUser(m.Name)) + ".>"}},
	}
	for _, a := range agents {
		p.Publish.Allow = append(p.Publish.Allow, subjects.MemberRequest(m.Name, a))
		p.Subscribe.Allow = append(p.Subscribe.Allow, subjects.MemberResponse(m.Name, a), subjects.MemberStatus(m.Name, a))
	}
	if len(agents) == 0 {
		p.Publish.Deny = []string{">"} // an empty list alone allows everything
	}
	return p
}

// memberRequests returns the pattern that matches the requests of all members.
func memberRequests(prefix string) string {
	return bus.Subjects{Prefix: prefix}.MemberRequest("*", "*")
}

// splitMember returns the subject that the request would have without a member, and the
// member; "" if it has none.
func splitMember(prefix, subject string) (plain, member string) {
	rest, ok := strings.CutPrefix(subject, prefix+".member.")
	if !ok {
		return subject, ""
	}
	member, rest, _ = strings.Cut(rest, ".")
	return prefix + "." + rest, member
}

// SetMembers replaces the list of members. Credentials of new members are created and
// work at once; those of removed members are forgotten. A connection of a removed member,
// or of one whose permissions have changed, is disconnected.
func (s *Server) SetMembers(list []Member) error {
	changed, err := s.users.setMembers(list)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, who := range changed {
		disconnect(s.ns, who)
	}
	return nil
}

// setMembers returns the bus users whose permissions have changed.
func (u *users) setMembers(list []Member) (changed []string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	next := secrets{Port: u.sec.Port, Users: maps.Clone(u.sec.Users)}
	members := map[string]Member{}
	for _, m := range list {
		who := MemberUser(m.Name)
		members[who] = m
		if next.Users[who] == "" {
			next.Users[who] = newPassword()
		}
	}
	maps.DeleteFunc(next.Users, func(who, _ string) bool {
		_, here := members[who]
		return strings.HasPrefix(who, memberUserPrefix) && !here
	})
	if !maps.Equal(next.Users, u.sec.Users) {
		if err := u.writeSecrets(next); err != nil {
			return nil, err
		}
	}
	for who, before := range u.members {
		if now, here := members[who]; !here || !reflect.DeepEqual(now, before) {
			changed = append(changed, who)
		}
	}
	u.members = members
	return changed, nil
}

func (u *users) memberOf(who string) (Member, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	m, here := u.members[who]
	return m, here
}

// disconnect ends the connections of a user, who may reconnect with the current
// permissions.
func disconnect(ns *server.Server, who string) {
	if ns == nil {
		return
	}
	const many = 1 << 16
	list, err := ns.Connz(&server.ConnzOptions{Username: true, User: who, Limit: many})
	if err != nil {
		return // the server knows no such user
	}
	for _, c := range list.Conns {
		_ = ns.DisconnectClientByID(c.Cid) // an error means that it has left by itself
	}
}
