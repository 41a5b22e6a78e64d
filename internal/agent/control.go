package agent

import (
	"context"
	"encoding/json"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
)

// handleControl does what a control message asks for, and replies that it was received.
// Compactions and summaries are replied to when they are done.
func (p *Process) handleControl(m bus.Msg) {
	var c message.Control
	if err := json.Unmarshal(m.Data, &c); err != nil {
		replyTo(m, message.ControlReply{Error: "not the JSON of a control message: " + err.Error()})
		return
	}
	later := controlled{c, func(r message.ControlReply) { replyTo(m, r) }}
	switch {
	case c.Action == "compact" && p.opts.Compact != nil:
		p.postTask(func() { p.noteCompaction(later) })
		return
	case c.Action == "summarise" && p.opts.Summarise != nil:
		p.postTask(func() { p.noteSummary(later) })
		return
	}
	if err := p.applyControl(c); err != nil {
		replyTo(m, message.ControlReply{Error: err.Error()})
		return
	}
	replyTo(m, message.ControlReply{OK: true})
}

func replyTo(m bus.Msg, reply message.ControlReply) {
	if data, err := json.Marshal(reply); err == nil && m.Respond != nil {
		_ = m.Respond(data)
	}
}

// applyControl stores what a control message asks for, unless it is stored already, and
// makes this process notice it.
func (p *Process) applyControl(c message.Control) error {
	ctx := context.Background()
	switch c.Action {
	case "shutdown":
		want, err := c.Desired()
		if err != nil {
			return err
		}
		if err := p.opts.Store.Lifecycle.SetDesired(ctx, p.opts.Agent.ID, want); err != nil {
			return err
		}
		p.Shutdown(want)
		return nil
	case "cancel":
		id, err := c.ToCancel()
		if err != nil {
			return err
		}
		_, err = p.opts.Store.Conversations.Cancel(ctx, id, "cancelled by a control message")
		p.postTask(func() {})
		return err
	case "reset":
		active, err := p.opts.Store.Conversations.ActiveAsk(ctx, p.opts.Agent.ID)
		if err != nil || (c.ConversationID != "" && string(active.Name) != c.ConversationID) {
			return err // the conversation that was meant has been left already
		}
		_, err = p.opts.Store.Conversations.ResetAsk(ctx, p.opts.Agent.ID)
		return err
	case "switch":
		return p.switchConversation(ctx, c.ConversationID)
	}
	return c.UnknownAction()
}

// switchConversation makes another ask conversation the active one.
func (p *Process) switchConversation(ctx context.Context, word string) error {
	name, err := fika.ParseConversationName(word)
	if err != nil {
		return err
	}
	conv, err := p.opts.Store.Conversations.Conversation(ctx, name)
	if fika.IsKind(err, fika.NotFound) { // an id from another program
		conv, err = p.opts.Store.Conversations.Conversation(ctx, message.ScopedConversation(p.opts.Agent.Name, name))
	}
	if err != nil {
		return err
	}
	return p.opts.Store.Conversations.SwitchAsk(ctx, p.opts.Agent.ID, conv.ID)
}
