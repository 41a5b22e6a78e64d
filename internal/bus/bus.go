package bus

import (
	"context"
	"strings"
	"time"

	"fika"
)

// Msg is what arrives. Respond answers a request; on a plain message it does
// nothing.
type Msg struct {
	Subject string
	Data    []byte
	Respond func([]byte) error
	Lost    *Lost // in place of Data; see [Inbound.Consume]
	// Asker is the agent that alone can receive the answer, where the server
	// tells; empty: a program of the person, or nobody asks.
	Asker fika.AgentName
	// Member is the program that published a request, where the server tells one
	// from the others; empty: one with the credential of the person's programs, or
	// nobody knows which.
	Member string
}

// Lost is a request that was accepted and is gone before anybody read it.
type Lost struct {
	ID       string // requestId; empty: not known
	Accepted time.Time
}

// State says how the connection is.
type State string

// The connection states.
const (
	Connected    State = "connected"
	Reconnecting State = "reconnecting"
	Closed       State = "closed"
	Off          State = "off" // this process has no bus
)

// Subscription ends with Close; no handler runs after Close returned.
type Subscription interface{ Close() error }

// Dropped counts the messages s has lost by falling behind; 0 where nobody
// counts.
func Dropped(s Subscription) int {
	if d, ok := s.(interface{ Dropped() int }); ok {
		return d.Dropped()
	}
	return 0
}

// Drain begins to end s: nothing that is published from now on arrives, and what has
// come so far still does. The channel is closed when the last of it was handled; s is
// closed as ever, then or before.
func Drain(s Subscription) <-chan struct{} {
	if d, ok := s.(interface{ Drain() <-chan struct{} }); ok {
		return d.Drain()
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Bus publishes and subscribes. It may be used from many goroutines.
type Bus interface {
	// Publish hands data over without waiting for anybody. While the
	// connection is away up to 8 MiB are kept and sent later; past that, and
	// past max_payload, it fails.
	Publish(subject string, data []byte) error
	// Subscribe calls h for each message, one at a time per subscription, in
	// order. A handler that falls behind by 64 MiB or 512k messages loses what
	// comes then; [Dropped] counts it. Subscriptions survive reconnects. h must
	// not close its own subscription.
	Subscribe(subject string, h func(Msg)) (Subscription, error)
	// Request waits for one answer. NotFound when nobody listens.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
	// Flush returns when the server has what was published.
	Flush(ctx context.Context) error
	// Watch calls f with each change of state, and once at once.
	Watch(f func(State, error)) Subscription
	MaxPayload() int
	Close() error
}

// Inbound is the hub's side of the durable stream of foreign requests.
type Inbound interface {
	// Consume calls h for each message, in order, until ctx ends. nil from h
	// acknowledges it; an error leaves it for later. Acknowledged messages are
	// purged. One that was accepted and that a damage took from the stream comes
	// with Lost set, from any goroutine; an error of kind Conflict says that h
	// knows it, so that nothing was lost.
	Consume(ctx context.Context, h func(context.Context, Msg) error) error
	// Probe publishes to the stream's canary and reports whether it is stored
	// within d. Error kind Limit: the stream answers but is full of unread
	// requests, which a restart of the server does not mend.
	Probe(ctx context.Context, d time.Duration) error
}

// Subjects names the subjects of one installation.
type Subjects struct{ Prefix string }

func (s Subjects) agent(n fika.AgentName, what string) string {
	return s.Prefix + ".agent." + string(n) + "." + what
}

// Request takes task_request and ask_request from any client.
func (s Subjects) Request(n fika.AgentName) string { return s.agent(n, "request") }

// MemberRequest takes the same from one program, which alone may publish there.
func (s Subjects) MemberRequest(member string, n fika.AgentName) string {
	return s.Prefix + ".member." + member + ".agent." + string(n) + ".request"
}

// Bell says "look at the store"; its body is empty.
func (s Subjects) Bell(n fika.AgentName) string { return s.agent(n, "bell") }

// Response carries the outcome of each request.
func (s Subjects) Response(n fika.AgentName) string { return s.agent(n, "response") }

// Status carries what a turn does while it does it.
func (s Subjects) Status(n fika.AgentName) string { return s.agent(n, "status") }

// Heartbeat carries signs of life.
func (s Subjects) Heartbeat(n fika.AgentName) string { return s.agent(n, "heartbeat") }

// Control takes shutdown, reset, cancel and switch.
func (s Subjects) Control(n fika.AgentName) string { return s.agent(n, "control") }

// ContextRequest asks for an agent's context, as request and reply.
func (s Subjects) ContextRequest(n fika.AgentName) string { return s.agent(n, "context.request") }

// Chat carries the entries of a chat as they are committed.
func (s Subjects) Chat(c fika.ConversationName) string { return s.Prefix + ".chat." + string(c) }

// Workflow carries what happens in one run of a workflow.
func (s Subjects) Workflow(run fika.RequestID) string {
	return s.Prefix + ".workflow." + string(run) + ".status"
}

// Executor says "look at the store" to an executor; its body is empty.
func (s Subjects) Executor(name string) string { return s.Prefix + ".executor." + name + ".bell" }

// Hub is the bell of the hub itself.
func (s Subjects) Hub() string { return s.Prefix + ".hub.bell" }

// HubStore answers which store the hub of this prefix works for.
func (s Subjects) HubStore() string { return s.Prefix + ".hub.store" }

// Dead carries what could not be understood.
func (s Subjects) Dead() string { return s.Prefix + ".dead" }

// All matches everything of the installation.
func (s Subjects) All() string { return s.Prefix + ".>" }

// AgentOf gives the agent named by one of the agent subjects, if it is one and
// somebody can have the name.
func (s Subjects) AgentOf(subject string) (fika.AgentName, bool) {
	rest, ok := strings.CutPrefix(subject, s.Prefix+".agent.")
	if !ok {
		return "", false
	}
	name, what, _ := strings.Cut(rest, ".")
	if what == "" {
		return "", false
	}
	n, err := fika.ParseAddressee(name)
	return n, err == nil
}

// Nobody is a Bus that nobody hears: publishing succeeds, nothing arrives.
type Nobody struct{}

type nothing struct{}

func (nothing) Close() error { return nil }

// Publish does nothing.
func (Nobody) Publish(string, []byte) error { return nil }

// Subscribe never calls h.
func (Nobody) Subscribe(string, func(Msg)) (Subscription, error) { return nothing{}, nil }

// Request finds nobody.
func (Nobody) Request(context.Context, string, []byte) ([]byte, error) {
	return nil, fika.Errorf(fika.NotFound, "bus", "there is no bus here")
}

// Flush has nothing to wait for.
func (Nobody) Flush(context.Context) error { return nil }

// Watch reports Off.
func (Nobody) Watch(f func(State, error)) Subscription { f(Off, nil); return nothing{} }

// MaxPayload is NATS' default.
func (Nobody) MaxPayload() int { return 1 << 20 }

// Close does nothing.
func (Nobody) Close() error { return nil }
