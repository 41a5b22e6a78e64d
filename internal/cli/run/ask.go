package run

import (
	"context"
	"errors"
	"time"

	"fika"
	"fika/internal/agent"
	"fika/internal/bus/message"
	"fika/internal/cli/request"
	"fika/internal/service"
	"fika/internal/settings/folder"
	"fika/internal/system/term"
	"fika/internal/text/hint"
	"fika/internal/turn"
	"fika/internal/worker"
)

// askHolder gives the prompt to the agent process that holds the context and shows the
// work as if it were done here. It subscribes to the statuses before it commits the
// request, and reads the outcome from the store.
func (o *Options) askHolder(ctx context.Context, name fika.AgentName, prompt string, flags map[string]string) error {
	if o.cont {
		return fika.Errorf(fika.Locked, "", "@%s runs as a process: it continues with what was interrupted by itself; %s --agent %s shows what was", name, hint.RequestList.With(), name)
	}
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	row, err := c.Agents.FindRecipient(ctx, name) // the process may be about to make the row
	if err != nil {
		return err
	}
	if o.noReflection {
		o.Warn("@" + string(name) + " runs as a process: --no-reflection does not reach it")
	}
	follow, err := c.Requests.Follow(name)
	if err != nil {
		return err
	}
	defer follow.Close()
	view := newHolderView(o)
	defer view.run.shown.Finish()
	view.run.detail("@%s runs as a process and takes the prompt", name)
	accepted, err := c.Requests.SubmitPrompt(ctx, row, prompt, o.pictures, flags, service.Alias{Name: flags["username"], Option: "-U"})
	if err != nil {
		return err
	}
	o.Typed = ""
	view.begin(accepted, name)
	info, err := o.awaitHolder(ctx, follow, accepted.Request.ID, name, view)
	if ctx.Err() != nil {
		info, err = o.cancelHolder(c, follow, accepted.Request.ID, view)
	}
	if err != nil {
		return err
	}
	entries, err := c.Requests.Entries(context.WithoutCancel(ctx), info.ID)
	if err != nil {
		return err
	}
	return view.end(info, entries)
}

// awaitHolder waits for the outcome, and warns once if the process that should produce
// it is gone.
func (o *Options) awaitHolder(ctx context.Context, follow *service.Follow, id fika.RequestID, name fika.AgentName, view *holderView) (service.RequestInfo, error) {
	const look = 3 * time.Second
	h, err := o.App().Home()
	if err != nil {
		return service.RequestInfo{}, err
	}
	for told := false; ; {
		slice, cancel := context.WithTimeout(ctx, look)
		info, err := follow.Await(slice, id, view.show)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return info, err
		}
		if lock, err := h.Folder(name).Inspect(); !told && err == nil && (!lock.Held || lock.Info.Kind != folder.LockAgent) {
			told = true
			view.run.endLine()
			o.Warn("the process of @" + string(name) + " is gone; the request waits for: fika agent start " + string(name) + " (Ctrl-C cancels it)")
		}
	}
}

// cancelHolder handles Ctrl-C: it cancels the request at the agent.
func (o *Options) cancelHolder(c *service.Service, follow *service.Follow, id fika.RequestID, view *holderView) (service.RequestInfo, error) {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	view.run.endLine()
	o.Say("cancelling request %s …", id)
	if _, err := c.Requests.Cancel(ctx, id, ""); err != nil {
		return service.RequestInfo{}, err
	}
	info, err := follow.Await(ctx, id, func(message.Status) {})
	if err != nil {
		return info, fika.WithHint(fika.Errorf(fika.Interrupted, "", "cancelling, but request %s has not ended yet", id), hint.RequestShow.With(id))
	}
	return info, nil
}

// holderView shows the statuses of an agent's process in the forms of run.
type holderView struct {
	run  *runView
	name fika.AgentName
	id   fika.RequestID
	step int
	seen int // bytes of this step's text that have been shown
}

func newHolderView(o *Options) *holderView { return &holderView{run: newRunView(o)} }

func (v *holderView) events() bool { return v.run.o.format == "stream-json" }

func (v *holderView) begin(a service.Accepted, name fika.AgentName) {
	v.id, v.name = a.Request.ID, name
	if v.events() {
		v.run.write(event{Type: "init", RequestID: v.id, Context: string(name), Conversation: string(a.Conversation.Name)})
	}
}

// show shows one status.
func (v *holderView) show(s message.Status) {
	r := v.run
	if v.events() {
		v.emit(s)
	}
	if s.Status != "streaming" {
		r.endThinking()
	}
	if r.shown != nil && !s.Data.Reasoning {
		r.shown.Turns.Show(s)
		return
	}
	switch s.Status {
	case "streaming":
		v.chunk(s.Data)
	case "tool_call":
		if r.stream || r.o.verbose {
			r.line("[%s] %s", s.Data.ToolName, agent.MainArgument(s.Data.ToolArgs))
		}
	case "tool_result":
		switch {
		case s.Data.Denied:
			r.line("[%s] %s", s.Data.ToolName, term.Truncate(s.Data.Message, 200))
		case r.o.verbose:
			r.line("[%s] → %s", s.Data.ToolName, term.Truncate(s.Data.Message, 200))
		}
	case "processing":
		if s.Data.Message != "" {
			r.line("(%s)", s.Data.Message)
		}
	}
}

// chunk shows each piece of the answer once: a piece has its offset in the text.
func (v *holderView) chunk(d message.StatusData) {
	r := v.run
	if !d.Reasoning {
		r.endThinking()
	}
	switch {
	case d.Reasoning:
		if r.o.showThinking {
			r.think(d.Chunk)
		}
		return
	case d.Restart:
		v.seen = 0
		r.retake.Restart() // the reason comes in a separate message
		return
	case !r.stream:
		return
	}
	if d.Step != v.step {
		r.endLine()
		v.step, v.seen = d.Step, 0
	}
	if d.Offset+len(d.Chunk) <= v.seen {
		return
	}
	r.piece(turn.Event{Round: d.Step, Text: d.Chunk[max(0, v.seen-d.Offset):]})
	v.seen = d.Offset + len(d.Chunk)
}

func (v *holderView) emit(s message.Status) {
	e := event{RequestID: v.id, Step: s.Data.Step}
	switch s.Status {
	case "streaming":
		switch {
		case s.Data.Restart:
			e.Type, e.Text = "step_restarted", s.Data.Message
		case s.Data.Reasoning:
			e.Type, e.Text = "reasoning", s.Data.Chunk
		default:
			e.Type, e.Text = "text", s.Data.Chunk
		}
	case "tool_call":
		e.Type, e.ToolName, e.Arguments = "tool_use", s.Data.ToolName, s.Data.ToolArgs
	case "tool_result":
		e.Type, e.ToolName, e.Text = "tool_result", s.Data.ToolName, s.Data.Message
		e.IsError = s.Data.Success != nil && !*s.Data.Success
	case "processing":
		if s.Data.Message == "" {
			return
		}
		e.Type, e.Text = "warning", s.Data.Message
	default:
		return
	}
	v.run.write(e)
}

// end shows the outcome like that of a run.
func (v *holderView) end(info service.RequestInfo, entries []fika.Entry) error {
	if v.events() {
		for i := range entries {
			if entries[i].Type == fika.Message {
				v.run.write(event{Type: "message", RequestID: v.id, Entry: &entries[i]})
			}
		}
	}
	v.run.model = info.Outcome.Model
	kind := info.Outcome.ErrorKind
	if info.State == fika.Cancelled || info.State == fika.StateInterrupted {
		kind = request.OrKind(kind, fika.Interrupted)
	}
	reason := info.Outcome.Error
	if reason == "" {
		reason = info.Reason
	}
	return v.run.end(worker.RunResult{
		Result:  turn.Result{State: info.State, Reason: reason, Kind: kind, Outcome: info.Outcome},
		Request: info.ID, Conversation: fika.Conversation{Name: info.ConversationName}, Context: v.name, Saved: true,
	}, nil)
}
