package watch

import (
	"context"

	"fika/internal/agent"
	"fika/internal/bus/message"
	"fika/internal/cli/command"
	"fika/internal/service"
)

// agentLines shows the requests of one agent as its own log does. rounds counts the model
// rounds of each request shown from the store, and joined has what each had streamed of the
// next one, so that nothing is shown twice.
type agentLines struct {
	display  *agent.Display
	requests *service.Requests
	rounds   map[string]int
	joined   map[string]message.StatusData
}

// follow shows what an agent does until ctx ends, or reading or the output fails.
func (l *agentLines) follow(ctx context.Context, e *command.Env, running []service.RequestInfo, statuses <-chan message.Status) error {
	for _, r := range running {
		if err := l.begin(ctx, r); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			l.display.Break()
			return nil
		case s := <-statuses:
			l.show(s)
			if err := e.CheckWritten(""); err != nil {
				return err
			}
		}
	}
}

// begin shows what a running request has committed and streamed so far.
func (l *agentLines) begin(ctx context.Context, r service.RequestInfo) error {
	entries, err := l.requests.Entries(ctx, r.ID)
	if err != nil {
		return err
	}
	if l.rounds[string(r.ID)], err = l.requests.ModelRounds(ctx, r.ID); err != nil {
		return err
	}
	l.display.Status(message.Status{
		RequestID: string(r.ID), AgentName: string(r.AgentName), Status: "processing",
		Data: message.StatusData{Kind: string(r.Kind), Prompt: r.Payload.Prompt},
	})
	for _, e := range entries {
		l.display.Entry(e, r.AgentName)
	}
	if now, ok := l.requests.Streaming(ctx, r); ok && now.Data.Step > l.rounds[now.RequestID] {
		l.display.Status(now)
		l.joined[now.RequestID] = now.Data
	}
	return nil
}

// rest cuts off what the text that was streamed before had already.
func (l *agentLines) rest(s message.Status) message.Status {
	before := l.joined[s.RequestID]
	if s.Status != "streaming" || s.Data.Reasoning || s.Data.Restart || s.Data.Step != before.Step || s.Data.Epoch != before.Epoch {
		return s
	}
	if over := before.Offset + len(before.Chunk) - s.Data.Offset; over > 0 {
		s.Data.Chunk = s.Data.Chunk[min(over, len(s.Data.Chunk)):]
	}
	return s
}

func (l *agentLines) show(s message.Status) {
	if s.Status != "completed" && s.Status != "error" && s.Data.Step != 0 && s.Data.Step <= l.rounds[s.RequestID] && s.Status != "tool_result" {
		return // shown from the store already
	}
	l.display.Status(l.rest(s))
}
