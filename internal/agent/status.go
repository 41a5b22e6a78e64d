package agent

import (
	"runtime"
	"strings"
	"sync"

	"fika"
	"fika/internal/message"
	"fika/internal/store"
	"fika/internal/turn"
)

// observer turns the events of one turn into status messages, chat entries
// and what the terminal shows.
func (p *Process) observer(c store.Claimed) turn.Observer {
	s := &statuses{p: p, c: c}
	if p.opts.Display == nil {
		return s
	}
	return turn.Observers{s, p.opts.Display.Turn(c)}
}

// statuses publishes what one turn does. A chunk is placed by its round and by
// the number of bytes of that round's text before it.
type statuses struct {
	p      *Process
	c      store.Claimed
	mu     sync.Mutex
	round  int
	offset int
}

// Observe publishes one event.
func (s *statuses) Observe(ev turn.Event) {
	switch ev.Kind {
	case turn.Started:
		s.send("processing", message.StatusData{Kind: string(s.c.Request.Kind), Prompt: s.c.Request.Payload.Prompt, Continues: continues(s.c)})
	case turn.Text, turn.Reasoning:
		s.chunk(ev)
	case turn.Restarted:
		s.mu.Lock()
		s.offset = 0
		s.mu.Unlock()
		s.send("streaming", message.StatusData{Step: ev.Round, Restart: true, Message: ev.Text})
	case turn.ToolCalled:
		s.send("tool_call", message.StatusData{ToolName: ev.Tool, ToolArgs: bounded(ev.Args), Step: ev.Round})
	case turn.ToolDone:
		ok := !ev.Result.IsError
		s.send("tool_result", message.StatusData{ToolName: ev.Tool, Message: clip(ev.Result.Text), Success: &ok, Denied: ev.Result.Denied, Step: ev.Round})
	case turn.Retrying, turn.Warning, turn.StorageBusy:
		s.send("processing", message.StatusData{Message: ev.Text})
	case turn.Committed:
		s.p.opts.Ring(ev.Notified...) // before anything else: somebody waits for it
		runtime.Gosched()             // and what writes to the bus goes first
		s.p.show(s.c.Conversation, ev.Entries...)
	case turn.Ended:
		s.ended(*ev.Outcome)
	}
}

func (s *statuses) chunk(ev turn.Event) {
	d := message.StatusData{Chunk: ev.Text, Step: ev.Round, Reasoning: ev.Kind == turn.Reasoning}
	if !d.Reasoning {
		s.mu.Lock()
		if ev.Round != s.round {
			s.round, s.offset = ev.Round, 0
		}
		d.Offset = s.offset
		s.offset += len(ev.Text)
		s.mu.Unlock()
	}
	s.send("streaming", d)
}

func (s *statuses) ended(r turn.Result) {
	switch {
	case r.State == fika.Done:
		s.send("completed", message.StatusData{Message: clip(r.Outcome.Answer)})
	case r.State.Terminal():
		s.send("error", message.StatusData{Message: r.Reason})
	case len(r.Children) > 0:
		s.send("processing", message.StatusData{Message: r.Reason})
	default:
		s.send("processing", message.StatusData{Message: "not finished: " + r.Reason})
	}
}

func (s *statuses) send(status string, d message.StatusData) {
	p := s.p
	p.publish(p.opts.Subjects.Status(p.opts.Agent.Name), message.Status{
		Type: message.TypeStatus, RequestID: string(s.c.Request.ID), AgentName: string(p.opts.Agent.Name), Status: status,
		Data: d, Timestamp: message.Stamp(p.opts.Now()), V: message.Version,
		Conversation: string(s.c.Conversation.Kind), ConversationID: string(s.c.Conversation.Name),
	})
}

const statusLimit = 8 << 10

// clip keeps a status message small: the whole text is in the store.
func clip(s string) string {
	if len(s) <= statusLimit {
		return s
	}
	return strings.ToValidUTF8(s[:statusLimit], "") + "…"
}

func bounded(args []byte) []byte {
	if len(args) <= statusLimit {
		return args
	}
	return []byte(`{"…":"shortened"}`)
}
