package watch

import (
	"context"

	"fika/internal/agent"
	"fika/internal/bus/message"
	"fika/internal/cli/command"
	"fika/internal/service"
)

// Agent shows what one agent does until ctx ends: what its running requests have
// committed and streamed so far, then what its statuses report, and nothing twice. Where answers are
// not rendered, it writes lines as in the agent's own log. It returns the error of
// reading what was committed, or of writing.
func Agent(ctx context.Context, e *command.Env, requests *service.Requests, running []service.RequestInfo, statuses <-chan message.Status) error {
	if shown := Render(e, false); shown != nil {
		feed := &agentFeed{Rendered: shown, requests: requests, rounds: map[string]int{}, begun: map[string]bool{}}
		return feed.follow(ctx, running, statuses)
	}
	lines := &agentLines{display: agent.NewDisplay(e.CleanOut(false)), requests: requests, rounds: map[string]int{}, joined: map[string]message.StatusData{}}
	return lines.follow(ctx, e, running, statuses)
}
