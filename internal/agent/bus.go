package agent

import (
	"context"
	"encoding/json"
	"os"

	"fika"
	"fika/internal/bus"
	"fika/internal/message"
	"fika/internal/store"
)

// Wishes is what a person wants of this process.
type Wishes interface {
	Look(context.Context, store.Lease) (store.Looked, error)
	SetDesired(context.Context, fika.AgentID, fika.Desired) error
	ReplaceDesired(ctx context.Context, id fika.AgentID, from, to fika.Desired) error
}

// Conversations moves the pointer to the active ask conversation.
type Conversations interface {
	Conversation(context.Context, fika.ConversationName) (fika.Conversation, error)
	ActiveAsk(context.Context, fika.AgentID) (fika.Conversation, error)
	ResetAsk(context.Context, fika.AgentID) (fika.Conversation, error)
	SwitchAsk(context.Context, fika.AgentID, fika.ConversationID) error
	Cancel(ctx context.Context, id fika.RequestID, reason string) (fika.Request, error)
}

func pid() int { return os.Getpid() }

// publishBody sends a body; the bus is a bell, so a failure costs nothing that the
// store does not know.
func (p *Process) publishBody(subject string, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		return
	}
	_ = p.opts.Bus.Publish(subject, data)
}

// showEntries passes committed entries of a chat to whoever watches it.
func (p *Process) showEntries(c fika.Conversation, entries ...fika.Entry) {
	if c.Kind != fika.Chat {
		return
	}
	for _, e := range entries {
		p.publishBody(p.opts.Subjects.Chat(c.Name), e)
	}
}

// showNoticed passes on what a claim said, which may be in other chats than
// that of the work it found.
func (p *Process) showNoticed(entries []fika.Entry) {
	for _, e := range entries {
		p.publishBody(p.opts.Subjects.Chat(fika.ConversationName(e.To)), e)
	}
}

func (p *Process) subscribeAll() (func(), error) {
	name := p.opts.Agent.Name
	var subs []bus.Subscription
	closeAll := func() {
		for _, s := range subs {
			_ = s.Close()
		}
	}
	handlers := map[string]func(bus.Msg){
		p.opts.Subjects.Bell(name):    func(bus.Msg) { p.postTask(func() { p.woken = true }) },
		p.opts.Subjects.Control(name): p.handleControl,
	}
	if p.opts.Pool != "" {
		handlers[p.opts.Subjects.Bell(p.opts.Pool)] = handlers[p.opts.Subjects.Bell(name)]
	}
	for subject, h := range handlers {
		s, err := p.opts.Bus.Subscribe(subject, h)
		if err != nil {
			closeAll()
			return nil, err
		}
		subs = append(subs, s)
	}
	watch := p.opts.Bus.Watch(func(s bus.State, err error) {
		p.postTask(func() { p.busChanged(s, err) })
	})
	return func() { closeAll(); _ = watch.Close() }, nil
}

// busChanged tells of the connection. What ended while it was away is
// announced when it is back; the heartbeat says that this process is there.
func (p *Process) busChanged(s bus.State, err error) {
	p.opts.Display.Bus(s, err)
	p.connected = s == bus.Connected
	if p.connected && p.ready {
		p.heartbeat()
		p.announcePending()
	}
}

// handleControl obeys a control message. The wish is a committed column already, or
// becomes one here; the reply says that it has been heard.
func (p *Process) handleControl(m bus.Msg) {
	var c message.Control
	reply := message.ControlReply{OK: true}
	if err := json.Unmarshal(m.Data, &c); err != nil {
		reply = message.ControlReply{Error: "not the JSON of a control message: " + err.Error()}
	} else if c.Action == "compact" && p.opts.Compact != nil {
		p.postTask(func() { p.noteCompaction(controlled{c, func(r message.ControlReply) { replyTo(m, r) }}) })
		return
	} else if c.Action == "summarise" && p.opts.Summarise != nil {
		p.postTask(func() { p.noteSummary(controlled{c, func(r message.ControlReply) { replyTo(m, r) }}) })
		return
	} else if err := p.applyControl(c); err != nil {
		reply = message.ControlReply{Error: err.Error()}
	}
	replyTo(m, reply)
}

func replyTo(m bus.Msg, reply message.ControlReply) {
	if data, err := json.Marshal(reply); err == nil && m.Respond != nil {
		_ = m.Respond(data)
	}
}

func (p *Process) applyControl(c message.Control) error {
	ctx := context.Background()
	switch c.Action {
	case "shutdown":
		want, ok := map[string]fika.Desired{"": fika.DesiredStopped, "finish": fika.DesiredFinish, "now": fika.DesiredNow}[c.Mode]
		if !ok {
			return fika.Errorf(fika.Invalid, "control", "unknown mode %.40q; known are finish and now", c.Mode)
		}
		if err := p.opts.Store.Wishes.SetDesired(ctx, p.opts.Agent.ID, want); err != nil {
			return err
		}
		p.Shutdown(want)
		return nil
	case "cancel":
		if c.RequestID == "" {
			return fika.Errorf(fika.Invalid, "control", "cancel needs a requestId")
		}
		_, err := p.opts.Store.Conversations.Cancel(ctx, fika.RequestID(c.RequestID), "cancelled by a control message")
		p.postTask(func() {})
		return err
	case "reset":
		active, err := p.opts.Store.Conversations.ActiveAsk(ctx, p.opts.Agent.ID)
		if err != nil || (c.ConversationID != "" && string(active.Name) != c.ConversationID) {
			return err // the conversation it means has been left already
		}
		_, err = p.opts.Store.Conversations.ResetAsk(ctx, p.opts.Agent.ID)
		return err
	case "switch":
		name, err := fika.ParseConversationName(c.ConversationID)
		if err != nil {
			return err
		}
		conv, err := p.opts.Store.Conversations.Conversation(ctx, name)
		if fika.IsKind(err, fika.NotFound) { // an id of another program
			conv, err = p.opts.Store.Conversations.Conversation(ctx, message.ScopedConversation(p.opts.Agent.Name, name))
		}
		if err != nil {
			return err
		}
		return p.opts.Store.Conversations.SwitchAsk(ctx, p.opts.Agent.ID, conv.ID)
	}
	return fika.Errorf(fika.Invalid, "control", "unknown action %.40q; known are shutdown, reset, cancel, switch, compact, summarise", c.Action)
}

// announcePending has the outcomes published that nobody has published yet.
func (p *Process) announcePending() {
	if p.connected {
		p.announcer.lookNow()
	}
}
