package bus

import (
	"context"
	"strings"
	"time"

	"fika"
)

// Msg is a message that arrived. Respond answers a request; on a plain message it does
// nothing.
type Msg struct {
	Subject string
	Data    []byte
	Respond func([]byte) error
	Lost    *Lost // instead of Data; see [Inbound.Consume]
	// Asker is the agent that alone can receive the answer, where the server says so;
	// empty if a program of the person asks, or if nobody does.
	Asker fika.AgentName
	// Member is the program that published a request, where the server tells programs
	// apart; empty if it used the credential of the person's programs, or if the program
	// is not known.
	Member string
}

// Lost is a request that was accepted and disappeared before anybody read it.
type Lost struct {
	ID       string // requestId; empty if not known
	Accepted time.Time
}

// State is the state of the connection.
type State string

// The connection states.
const (
	Connected    State = "connected"
	Reconnecting State = "reconnecting"
	Closed       State = "closed"
	Off          State = "off" // this process has no bus
)

// Subscription is ended by Close; no handler runs after Close has returned.
type Subscription interface{ Close() error }

// Dropped returns how many messages s has lost by falling behind, or 0 if s does not
// count them.
func Dropped(s Subscription) int {
	if d, ok := s.(interface{ Dropped() int }); ok {
		return d.Dropped()
	}
	return 0
}

// Drain begins to end s: nothing that is published from now on arrives, but what has
// already come is still delivered. The channel is closed when the last message has been
// handled; the caller still has to close s, then or before.
func Drain(s Subscription) <-chan struct{} {
	if d, ok := s.(interface{ Drain() <-chan struct{} }); ok {
		return d.Drain()
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Bus publishes and subscribes. It is safe for concurrent use.
type Bus interface {
	// Publish hands data over without waiting for anybody. While the connection is down,
	// up to 8 MiB are kept and sent later; beyond that, and for messages over
	// max_payload, Publish fails.
	Publish(subject string, data []byte) error
	// Subscribe calls h for each message, in order and one at a time per subscription. A
	// handler that falls behind by 64 MiB or 512k messages loses later messages, which
	// [Dropped] counts. Subscriptions survive reconnects. h must not close its own
	// subscription.
	Subscribe(subject string, h func(Msg)) (Subscription, error)
	// Request waits for one answer. Error kind: NotFound when nobody listens.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
	// Flush returns when the server has received what was published.
	Flush(ctx context.Context) error
	// Watch calls f immediately with the current state, and then with each change.
	Watch(f func(State, error)) Subscription
	MaxPayload() int
	Close() error
}

// Inbound is the hub's side of the durable stream of foreign requests.
type Inbound interface {
	// Consume calls h for each message, in order, until ctx ends. If h returns nil, the
	// message is acknowledged; if it returns an error, the message is kept for later.
	// Acknowledged messages are purged. A request that was accepted but lost from the
	// stream through damage comes with Lost set, from any goroutine; for such a message
	// an error of kind Conflict says that h knows the request, so that nothing was lost.
	Consume(ctx context.Context, h func(context.Context, Msg) error) error
	// Probe publishes to the stream's canary and reports whether it is stored within d.
	// Error kind: Limit when the stream answers but is full of unread requests, which
	// restarting the server does not fix.
	Probe(ctx context.Context, d time.Duration) error
}

// Subjects names the subjects of one installation.
type Subjects struct{ Prefix string }

func (s Subjects) agent(n fika.AgentName, what string) string {
	return s.Prefix + ".agent." + string(n) + "." + what
}

// Request returns the subject of task_request and ask_request from any client.
func (s Subjects) Request(n fika.AgentName) string { return s.agent(n, "request") }

// MemberRequest returns the subject of the same requests from one program, which alone
// may publish there.
func (s Subjects) MemberRequest(member string, n fika.AgentName) string {
	return s.Prefix + ".member." + member + ".agent." + string(n) + ".request"
}

// MemberResponse returns the subject on which one program, alone, hears the outcome of
// what it has asked of an agent.
func (s Subjects) MemberResponse(member string, n fika.AgentName) string {
	return s.Prefix + ".member." + member + ".agent." + string(n) + ".response"
}

// MemberStatus returns the subject on which one program, alone, hears what an agent does
// for it.
func (s Subjects) MemberStatus(member string, n fika.AgentName) string {
	return s.Prefix + ".member." + member + ".agent." + string(n) + ".status"
}

// Bell returns the subject that says "look at the store"; its messages are empty.
func (s Subjects) Bell(n fika.AgentName) string { return s.agent(n, "bell") }

// Response returns the subject of the outcome of each request.
func (s Subjects) Response(n fika.AgentName) string { return s.agent(n, "response") }

// Status returns the subject of what a turn does while it runs.
func (s Subjects) Status(n fika.AgentName) string { return s.agent(n, "status") }

// Heartbeat returns the subject of signs of life.
func (s Subjects) Heartbeat(n fika.AgentName) string { return s.agent(n, "heartbeat") }

// Idle returns the subject on which an agent's hub tells its process that there is nothing
// for it to do.
func (s Subjects) Idle(n fika.AgentName) string { return s.agent(n, "idle") }

// Control returns the subject of shutdown, reset, cancel and switch.
func (s Subjects) Control(n fika.AgentName) string { return s.agent(n, "control") }

// ContextRequest returns the subject on which an agent's context is asked for, as request
// and reply.
func (s Subjects) ContextRequest(n fika.AgentName) string { return s.agent(n, "context.request") }

// Chat returns the subject of the entries of a chat as they are committed.
func (s Subjects) Chat(c fika.ConversationName) string { return s.Prefix + ".chat." + string(c) }

// Live returns the subject on which an agent's process says what it is streaming now, as
// request and reply.
func (s Subjects) Live(n fika.AgentName) string { return s.agent(n, "live") }

// Events returns the subject that says "events were committed"; its messages are empty.
func (s Subjects) Events() string { return s.Prefix + ".events" }

// Workflow returns the subject of the events of one run of a workflow.
func (s Subjects) Workflow(run fika.RequestID) string {
	return s.Prefix + ".workflow." + string(run) + ".status"
}

// Executor returns the subject that tells an executor "look at the store"; its messages
// are empty.
func (s Subjects) Executor(name string) string { return s.Prefix + ".executor." + name + ".bell" }

// Hub returns the bell of the hub itself.
func (s Subjects) Hub() string { return s.Prefix + ".hub.bell" }

// HubStore returns the subject on which the hub of this prefix says which store it works
// for.
func (s Subjects) HubStore() string { return s.Prefix + ".hub.store" }

// Dead returns the subject of messages that could not be understood.
func (s Subjects) Dead() string { return s.Prefix + ".dead" }

// All returns the pattern that matches every subject of the installation.
func (s Subjects) All() string { return s.Prefix + ".>" }

// AgentOf returns the agent that an agent subject names. It returns false if subject is
// not an agent subject or the name is not a valid one.
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

// Nobody is a Bus without listeners: publishing succeeds, nothing arrives.
type Nobody struct{}

type nothing struct{}

func (nothing) Close() error { return nil }

// Publish does nothing.
func (Nobody) Publish(string, []byte) error { return nil }

// Subscribe never calls h.
func (Nobody) Subscribe(string, func(Msg)) (Subscription, error) { return nothing{}, nil }

// Request always fails with NotFound.
func (Nobody) Request(context.Context, string, []byte) ([]byte, error) {
	return nil, fika.Errorf(fika.NotFound, "bus", "no bus")
}

// Flush returns at once: there is nothing to wait for.
func (Nobody) Flush(context.Context) error { return nil }

// Watch reports Off, once.
func (Nobody) Watch(f func(State, error)) Subscription { f(Off, nil); return nothing{} }

// MaxPayload returns the default of NATS.
func (Nobody) MaxPayload() int { return 1 << 20 }

// Close does nothing.
func (Nobody) Close() error { return nil }
