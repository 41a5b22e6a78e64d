package nats

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/bus"
)

// client connects as somebody, as a program that is not fika does; refused holds
// what the server does not let it do.
func (h *home) client(t *testing.T, ep Endpoint) (nc *nats.Conn, refused <-chan error) {
	t.Helper()
	errs := make(chan error, 64)
	opts := []nats.Option{nats.UserInfo(ep.User, ep.Password), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err })}
	if ep.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(ep.Inbox))
	}
	nc, err := nats.Connect(ep.URL, opts...)
	must(t, err)
	t.Cleanup(nc.Close)
	return nc, errs
}

func (h *home) endpoint(t *testing.T, who string) Endpoint {
	t.Helper()
	ep, err := h.server.Endpoint(who)
	must(t, err)
	return ep
}

// TestD3Members: who asks as a member is known by the connection alone.
func TestD3Members(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 0)
	must(t, h.server.SetMembers([]Member{{Name: "build", Agents: []fika.AgentName{"coder"}}, {Name: "mail"}}))
	got := make(chan bus.Msg, 16)
	in.consume(t, func(_ context.Context, m bus.Msg) error { got <- m; return nil })

	build, refused := h.client(t, h.endpoint(t, MemberUser("build")))
	answer, err := build.Request("fika.member.build.agent.coder.request", []byte("mine"), patience)
	must(t, err)
	if m := next(t, got); m.Member != "build" || m.Subject != "fika.agent.coder.request" || string(m.Data) != "mine" {
		t.Errorf("it asks as %+v; the answer is %s", m, answer.Data)
	}
	for _, subject := range []string{
		"fika.agent.coder.request", "fika.member.mail.agent.coder.request", "fika.member.build.agent.tester.request",
		"fika.agent.coder.control", "fika.agent.coder.bell", "fika.agent.coder.response", "fika.agent.coder.context.request", "fika.chat.room", "fika.hub.bell",
		storedPrefix + "fika.agent.coder.request", storedPrefix + "fika.member.mail.agent.coder.request", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.PURGE.FIKA_REQUESTS",
	} {
		must(t, build.Publish(subject, []byte("forged")))
		if err := next(t, refused); err == nil {
			t.Errorf("%s is published", subject)
		}
	}
	for _, subject := range []string{"fika.>", "fika.agent.tester.response", "fika.agent.*.response", "fika.agent.coder.response", "fika.agent.coder.status", "fika.member.mail.agent.coder.response", "fika.member.>", "_INBOX.>", "_INBOX.member-mail.>", "fika.chat.>"} {
		_, err := build.SubscribeSync(subject)
		must(t, err)
		must(t, build.Flush())
		if err := next(t, refused); err == nil {
			t.Errorf("%s is heard", subject)
		}
	}
	for _, who := range []string{UserMember, AgentUser("coder")} {
		must(t, h.server.EnsureAgent("coder"))
		other, refused := h.client(t, h.endpoint(t, who))
		must(t, other.Publish("fika.member.mail.agent.coder.request", []byte("forged")))
		must(t, other.Flush())
		if err := next(t, refused); err == nil {
			t.Errorf("%s asks as a member", who)
		}
	}
	mail, _ := h.client(t, h.endpoint(t, MemberUser("mail")))
	must(t, mail.Publish("fika.member.mail.agent.any.request", []byte("last")))
	if m := next(t, got); m.Member != "mail" || string(m.Data) != "last" {
		t.Errorf("what was refused came through: %+v", m)
	}
}

// TestD3MemberConcernsNobody: what a member says beside its request reaches nobody
// but itself.
func TestD3MemberConcernsNobody(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 0)
	must(t, h.server.SetMembers([]Member{{Name: "build"}, {Name: "mail"}}))
	got := make(chan bus.Msg, 16)
	in.consume(t, func(_ context.Context, m bus.Msg) error { got <- m; return nil })
	watcher, _ := h.client(t, h.endpoint(t, UserHub))
	heard, err := watcher.SubscribeSync("fika.agent.coder.control")
	must(t, err)
	must(t, watcher.Flush())

	build, _ := h.client(t, h.endpoint(t, MemberUser("build")))
	m := nats.NewMsg("fika.member.build.agent.coder.request")
	m.Reply, m.Data = "fika.agent.coder.control", []byte("first")
	m.Header.Set(nats.MsgIdHdr, "one")
	must(t, build.PublishMsg(m))
	next(t, got)

	mail, _ := h.client(t, h.endpoint(t, MemberUser("mail")))
	m = nats.NewMsg("fika.member.mail.agent.coder.request")
	m.Data = []byte("second")
	m.Header.Set(nats.MsgIdHdr, "one") // which is not the other's
	answer, err := mail.RequestMsg(m, patience)
	must(t, err)
	if m := next(t, got); string(m.Data) != "second" || m.Member != "mail" {
		t.Errorf("%+v; the answer is %s", m, answer.Data)
	}
	must(t, watcher.Flush())
	if n, _, _ := heard.Pending(); n != 0 {
		t.Error("an agent was told what a member chose as the place of its answer")
	}
}

// TestD3MemberGone: the credential of a member that is gone is worth nothing, at
// once and after a restart; one that comes back has another.
func TestD3MemberGone(t *testing.T) {
	h := newHome(t)
	list := []Member{{Name: "build"}, {Name: "mail"}}
	must(t, h.server.SetMembers(list))
	old := h.endpoint(t, MemberUser("build"))
	build, _ := h.client(t, old)
	left := make(chan error, 4)
	build.SetDisconnectErrHandler(func(_ *nats.Conn, err error) { left <- err })
	mail, _ := h.client(t, h.endpoint(t, MemberUser("mail")))
	must(t, h.server.SetMembers(list[1:]))
	next(t, left)
	must(t, mail.Flush())
	refuse := func(ep Endpoint) {
		t.Helper()
		if nc, err := nats.Connect(ep.URL, nats.UserInfo(ep.User, ep.Password)); err == nil {
			nc.Close()
			t.Errorf("%s is let in", ep.User)
		}
	}
	refuse(old)
	_, err := Credentials(h.dir, old.User)
	wantKind(t, err, fika.NotFound)
	must(t, h.server.SetMembers(list))
	if now := h.endpoint(t, old.User); now.Password == old.Password {
		t.Error("its old password is good again")
	}
	refuse(old)
	refuse(Endpoint{URL: old.URL, User: old.User})
	refuse(Endpoint{URL: old.URL, User: MemberUser("other"), Password: old.Password})
	now := h.endpoint(t, old.User)
	h.down(t)
	h.up(t) // with no members
	now.URL = h.endpoint(t, UserMember).URL
	refuse(now)
}

// A program that follows the bus keeps the hub from leaving, whichever user it is.
func TestHasMembers(t *testing.T) {
	h := newHome(t)
	must(t, h.server.SetMembers([]Member{{Name: "build"}}))
	if _, err := h.client(t, h.endpoint(t, UserHub)); h.server.HasMembers() {
		t.Error("only the hub is on the bus", err)
	}
	for _, who := range []string{UserMember, MemberUser("build")} {
		nc, _ := h.client(t, h.endpoint(t, who))
		if !h.server.HasMembers() {
			t.Errorf("%s is connected and does not count", who)
		}
		nc.Close()
	}
}
