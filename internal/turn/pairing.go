package turn

import (
	"fmt"
	"strings"

	"fika/internal/llm"
)

// pairCalls keeps providers from refusing a window: a call without a result gets one, a
// result without a call is dropped, and so is an empty message.
func pairCalls(in []llm.Message) []llm.Message {
	p := pairing{out: make([]llm.Message, 0, len(in)+1)}
	for _, m := range in {
		switch {
		case m.Role == llm.ToolRole:
			p.answerCall(m)
			continue
		case m.Role == llm.Assistant && len(m.Calls) == 0 && strings.TrimSpace(m.Text) == "":
			continue
		}
		p.settleOpen()
		p.openCalls(&m)
		p.out = append(p.out, m)
	}
	p.settleOpen()
	return p.out
}

type pairing struct {
	out  []llm.Message
	open []openCall // of the last message, in order
}

// openCall is a call that waits for its result, with the id that the entries know it by
// and the id that it is sent with.
type openCall struct{ known, sent string }

// openCalls opens the calls of a message. Calls with the same id, or none, as foreign
// entries may have them, get ids of their own.
func (p *pairing) openCalls(m *llm.Message) {
	used := map[string]bool{"": true}
	for i := range m.Calls {
		c := &m.Calls[i]
		known := c.ID
		for n := i + 1; used[c.ID]; n++ {
			c.ID, m.Blob = fmt.Sprintf("call_%d", n), nil
		}
		used[c.ID] = true
		p.open = append(p.open, openCall{known, c.ID})
	}
}

func (p *pairing) answerCall(m llm.Message) {
	for i, c := range p.open {
		if c.known == m.CallID {
			m.CallID = c.sent
			p.out = append(p.out, m)
			p.open = append(p.open[:i], p.open[i+1:]...)
			return
		}
	}
}

func (p *pairing) settleOpen() {
	for _, c := range p.open {
		p.out = append(p.out, llm.Message{Role: llm.ToolRole, CallID: c.sent, IsError: true, Text: "interrupted: it may or may not have run"})
	}
	p.open = nil
}
