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
	"fika/internal/system/term"
	"fika/internal/turn"
)

// Display shows a person what an agent receives and does, on a terminal or in its log.
// Methods of a nil Display do nothing. It is safe for concurrent use.
type Display struct {
	mu    sync.Mutex
	out   io.Writer
	open  bool // the cursor is inside a line
	state bus.State
	turns int // turns under way; if several, each line is marked with its request
	// others are the turns of other processes that are shown here.
	others map[fika.RequestID]*shownTurn
}

// NewDisplay returns a Display that writes to out. If out is a terminal, it must clean
// untrusted text.
func NewDisplay(out io.Writer) *Display { return &Display{out: out} }

// writeLine writes a whole line, after ending an open one.
func (d *Display) writeLine(format string, args ...any) {
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

func (d *Display) writeText(s string) {
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
	d.writeLine("Agent '%s' initialized (model: %s)", name, model)
	d.writeLine("Subscribed to: %s", subject)
	d.writeLine("Ready for requests...")
}

// Warn shows a warning to the person.
func (d *Display) Warn(text string) { d.writeLine("[WARNING] %s", text) }

// Failed reports a request that could not be carried out.
func (d *Display) Failed(why string) { d.writeLine("[ERROR ✗] %s", why) }

// Bus reports changes of the connection, each once.
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
		d.writeLine("[BUS %s] %v", s, err)
		return
	}
	d.writeLine("[BUS %s]", s)
}

// Leaves reports that an idle agent ends by itself.
func (d *Display) Leaves(idle time.Duration) {
	d.writeLine("Nothing to do for %s; leaving until there is work", idle.Round(time.Second))
}

// Turn returns an observer that shows one turn. While several turns are shown, each
// line is marked with its request and text is shown in whole lines.
func (d *Display) Turn(c store.Claimed) turn.Observer {
	t := &shownTurn{d: d, c: c}
	return turn.ObserverFunc(t.showEvent)
}

// shownTurn is one turn on a display. Only the goroutine of the turn uses it.
type shownTurn struct {
	d     *Display
	c     store.Claimed
	begun bool
	take  term.Retake // the answer that is being streamed
	rest  string      // an unfinished line of text, while several turns are shown
}

func (t *shownTurn) showEvent(ev turn.Event) {
	switch ev.Kind {
	case turn.Started:
		t.begun = true
		t.d.countTurns(1)
		t.showReceived()
	case turn.ModelChosen:
		if ev.Text != "" {
			t.writeLine("[MODEL: %s] %s", ev.Model, ev.Text)
		}
	case turn.Text:
		t.writeText(t.take.Add(ev.Text))
	case turn.Retrying:
		t.writeLine("[RETRYING in %s] %s", ev.After, ev.Text)
	case turn.Restarted:
		t.take.Restart() // a line has said why
	case turn.ToolCalled:
		t.completeAnswer()
		t.writeLine("[TOOL: %s] %s", ev.Tool, MainArgument(ev.Args))
	case turn.ToolDone:
		if ev.Result.Denied {
			t.writeLine("[TOOL REFUSED: %s] %s", ev.Tool, firstLine(ev.Result.Text))
			return
		}
		t.writeLine("[TOOL RESULT] %s", firstLine(ev.Result.Text))
	case turn.Warning, turn.StorageBusy:
		t.writeLine("[WARNING] %s", ev.Text)
	case turn.Compacted:
		t.writeLine("[COMPACTED]")
	case turn.Ended:
		t.completeAnswer()
		t.showEnd(*ev.Outcome)
		if t.begun {
			t.begun = false
			t.d.countTurns(-1)
		}
	}
}

// countTurns changes the number of turns under way.
func (d *Display) countTurns(by int) {
	if d != nil {
		d.mu.Lock()
		d.turns += by
		d.mu.Unlock()
	}
}

// lineMark returns the prefix of a line while several turns are shown.
func (t *shownTurn) lineMark() string {
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

// writeLine writes a whole line of the turn, after any remaining text.
func (t *shownTurn) writeLine(format string, args ...any) {
	mark := t.lineMark()
	if t.rest != "" {
		t.d.writeLine("%s%s", mark, t.rest)
		t.rest = ""
	}
	t.d.writeLine("%s%s", mark, fmt.Sprintf(format, args...))
}

// writeText writes text as it arrives, or only whole lines while several turns are
// shown.
func (t *shownTurn) writeText(s string) {
	if s == "" {
		return
	}
	mark := t.lineMark()
	if mark == "" {
		t.d.writeText(t.rest + s)
		t.rest = ""
		return
	}
	lines := strings.Split(t.rest+s, "\n")
	t.rest = lines[len(lines)-1]
	for _, l := range lines[:len(lines)-1] {
		t.d.writeLine("%s%s", mark, l)
	}
}

// completeAnswer shows the rest of a finished answer.
func (t *shownTurn) completeAnswer() {
	t.writeText(t.take.Flush())
	t.take = term.Retake{}
}

func (t *shownTurn) showReceived() {
	prompt := t.c.Request.Payload.Prompt
	if t.c.Request.Kind == fika.NotifyRequest {
		prompt = fmt.Sprintf("%s (%d new)", t.c.Conversation.Name, t.c.Covers)
	}
	t.writeLine("[RECEIVED:%s @%s] %s", strings.ToUpper(string(t.c.Request.Kind)), t.c.Agent.Name, prompt)
	t.writeLine("%s", processingText(continuationOf(t.c)))
}

// continuationOf says what continues a claimed request.
func continuationOf(c store.Claimed) string {
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

// processingText returns the line for a request that is being worked on, given what
// continues it.
func processingText(continues string) string {
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

func (t *shownTurn) showEnd(r turn.Result) {
	switch {
	case r.State == fika.Done:
		t.writeLine("[COMPLETED ✓]")
	case r.State.Terminal():
		t.writeLine("[ERROR ✗] %s", r.Reason)
	default:
		for _, k := range r.Children {
			if store.StandsForRun(k.Request) {
				t.writeLine("[RUN] %s, until %s", k.ID, k.Deadline.Local().Format(time.TimeOnly))
				continue
			}
			t.writeLine("[DELEGATED @%s] request %s, until %s", k.AgentName, k.ID, k.Deadline.Local().Format(time.TimeOnly))
		}
		t.writeLine("[%s] %s", strings.ToUpper(string(r.State)), strings.TrimPrefix(r.Reason, "waiting "))
	}
}

// MainArgument returns the most informative argument of a call: a path, command or URL,
// else all arguments on one line.
func MainArgument(args json.RawMessage) string {
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
		if list := titles(m["tasks"]); list != "" {
			return firstLine(list)
		}
	}
	return firstLine(string(args))
}

// titles returns the titles of tasks that are added.
func titles(tasks any) string {
	var out []string
	list, _ := tasks.([]any)
	for _, task := range list {
		m, _ := task.(map[string]any)
		if title, ok := m["title"].(string); ok {
			out = append(out, title)
		}
	}
	return strings.Join(out, ", ")
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
