package agent

import (
	"encoding/json"

	"fika"
	"fika/internal/bus"
)

// publishBody publishes a body as JSON. Failures are ignored: the bus only speeds
// things up, and the store has everything.
func (p *Process) publishBody(subject string, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		return
	}
	_ = p.opts.Bus.Publish(subject, data)
}

// showEntries publishes committed entries of a chat to its watchers.
func (p *Process) showEntries(c fika.Conversation, entries ...fika.Entry) {
	if c.Kind != fika.Chat {
		return
	}
	for _, e := range entries {
		p.publishBody(p.opts.Subjects.Chat(c.Name), e)
	}
}

// showNoticed publishes the notices that a claim posted, which may be in other chats
// than the claimed work.
func (p *Process) showNoticed(entries []fika.Entry) {
	for _, e := range entries {
		p.publishBody(p.opts.Subjects.Chat(fika.ConversationName(e.To)), e)
	}
}

// subscribeAll listens for wake-ups, control messages and changes of the connection,
// until the returned function is called.
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
		p.opts.Subjects.Live(name):    p.live.answer,
		p.opts.Subjects.Idle(name):    p.hearIdle,
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

// busChanged reports the state of the connection. When the connection is back, it
// announces what ended meanwhile and sends a heartbeat to show that this process runs.
func (p *Process) busChanged(s bus.State, err error) {
	p.opts.Display.Bus(s, err)
	p.connected = s == bus.Connected
	if p.connected && p.ready {
		p.heartbeat()
		p.announcePending()
	}
}

// announcePending publishes the outcomes that have not been published yet.
func (p *Process) announcePending() {
	if p.connected {
		p.announcer.lookNow()
	}
}
