package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/view"
)

// agentFeed shows the requests of one agent as rendered Markdown. begun has the requests
// whose prompt is on the screen, rounds is as in agentLines.
type agentFeed struct {
	*Rendered
	requests *service.Requests
	begun    map[string]bool
	rounds   map[string]int
}

// follow shows what an agent does on a terminal, in the form of every other view of
// agents at work, until ctx ends.
func (w *agentFeed) follow(ctx context.Context, running []service.RequestInfo, statuses <-chan message.Status) error {
	defer w.Finish()
	for _, r := range running {
		if err := w.catchUp(ctx, r); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-statuses:
			w.show(ctx, s)
		}
	}
}

// catchUp shows what a running request has committed and streamed so far.
func (w *agentFeed) catchUp(ctx context.Context, r service.RequestInfo) error {
	entries, err := w.requests.Entries(ctx, r.ID)
	if err != nil {
		return err
	}
	id, name := string(r.ID), string(r.AgentName)
	if w.rounds[id], err = w.requests.ModelRounds(ctx, r.ID); err != nil {
		return err
	}
	w.begin(id, command.PromptOf(r))
	w.Busy(id, name, "thinking")
	calls := map[string]fika.Entry{}
	for _, x := range entries {
		switch {
		case x.Type == fika.Message && x.Meta.Writer == fika.ByAgent:
			w.Kept(id, name, x.Content, "", false)
		case x.Type == fika.ToolCall:
			calls[x.Meta.ToolCallID] = x
		case x.Type == fika.ToolResult:
			call := calls[x.Meta.ToolCallID]
			w.Called(id, name, view.Call{
				Tool: call.To, Args: json.RawMessage(call.Content), Output: x.Content, Failed: x.Meta.IsError, Took: x.At.Sub(call.At),
			})
		}
	}
	if now, ok := w.requests.Streaming(ctx, r); ok {
		w.show(ctx, now)
	}
	return nil
}

// begin shows the prompt of a request, once.
func (w *agentFeed) begin(id, prompt string) {
	if !w.begun[id] {
		w.begun[id] = true
		w.Print("\n" + term.Clean(strings.TrimRight("→ "+prompt, "\n")))
	}
}

// show handles one status. Parts of an answer that were missed are shown at its end, from
// the stored answer.
func (w *agentFeed) show(ctx context.Context, s message.Status) {
	if s.Status == "processing" && s.Data.Prompt != "" {
		w.begin(s.RequestID, s.Data.Prompt)
	}
	if s.Status == "tool_result" || s.Data.Step == 0 || s.Data.Step > w.rounds[s.RequestID] {
		w.Turns.Show(s)
	}
	if s.Status != "completed" && s.Status != "error" {
		return
	}
	info, err := w.requests.Request(ctx, fika.RequestID(s.RequestID))
	switch {
	case err != nil:
		w.Turns.End(s.RequestID, s.AgentName, "")
	case info.State == fika.Done:
		w.Turns.End(s.RequestID, s.AgentName, info.Outcome.Answer)
	default:
		w.Turns.End(s.RequestID, s.AgentName, "")
		w.Print(term.CleanLine(fmt.Sprintf("— %s: %s", info.State, command.OrDash(info.Outcome.Error))))
	}
	delete(w.begun, s.RequestID)
}
