package master

import (
	"context"
	"fmt"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/terminal/master"
	"fika/internal/turn"
	"fika/internal/worker"
)

// masterHost does what the master console needs the process for in which it runs.
type masterHost struct{ *command.Env }

// workHere works on a prompt in the current context, as fika run does.
func (e masterHost) workHere(ctx context.Context, prompt string) (service.RequestInfo, error) {
	here := e.App().CloneUnopened() // an App is for one goroutine
	defer here.Close()
	h, err := here.Home()
	if err != nil {
		return service.RequestInfo{}, err
	}
	state, err := h.State()
	if err != nil {
		return service.RequestInfo{}, err
	}
	who, err := e.Principal()
	if err != nil {
		return service.RequestInfo{}, err
	}
	began := here.Now()
	ran, err := worker.Run(ctx, here, worker.RunOptions{
		Who: who, Context: state.Current, Prompt: prompt, Observer: turn.ObserverFunc(func(turn.Event) {}), Warn: e.Warn,
	})
	if err != nil {
		return service.RequestInfo{}, err
	}
	return service.RequestInfo{AgentName: ran.Context, Request: fika.Request{
		ID: ran.Request, State: ran.State, Reason: ran.Reason, Outcome: ran.Outcome, StartedAt: began, FinishedAt: here.Now(),
	}}, nil
}

// summarise returns a summary of an agent's window.
func (e masterHost) summarise(ctx context.Context, agent fika.AgentName) (string, error) {
	here := e.App().CloneUnopened() // an App is for one goroutine
	defer here.Close()
	done, err := worker.Summarise(ctx, here, agent, nil, func(string) {})
	return done.Summary, err
}

// compact replaces an agent's conversation by a summary and says what that did.
func (e masterHost) compact(ctx context.Context, c *service.Service, agent fika.AgentName, instructions string) (string, error) {
	person := e.Person()
	person.Stdin, person.Warn = nil, func(string) {}
	done, _, err := c.Agents.Compact(ctx, agent, service.CompactionOrder{Compaction: worker.Compaction{Instructions: instructions}, Person: person})
	if err != nil {
		return "", err
	}
	return page.Compacted(service.ChatCompacted{Agent: agent, Compacted: done}), nil
}

// revivesHub reports whether reviveHub would start a hub now.
func (e masterHost) revivesHub() bool {
	conf, err := e.App().Config()
	_, up, upErr := service.HubOf(e.App()).Process()
	return err == nil && upErr == nil && conf.Hub.Autostart && !up
}

// reviveHub starts a hub if none runs and the settings allow it; with killed, only if
// the last hub was killed. It returns a line about the start, "" if it started none. It
// runs concurrently with the console, and therefore uses an App of its own.
func (e masterHost) reviveHub(ctx context.Context, killed bool) (string, error) {
	own := &command.Env{Streams: e.Streams, Getenv: e.Getenv, Clock: e.Clock, Home: e.Home}
	h, err := own.App().Home()
	if err != nil {
		return "", err
	}
	defer own.Opened.Close()
	conf, err := own.App().Config()
	if err != nil || !conf.Hub.Autostart {
		return "", err
	}
	gone := h.HubKilled()
	if _, up := h.HubProcess(); up || killed && !gone {
		return "", nil
	}
	ready, already, err := service.HubOf(own.App()).Start(ctx, nil)
	if err != nil || already {
		return "", err
	}
	if gone {
		return fmt.Sprintf("the hub had stopped; restarted it (pid %d)", ready.PID), nil
	}
	return fmt.Sprintf("started the hub (pid %d)", ready.PID), nil
}

// masterHub starts the hub if none runs, agents are configured and the settings allow
// it, and returns how the start of each agent went.
func masterHub(ctx context.Context, e *command.Env) ([]master.Agent, error) {
	conf, err := e.App().Config()
	if err != nil {
		return nil, err
	}
	_, up, err := service.HubOf(e.App()).Process()
	if err != nil || up || len(conf.Agents) == 0 || !conf.Hub.Autostart {
		return nil, err
	}
	ready, _, err := service.HubOf(e.App()).Start(ctx, e.Warn)
	if err != nil {
		return nil, err
	}
	var out []master.Agent
	for _, a := range ready.Agents {
		x := master.Agent{Name: a.Name, PID: a.PID}
		if !a.OK {
			x.Trouble = a.Error
		}
		out = append(out, x)
	}
	return out, nil
}
