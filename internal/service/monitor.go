package service

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/rights/authority"
	"fika/internal/text/hint"
)

// BusKinds returns the kinds of messages on the bus.
func BusKinds() []string {
	return []string{"request", "bell", "response", "status", "heartbeat", "idle", "control", "chat", "dead"}
}

// MonitorFilter selects the messages of the bus to show.
type MonitorFilter struct {
	Subject string // with or without the prefix; empty: derived from the fields below
	Agent   string // messages that concern it
	Chat    string // its entries
	Kind    string // one of [BusKinds]; empty: all but "idle", unless Subject is about that
}

// BusMessage is a message seen on the bus.
type BusMessage struct {
	Kind    string // one of [BusKinds], or the last word of a foreign subject
	Subject string
	Place   string // the subject without the prefix of this home
	Data    []byte
}

// Monitor listens to the bus of a home.
type Monitor struct {
	// Subject is the subject that it listens to.
	Subject string

	bus      bus.Bus
	subjects bus.Subjects
	kind     string
	sub      bus.Subscription
	watch    bus.Subscription
	messages chan bus.Msg   // capacity 4096; when full, the bus client keeps new messages
	states   chan bus.State // capacity 16: display only
	closed   chan struct{}  // closed by Close: nobody reads messages any more
	dropped  int            // number of dropped messages already reported
}

// MonitorShow receives what a monitor hears, one call at a time.
type MonitorShow struct {
	Message func(BusMessage) error
	// Connected is told when there is a bus, from which point nothing is missed, and
	// when the bus is gone.
	Connected func(bool) error
	// Dropped is told how many messages were lost because they came faster than they
	// were shown.
	Dropped func(int) error
}

// OpenMonitor starts listening, with the rights of a mere listener. While no hub runs
// it waits for one. It ends with ctx; the caller must close it.
func OpenMonitor(ctx context.Context, a *app.App, who api.Principal, f MonitorFilter) (*Monitor, error) {
	if err := (&sight{c: &Service{who: who}}).check("host.monitor", authority.Own, "the bus"); err != nil {
		return nil, err
	}
	if _, err := a.Home(); err != nil {
		return nil, err
	}
	subjects, err := a.Subjects()
	if err != nil {
		return nil, err
	}
	m := &Monitor{
		subjects: subjects, kind: f.Kind,
		messages: make(chan bus.Msg, 4096), states: make(chan bus.State, 16), closed: make(chan struct{}),
	}
	if m.Subject, err = f.subject(subjects); err != nil {
		return nil, err
	}
	if m.bus, err = a.ListenerBus(ctx); err != nil {
		return nil, err
	}
	m.watch = m.bus.Watch(func(s bus.State, _ error) {
		select {
		case m.states <- s:
		default:
		}
	})
	m.sub, err = m.bus.Subscribe(m.Subject, func(msg bus.Msg) {
		select {
		case m.messages <- msg:
		case <-m.closed:
		}
	})
	if err != nil {
		return nil, errors.Join(err, m.watch.Close())
	}
	return m, nil
}

// Close stops listening. It must be called only once.
func (m *Monitor) Close() error {
	close(m.closed)
	return errors.Join(m.watch.Close(), m.sub.Close())
}

// Run passes on the messages of the bus until ctx ends, which is not an error: messages
// that had arrived by then are passed on as well.
func (m *Monitor) Run(ctx context.Context, show MonitorShow) error {
	look := time.NewTicker(dropsLook)
	defer look.Stop()
	last := bus.State("")
	for {
		select {
		case <-ctx.Done():
			return m.drain(show)
		case <-look.C:
			if err := m.tellDropped(show); err != nil {
				return err
			}
		case st := <-m.states:
			if st != last && (st == bus.Connected || last == bus.Connected) {
				if err := m.tellState(ctx, st == bus.Connected, show); err != nil {
					return err
				}
			}
			last = st
		case msg := <-m.messages:
			if err := m.pass(msg, show); err != nil {
				return err
			}
		}
	}
}

const (
	// dropsLook is how often to check whether messages were lost.
	dropsLook = time.Second
	// drainTime is how long to wait for messages that the server has already sent, and
	// for the server to learn the subscription.
	drainTime = 2 * time.Second
)

// drain passes on the messages that have arrived, and ends the subscription.
func (m *Monitor) drain(show MonitorShow) error {
	ended, late := bus.Drain(m.sub), time.After(drainTime)
	for {
		select {
		case msg := <-m.messages:
			if err := m.pass(msg, show); err != nil {
				return err
			}
			continue
		case <-ended:
		case <-late: // the connection is gone: what it delivered is in the channel
		}
		for len(m.messages) > 0 {
			if err := m.pass(<-m.messages, show); err != nil {
				return err
			}
		}
		return m.tellDropped(show)
	}
}

// pass shows a message if its kind is wanted.
func (m *Monitor) pass(msg bus.Msg, show MonitorShow) error {
	kind := kindOf(m.subjects, msg.Subject)
	if m.kind != "" && kind != m.kind || m.kind == "" && kind == "idle" && !strings.HasSuffix(m.Subject, ".idle") {
		return nil
	}
	return show.Message(BusMessage{Kind: kind, Subject: msg.Subject, Place: strings.TrimPrefix(msg.Subject, m.subjects.Prefix+"."), Data: msg.Data})
}

// tellState reports the state of the bus, once the server knows the subscription.
func (m *Monitor) tellState(ctx context.Context, connected bool, show MonitorShow) error {
	if connected {
		ctx, cancel := context.WithTimeout(ctx, drainTime)
		defer cancel()
		_ = m.bus.Flush(ctx) // on failure the connection is gone again, which a state reports
	}
	return show.Connected(connected)
}

// tellDropped reports the messages lost since the last check.
func (m *Monitor) tellDropped(show MonitorShow) error {
	n := bus.Dropped(m.sub)
	if n <= m.dropped {
		return nil
	}
	lost := n - m.dropped
	m.dropped = n
	return show.Dropped(lost)
}

// subject returns the subject to subscribe to.
func (f MonitorFilter) subject(s bus.Subjects) (string, error) {
	if f.Kind != "" && !slices.Contains(BusKinds(), f.Kind) {
		return "", fika.Errorf(fika.Invalid, "", "--type is one of %s, not %q", strings.Join(BusKinds(), ", "), f.Kind)
	}
	if given := f.Subject; given != "" {
		if strings.ContainsAny(given, " \t\r\n") || strings.HasPrefix(given, ".") || strings.HasSuffix(given, ".") || strings.Contains(given, "..") {
			return "", fika.Errorf(fika.Invalid, "", "%q is not a subject", given)
		}
		if given != s.Prefix && !strings.HasPrefix(given, s.Prefix+".") {
			given = s.Prefix + "." + given
		}
		return given, nil
	}
	switch {
	case f.Agent != "" && f.Chat != "":
		return "", fika.Errorf(fika.Invalid, "", "--agent and --chat cannot be used together")
	case f.Agent != "":
		n, err := fika.ParseAddressee(f.Agent)
		return s.Prefix + ".agent." + string(n) + ".>", err
	case f.Chat != "":
		n, err := fika.ParseChatName(f.Chat)
		return s.Chat(n), err
	}
	return s.All(), nil
}

// kindOf returns the kind of message that a subject carries.
func kindOf(s bus.Subjects, subject string) string {
	rest := strings.TrimPrefix(subject, s.Prefix+".")
	switch {
	case strings.HasPrefix(rest, "chat."):
		return "chat"
	case rest == "dead":
		return "dead"
	case rest == "hub.bell":
		return "bell"
	}
	return rest[strings.LastIndexByte(rest, '.')+1:]
}

// AgentStatuses receives what an agent reports about its work, live.
type AgentStatuses struct {
	// C has capacity 4096. It is for display only: statuses that do not fit are
	// dropped.
	C   <-chan message.Status
	sub bus.Subscription
}

// Statuses subscribes to the statuses of an agent. It returns NotFound if no hub runs.
func (s *Agents) Statuses(ctx context.Context, row fika.Agent) (*AgentStatuses, error) {
	if err := s.c.mayAgent(ctx, "agent.attach", row.Name); err != nil {
		return nil, err
	}
	if !s.c.Connected() {
		return nil, fika.WithHint(fika.Errorf(fika.NotFound, "", "no hub is running: nothing to listen to; what is committed is in %s", hint.ConversationShow.With(row.Name)), hint.Up)
	}
	statuses := make(chan message.Status, 4096)
	sub, err := s.c.bus.Subscribe(s.c.subjects.Status(row.Name), func(m bus.Msg) {
		var st message.Status
		if json.Unmarshal(m.Data, &st) == nil {
			select {
			case statuses <- st:
			default:
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := s.c.bus.Flush(ctx); err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return &AgentStatuses{C: statuses, sub: sub}, nil
}

// Listen passes the statuses of all agents to show until the returned function is
// called. show is called in order, one at a time.
func (s *Agents) Listen(show func(message.Status)) (func(), error) {
	if err := s.c.may("host.monitor"); err != nil {
		return nil, err
	}
	sub, err := s.c.bus.Subscribe(s.c.subjects.Status("*"), func(m bus.Msg) {
		var st message.Status
		if json.Unmarshal(m.Data, &st) == nil {
			show(st)
		}
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Close() }, nil
}

// Close ends the subscription.
func (s *AgentStatuses) Close() error { return s.sub.Close() }
