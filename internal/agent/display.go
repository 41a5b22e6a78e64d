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
	turns int // under way: of several, each line says to which it belongs
	// others are the turns of another process that are shown here.
	others map[fika.RequestID]*shownTurn
}

// NewDisplay writes to out, which must clean untrusted text if it is a
// terminal.
func NewDisplay(out io.Writer) *Display { return &Display{out: out} }

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

func (d *Display) text(s string) {
	if d == nil || s == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = io.WriteString(d.out, s)
	d.open = !strings.HasSuffix(s, "\n")
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

// Leaves says that an agent which nobody needed ends by itself.
func (d *Display) Leaves(idle time.Duration) {
	d.line("Nothing to do for %s; leaving until there is work", idle.Round(time.Second))
}

// Turn shows one turn. Of several at once each line is marked with the request
// it belongs to, and text is shown in whole lines.
func (d *Display) Turn(c store.Claimed) turn.Observer {
	t := &shownTurn{d: d, c: c}
	return turn.ObserverFunc(t.show)
}

// shownTurn is one turn on a display. It is used by the goroutine of the turn
// alone.
type shownTurn struct {
	d     *Display
	c     store.Claimed
	begun bool
	take  term.Retake // of the answer that is streaming
	rest  string      // of a line of text, when several turns are shown at once
}

func (t *shownTurn) show(ev turn.Event) {
	switch ev.Kind {
	case turn.Started:
		t.begun = true
		t.d.count(1)
		t.received()
	case turn.Text:
		t.text(t.take.Add(ev.Text))
	case turn.Retrying:
		t.line("[RETRYING in %s] %s", ev.After, ev.Text)
	case turn.Restarted:
		t.take.Restart() // a line said why
	case turn.ToolCalled:
		t.complete()
		t.line("[TOOL: %s] %s", ev.Tool, Subject(ev.Args))
	case turn.ToolDone:
		if ev.Result.Denied {
			t.line("[TOOL REFUSED: %s] %s", ev.Tool, firstLine(ev.Result.Text))
			return
		}
		t.line("[TOOL RESULT] %s", firstLine(ev.Result.Text))
	case turn.Warning, turn.StorageBusy:
		t.line("[WARNING] %s", ev.Text)
	case turn.Compacted:
		t.line("[COMPACTED]")
	case turn.Ended:
		t.complete()
		t.ended(*ev.Outcome)
		if t.begun {
			t.begun = false
			t.d.count(-1)
		}
	}
}

// count counts the turns under way.
func (d *Display) count(by int) {
	if d != nil {
		d.mu.Lock()
		d.turns += by
		d.mu.Unlock()
	}
}

// mark is what stands before a line while several turns are shown.
func (t *shownTurn) mark() string {
	if t.d == nil {
		return ""
	}
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if t.d.turns < 2 {
		return ""
	}
	id := string(t.c.Request.ID)
	return id[:min(len(id), 13)] + " "
}

// line writes a whole line of the turn, and before it what text is left.
func (t *shownTurn) line(format string, args ...any) {
	mark := t.mark()
	if t.rest != "" {
		t.d.line("%s%s", mark, t.rest)
		t.rest = ""
	}
	t.d.line("%s%s", mark, fmt.Sprintf(format, args...))
}

// text writes text as it comes, or, beside other turns, its whole lines.
func (t *shownTurn) text(s string) {
	if s == "" {
		return
	}
	mark := t.mark()
	if mark == "" {
		t.d.text(t.rest + s)
		t.rest = ""
		return
	}
	lines := strings.Split(t.rest+s, "\n")
	t.rest = lines[len(lines)-1]
	for _, l := range lines[:len(lines)-1] {
		t.d.line("%s%s", mark, l)
	}
}

// complete shows the rest of an answer that has come to its end.
func (t *shownTurn) complete() {
	t.text(t.take.Flush())
	t.take = term.Retake{}
}

func (t *shownTurn) received() {
	prompt := t.c.Request.Payload.Prompt
	if t.c.Request.Kind == fika.NotifyRequest {
		prompt = fmt.Sprintf("%s (%d new)", t.c.Conversation.Name, t.c.Covers)
	}
	t.line("[RECEIVED:%s @%s] %s", strings.ToUpper(string(t.c.Request.Kind)), t.c.Agent.Name, prompt)
	t.line("%s", processing(continues(t.c)))
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

// processing says that a request is worked on, and what goes on with it.
func processing(continues string) string {
	switch continues {
	case "request":
		return "[PROCESSING...] (resuming after an interruption)"
	case "answers":
		return "[PROCESSING...] (what was delegated has ended)"
	case "conversation":
		return "[PROCESSING...] (continuing conversation)"
	}
	return "[PROCESSING...]"
}

func (t *shownTurn) ended(r turn.Result) {
	switch {
	case r.State == fika.Done:
		t.line("[COMPLETED ✓]")
	case r.State.Terminal():
		t.line("[ERROR ✗] %s", r.Reason)
	default:
		for _, k := range r.Children {
			t.line("[DELEGATED @%s] request %s, until %s", k.AgentName, k.ID, k.Deadline.Local().Format(time.TimeOnly))
		}
		t.line("[%s] %s", strings.ToUpper(string(r.State)), strings.TrimPrefix(r.Reason, "waiting "))
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
