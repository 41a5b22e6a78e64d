package agent

import (
	"encoding/json"

	"fika"
	"fika/internal/bus"
)

// publishBody publishes a body as JSON. The bus only makes things quick, so a failure
// costs nothing that the store does not know.
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

// subscribeAll hears wake-ups, control messages and what becomes of the connection,
// until the function it returns is called.
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

// announcePending has the outcomes published that nobody has published yet.
func (p *Process) announcePending() {
	if p.connected {
		p.announcer.lookNow()
	}
}
