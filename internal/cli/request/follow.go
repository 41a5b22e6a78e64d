package request

import (
	"fmt"
	"io"

	"fika"
	"fika/internal/agent"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/cli/command"
	"fika/internal/cli/watch"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/hint"
	"fika/internal/text/words"
)

// FollowView shows a request that another process works on: its statuses and outcome.
type FollowView struct {
	*command.Env
	json   bool
	stream bool
	raw    bool
	text   io.Writer
	retake term.Retake
	step   int
	seen   int // bytes of this step's text that were shown
	wrote  bool
	open   bool
	noted  string          // the last line about the work
	Shown  *watch.Rendered // on a terminal; nil: text is written as it comes
}

// NewFollowView returns a view that writes the answer to stdout and everything else to
// stderr. raw leaves terminal escapes in the answer.
func NewFollowView(e *command.Env, asJSON, raw bool) *FollowView {
	v := &FollowView{Env: e, json: asJSON, stream: !asJSON && e.OutTTY, raw: raw, text: e.CleanOut(raw)}
	if v.stream {
		v.Shown = watch.Render(e, raw)
	}
	return v
}

// Begin connects the view to follow, so that it shows what the request waits for and
// which agent takes it over: where the work is shown, or else on stderr. On a terminal,
// it also shows that the agent has been given the request.
func (v *FollowView) Begin(follow *service.Follow, id fika.RequestID, name fika.AgentName) {
	follow.Waits = func(status api.Status) {
		why := words.Brief(status, v.Now())
		if v.Shown != nil {
			v.Shown.Busy(string(id), string(name), term.CleanLine(why))
			return
		}
		v.note(why)
	}
	follow.Moved = func(info service.RequestInfo, text string) {
		v.Show(message.Status{RequestID: string(id), AgentName: string(info.AgentName), Status: "processing", Data: message.StatusData{Message: text}})
	}
	if v.Shown != nil {
		v.Shown.Busy(string(id), string(name), "@"+string(name)+" has it")
	}
}

// Show displays one status.
func (v *FollowView) Show(s message.Status) {
	if v.Shown != nil {
		v.Shown.Turns.Show(s)
		return
	}
	switch s.Status {
	case "streaming":
		v.chunk(s.Data)
	case "tool_call":
		v.line("[%s] %s", s.Data.ToolName, agent.MainArgument(s.Data.ToolArgs))
	case "tool_result":
		if s.Data.Denied {
			v.line("[%s] %s", s.Data.ToolName, term.Truncate(s.Data.Message, 200))
		}
	case "processing":
		if s.Data.Message != "" {
			v.note(s.Data.Message)
		}
	}
}

func (v *FollowView) chunk(d message.StatusData) {
	switch {
	case !v.stream || d.Reasoning:
		return
	case d.Restart:
		v.seen = 0
		v.retake.Restart() // the reason comes in a message of its own
		return
	}
	if d.Step != v.step {
		v.say(v.retake.Flush())
		v.EndLine()
		v.retake = term.Retake{}
		v.step, v.seen = d.Step, 0
	}
	if d.Offset+len(d.Chunk) <= v.seen {
		return
	}
	v.say(v.retake.Add(d.Chunk[max(0, v.seen-d.Offset):]))
	v.seen = d.Offset + len(d.Chunk)
}

// note writes a line about the work, unless it repeats the last one: both the agent and
// the process that follows the request report what it waits for.
func (v *FollowView) note(text string) {
	if text != v.noted {
		v.noted = text
		v.line("(%s)", text)
	}
}

func (v *FollowView) say(text string) {
	if text != "" {
		_, _ = io.WriteString(v.text, text)
		v.wrote, v.open = true, true
	}
}

func (v *FollowView) line(format string, args ...any) {
	v.EndLine()
	fmt.Fprintln(v.Err, v.ErrStyle().Dim(term.CleanLine(fmt.Sprintf(format, args...))))
}

// EndLine ends the line of the answer that has been begun, if any.
func (v *FollowView) EndLine() {
	if v.open {
		_ = v.Print("\n") // End checks whether all was written
		v.open = false
	}
}

// End prints the outcome, with the committed answer if that was not streamed. It
// returns an error of the outcome's kind, or that of a write if the request is done.
func (v *FollowView) End(info service.RequestInfo) error {
	if v.Shown != nil {
		v.Shown.End(info)
		v.wrote = true
	}
	if info.State == fika.Done {
		v.say(v.retake.Flush())
	}
	v.EndLine()
	if v.json {
		_ = v.PrintLine(ToJSON(v.Env, info))
	} else if info.State == fika.Done && !v.wrote {
		_ = v.AnswerText(info.Outcome.Answer, v.raw)
	}
	if err := v.CheckWritten(KeptAnswer(info.ID)); err != nil && info.State == fika.Done {
		return err
	}
	return outcomeError(info)
}

// KeptAnswer says how to get an answer that did not reach stdout.
func KeptAnswer(id fika.RequestID) string {
	return fmt.Sprintf("it is kept: fika request wait %s", id)
}

// outcomeError returns an error of the outcome's kind, or nil if the request is done.
func outcomeError(info service.RequestInfo) error {
	why := info.Outcome.Error
	if why == "" {
		why = info.Reason
	}
	switch info.State {
	case fika.Done:
		return nil
	case fika.Cancelled:
		return fika.Errorf(fika.Interrupted, "", "request %s was cancelled: %s", info.ID, why)
	case fika.StateInterrupted:
		return fika.Errorf(fika.Interrupted, "", "request %s was interrupted: %s", info.ID, why)
	case fika.Dead:
		return fika.WithHint(fika.Errorf(fika.Failed, "", "request %s is dead: %s", info.ID, why), hint.RequestRetry.With(info.ID))
	}
	return fika.Errorf(OrKind(info.Outcome.ErrorKind, fika.Failed), "", "@%s failed: %s", info.AgentName, why)
}

// OrKind returns k, or other if k is empty.
func OrKind(k, other fika.Kind) fika.Kind {
	if k == "" {
		return other
	}
	return k
}
