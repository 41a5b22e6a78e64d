package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/store"
	"fika/internal/term"
	"fika/internal/turn"
)

// Display shows a person what an agent receives and does, on a terminal or in
// its log. Methods of a nil Display do nothing; they may be called from many
// goroutines.
type Display struct {
	mu    sync.Mutex
	out   io.Writer
	open  bool // the cursor is inside a line
	state bus.State
	takes map[fika.RequestID]*term.Retake // of the answers that are streaming
}

// NewDisplay writes to out, which must clean untrusted text if it is a
// terminal.
func NewDisplay(out io.Writer) *Display {
	return &Display{out: out, takes: map[fika.RequestID]*term.Retake{}}
}

// line writes a whole line, ending an open one first.
func (d *Display) line(format string, args ...any) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open {
		fmt.Fprintln(d.out)
		d.open = false
	}
	fmt.Fprintf(d.out, format+"\n", args...)
}

// text shows what show gives of a request's streaming answer.
func (d *Display) text(id fika.RequestID, show func(*term.Retake) string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	take := d.takes[id]
	if take == nil {
		take = &term.Retake{}
		d.takes[id] = take
	}
	if s := show(take); s != "" {
		_, _ = io.WriteString(d.out, s)
		d.open = !strings.HasSuffix(s, "\n")
	}
}

func (d *Display) piece(id fika.RequestID, text string) {
	d.text(id, func(t *term.Retake) string { return t.Add(text) })
}

// restarted says that what was streamed is void; a line says why.
func (d *Display) restarted(id fika.RequestID) {
	d.text(id, func(t *term.Retake) string { t.Restart(); return "" })
}

// complete shows the rest of an answer that has come to its end.
func (d *Display) complete(id fika.RequestID) {
	d.text(id, (*term.Retake).Flush)
	if d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.takes, id)
	}
}

// Ready announces the agent.
func (d *Display) Ready(name fika.AgentName, model, subject string) {
	d.line("Agent '%s' initialized (model: %s)", name, model)
	d.line("Subscribed to: %s", subject)
	d.line("Ready for requests...")
}

// Warn says what a person should know.
func (d *Display) Warn(text string) { d.line("[WARNING] %s", text) }

// Failed ends a request that could not be carried through.
func (d *Display) Failed(why string) { d.line("[ERROR ✗] %s", why) }

// Bus tells of changes of the connection, once each.
func (d *Display) Bus(s bus.State, err error) {
	if d == nil {
		return
	}
	d.mu.Lock()
	same := s == d.state || (d.state == "" && s == bus.Connected) || s == bus.Off || s == bus.Closed
	d.state = s
	d.mu.Unlock()
	if same {
		return
	}
	if err != nil {
		d.line("[BUS %s] %v", s, err)
		return
	}
	d.line("[BUS %s]", s)
}

// Turn shows one turn.
func (d *Display) Turn(c store.Claimed) turn.Observer {
	return turn.ObserverFunc(func(ev turn.Event) { d.show(c, ev) })
}

func (d *Display) show(c store.Claimed, ev turn.Event) {
	switch ev.Kind {
	case turn.Started:
		d.received(c)
	case turn.Text:
		d.piece(c.Request.ID, ev.Text)
	case turn.Retrying:
		d.line("[RETRYING in %s] %s", ev.After, ev.Text)
	case turn.Restarted:
		d.restarted(c.Request.ID)
	case turn.ToolCalled:
		d.complete(c.Request.ID)
		d.line("[TOOL: %s] %s", ev.Tool, Subject(ev.Args))
	case turn.ToolDone:
		d.line("[TOOL RESULT] %s", firstLine(ev.Result.Text))
	case turn.Warning, turn.StorageBusy:
		d.line("[WARNING] %s", ev.Text)
	case turn.Compacted:
		d.line("[COMPACTED]")
	case turn.Ended:
		d.complete(c.Request.ID)
		d.ended(*ev.Outcome)
	}
}

func (d *Display) received(c store.Claimed) {
	prompt := c.Request.Payload.Prompt
	if c.Request.Kind == fika.NotifyRequest {
		prompt = fmt.Sprintf("%s (%d new)", c.Conversation.Name, c.Covers)
	}
	d.line("[RECEIVED:%s @%s] %s", strings.ToUpper(string(c.Request.Kind)), c.Agent.Name, prompt)
	d.processing(continues(c))
}

// continues says what goes on with a claimed request.
func continues(c store.Claimed) string {
	switch {
	case c.Waited == fika.WaitChild:
		return "answers"
	case c.Resumed:
		return "request"
	case c.Conversation.Kind == fika.Ask && c.Prompt != nil && c.Prompt.Seq > 1:
		return "conversation"
	}
	return ""
}

func (d *Display) processing(continues string) {
	switch continues {
	case "request":
		d.line("[PROCESSING...] (resuming after an interruption)")
	case "answers":
		d.line("[PROCESSING...] (what was delegated has ended)")
	case "conversation":
		d.line("[PROCESSING...] (continuing conversation)")
	default:
		d.line("[PROCESSING...]")
	}
}

func (d *Display) ended(r turn.Result) {
	switch {
	case r.State == fika.Done:
		d.line("[COMPLETED ✓]")
	case r.State.Terminal():
		d.line("[ERROR ✗] %s", r.Reason)
	default:
		for _, k := range r.Children {
			d.line("[DELEGATED @%s] request %s, until %s", k.AgentName, k.ID, k.Deadline.Local().Format(time.TimeOnly))
		}
		d.line("[%s] %s", strings.ToUpper(string(r.State)), strings.TrimPrefix(r.Reason, "waiting "))
	}
}

// Subject is the argument that tells most about a call: a path, command or
// URL, else all of them on one line.
func Subject(args json.RawMessage) string {
	var m map[string]any
	if json.Unmarshal(args, &m) == nil {
		if to, _ := m["agent"].(string); to != "" {
			prompt, _ := m["prompt"].(string)
			return firstLine(to + ": " + prompt)
		}
		for _, k := range []string{"path", "file", "command", "url", "to", "pattern"} {
			if s, ok := m[k].(string); ok {
				return firstLine(s)
			}
		}
	}
	return firstLine(string(args))
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i] + " …"
	}
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "…"
	}
	return s
}
