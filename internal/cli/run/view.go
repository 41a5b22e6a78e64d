package run

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/agent"
	"fika/internal/cli/command"
	"fika/internal/cli/request"
	"fika/internal/cli/watch"
	"fika/internal/system/term"
	"fika/internal/terminal/view"
	"fika/internal/turn"
	"fika/internal/worker"
)

// runView shows one turn: text on a terminal as it comes, the committed final
// text elsewhere, or events as JSON Lines.
type runView struct {
	o       *Options
	started time.Time
	stream  bool                 // text is written as it comes
	shown   *watch.Rendered      // on a terminal; nil: text is written unchanged
	calls   map[string]view.Call // calls that have not ended, by id
	text    io.Writer
	mu      sync.Mutex
	wrote   bool // some of the answer is on the terminal
	open    bool // … and its line has not ended
	// thinking: the model's reasoning is on the terminal, and its line has not ended.
	thinking bool
	round    int // the model call that retake belongs to
	retake   term.Retake
	model    string
}

func newRunView(o *Options) *runView {
	v := &runView{o: o, started: time.Now(), stream: o.format == "text" && o.OutTTY, text: o.CleanOut(o.raw), calls: map[string]view.Call{}}
	if v.stream {
		v.shown = watch.Render(o.Env, o.raw)
	}
	return v
}

// Observe shows one event.
func (v *runView) Observe(ev turn.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.o.format == "stream-json" {
		v.emit(ev)
	}
	if ev.Kind != turn.Reasoning {
		v.endThinking()
	}
	if v.shown != nil && v.render(ev) {
		return
	}
	switch ev.Kind {
	case turn.Started:
		v.model = ev.Model
		v.detail("model %s, context %s", ev.Model, ev.Claimed.Agent.Name)
	case turn.ModelChosen:
		v.model = ev.Model
		if ev.Text != "" {
			v.detail("model %s: %s", ev.Model, ev.Text)
		}
	case turn.Text:
		if v.stream {
			v.piece(ev)
		}
	case turn.Reasoning:
		if v.o.showThinking {
			v.think(ev.Text)
		}
	case turn.Restarted:
		v.retake.Restart() // the line comes with Retrying
	case turn.Retrying:
		v.line("(%s; asking again in %s)", ev.Text, term.Duration(ev.After))
	case turn.ToolCalled:
		v.say(v.retake.Flush())
		if v.stream || v.o.verbose {
			v.line("[%s] %s", ev.Tool, agent.MainArgument(ev.Args))
		}
	case turn.ToolDone:
		switch {
		case ev.Result.Denied:
			v.line("[%s] %s", ev.Tool, term.Truncate(ev.Result.Text, 200))
		case v.o.verbose:
			v.line("[%s] → %s", ev.Tool, term.Truncate(ev.Result.Text, 200))
		}
	case turn.Warning, turn.StorageBusy:
		v.endLine()
		v.o.Warn(ev.Text)
	case turn.Compacted:
		v.line("(the conversation was compacted)")
	}
}

// render shows an event in the form for a person on a terminal. It returns false for an
// event that must be shown in the usual form too.
func (v *runView) render(ev turn.Event) bool {
	id, name := string(ev.Claimed.Request.ID), string(ev.Claimed.Agent.Name)
	switch ev.Kind {
	case turn.Started:
		v.shown.Busy(id, name, "thinking")
		return false
	case turn.Text:
		if ev.Round != v.round && v.round != 0 {
			v.shown.Round(id, name)
		}
		v.round = ev.Round
		v.shown.Text(id, name, ev.Text)
	case turn.Restarted:
		v.shown.Restart(id, name)
	case turn.Retrying:
		v.shown.Busy(id, name, "asking again in "+term.Duration(ev.After))
		return false
	case turn.ToolCalled:
		call := view.Call{Tool: ev.Tool, Args: ev.Args}
		v.calls[ev.CallID] = call
		v.shown.Calls(id, name, call)
	case turn.ToolOutput:
		if line := lastLine(ev.Text); line != "" {
			v.shown.Busy(id, name, ev.Tool+": "+line)
		}
	case turn.ToolDone:
		call := v.calls[ev.CallID]
		delete(v.calls, ev.CallID)
		call.Tool, call.Output, call.Failed, call.Denied = ev.Tool, ev.Result.Text, ev.Result.IsError, ev.Result.Denied
		v.shown.Called(id, name, call)
	default:
		return false
	}
	return true
}

// lastLine returns the last line of a tool's output so far, short enough to be part of
// another line.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return term.Truncate(term.CleanLine(text[strings.LastIndexByte(text, '\n')+1:]), 60)
}

// piece shows the new part of a piece of the answer.
func (v *runView) piece(ev turn.Event) {
	if ev.Round != v.round {
		v.say(v.retake.Flush())
		v.round, v.retake = ev.Round, term.Retake{}
	}
	v.say(v.retake.Add(ev.Text))
}

func (v *runView) say(text string) {
	if text != "" {
		_, _ = io.WriteString(v.text, text)
		v.wrote, v.open = true, true
	}
}

func (v *runView) detail(format string, args ...any) {
	if v.o.verbose {
		v.line(format, args...)
	}
}

// line writes a line to stderr, after ending an open line of the answer.
func (v *runView) line(format string, args ...any) {
	v.endLine()
	fmt.Fprintln(v.o.Err, v.o.ErrStyle().Dim(term.CleanLine(fmt.Sprintf(format, args...))))
}

// think shows a piece of the model's reasoning, on lines of its own.
func (v *runView) think(piece string) {
	v.endLine()
	if text := term.Clean(piece); text != "" {
		_, _ = io.WriteString(v.o.Err, text)
		v.thinking = !strings.HasSuffix(text, "\n")
	}
}

func (v *runView) endThinking() {
	if v.thinking {
		_, _ = io.WriteString(v.o.Err, "\n")
		v.thinking = false
	}
}

func (v *runView) endLine() {
	if v.open {
		_ = v.o.Print("\n") // end checks that all was written
		v.open = false
	}
}

// end prints the result of the turn and turns a bad outcome into an error.
func (v *runView) end(ran worker.RunResult, err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endThinking()
	if v.shown != nil {
		v.endShown(ran)
	}
	if ran.State == fika.Done {
		v.say(v.retake.Flush())
	}
	v.endLine()
	if ran.State == fika.Done {
		v.answer(ran)
	}
	if v.o.format != "text" && ran.Request != "" {
		v.result(ran, err)
	}
	switch {
	case err != nil && ran.Unsaved && ran.State == fika.Done:
		return fika.Wrap(fika.Storage, "not saved", err)
	case err != nil:
		return err
	case ran.State == fika.Done:
		return v.o.CheckWritten(request.KeptAnswer(ran.Request))
	case ran.State == fika.Cancelled && ran.Kind == fika.Limit:
		return fika.Errorf(fika.Limit, "", "%s; the conversation is kept (request %s)", ran.Reason, ran.Request)
	case ran.State == fika.Cancelled:
		return fika.Errorf(request.OrKind(ran.Kind, fika.Interrupted), "", "cancelled; the conversation is kept (request %s)", ran.Request)
	}
	return fika.Errorf(request.OrKind(ran.Kind, fika.Failed), "", "%s", ran.Reason)
}

// endShown shows the rest of the answer as it was committed.
func (v *runView) endShown(ran worker.RunResult) {
	if ran.State == fika.Done {
		v.shown.Turns.End(string(ran.Request), string(ran.Context), ran.Outcome.Answer)
		v.wrote = true
	}
	v.shown.Finish()
}

// answer prints the committed text if it has not been streamed.
func (v *runView) answer(ran worker.RunResult) {
	if v.o.format != "text" || v.wrote {
		return
	}
	_ = v.o.AnswerText(ran.Outcome.Answer, v.o.raw)
}

// event is a line of --output-format stream-json.
type event struct {
	Type         string          `json:"type"`
	RequestID    fika.RequestID  `json:"request_id,omitempty"`
	Context      string          `json:"context,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Model        string          `json:"model,omitempty"`
	Step         int             `json:"step,omitempty"`
	Text         string          `json:"text,omitempty"`
	ToolName     string          `json:"tool_name,omitempty"`
	ToolCallID   string          `json:"tool_call_id,omitempty"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Entry        *fika.Entry     `json:"entry,omitempty"`
	ErrorKind    fika.Kind       `json:"error_kind,omitempty"`
}

// result is the last line of --json and stream-json: all its keys are present.
type result struct {
	Type         string           `json:"type"`
	RequestID    fika.RequestID   `json:"request_id"`
	Context      string           `json:"context"`
	Conversation string           `json:"conversation"`
	Model        command.Nullable `json:"model"`
	Answer       string           `json:"answer"`
	Outcome      string           `json:"outcome"`
	Text         command.Nullable `json:"text"` // why it did not end well
	ErrorKind    *fika.Kind       `json:"error_kind"`
	Stop         *string          `json:"stop"` // why the last answer ended, if it is not whole: docs/internals/failures.md
	ToolCalls    []fika.ToolUsed  `json:"tool_calls"`
	Usage        fika.Usage       `json:"usage"`
	CostUSD      *float64         `json:"cost_usd"` // null: the price is not known
	DurationMS   int64            `json:"duration_ms"`
	Saved        bool             `json:"saved"`
}

func (v *runView) emit(ev turn.Event) {
	e := event{RequestID: ev.Claimed.Request.ID, Step: ev.Round}
	switch ev.Kind {
	case turn.Started:
		e.Type, e.Model, e.Context, e.Conversation = "init", ev.Model, string(ev.Claimed.Agent.Name), string(ev.Claimed.Conversation.Name)
	case turn.ModelChosen:
		e.Type, e.Model, e.Text = "model", ev.Model, ev.Text
	case turn.Committed:
		for i := range ev.Entries {
			if ev.Entries[i].Type == fika.Message {
				v.write(event{Type: "message", RequestID: e.RequestID, Entry: &ev.Entries[i]})
			}
		}
		return
	case turn.Reasoning:
		e.Type, e.Text = "reasoning", ev.Text
	case turn.Text:
		e.Type, e.Text = "text", ev.Text
	case turn.ToolCalled:
		e.Type, e.ToolName, e.ToolCallID, e.Arguments = "tool_use", ev.Tool, ev.CallID, ev.Args
	case turn.ToolDone:
		e.Type, e.ToolName, e.ToolCallID, e.Text, e.IsError = "tool_result", ev.Tool, ev.CallID, ev.Result.Text, ev.Result.IsError
	case turn.Restarted:
		e.Type, e.Text = "step_restarted", ev.Text
	case turn.Warning, turn.StorageBusy, turn.Retrying:
		e.Type, e.Text = "warning", ev.Text
	default:
		return
	}
	v.write(e)
}

// result writes the last line: the outcome, in json and stream-json alike.
func (v *runView) result(ran worker.RunResult, err error) {
	text, kind := ran.Reason, ran.Kind
	if err != nil {
		text, kind = err.Error(), fika.KindOf(err)
	}
	if v.o.format == "stream-json" && (err != nil || ran.State != fika.Done) {
		v.write(event{Type: "error", RequestID: ran.Request, Text: text, ErrorKind: kind})
	}
	usage := ran.Outcome.Usage
	v.write(result{
		Type: "result", RequestID: ran.Request, Context: string(ran.Context), Conversation: string(ran.Conversation.Name), Model: command.Nullable(v.model),
		Answer: ran.Outcome.Answer, Outcome: string(ran.State), Text: command.Nullable(text), ErrorKind: command.Optional(kind), Stop: command.Optional(ran.Outcome.Stop), ToolCalls: command.EmptyIfNil(ran.Outcome.ToolCalls),
		Usage: usage, CostUSD: v.o.CostUSD(v.model, usage), DurationMS: time.Since(v.started).Milliseconds(), Saved: ran.Saved,
	})
}

// write writes an event; the command checks at its end that all was written.
func (v *runView) write(e any) { _ = v.o.PrintLine(e) }
