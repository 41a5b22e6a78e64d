package worker

import (
	"context"
	"fmt"

	"fika"
	"fika/internal/extension/hook"
)

// FireStart fires on_start, creates the contexts that plugins ask for, and returns a
// function that fires on_end, which is never nil.
func (w *Worker) FireStart(ctx context.Context, h hook.Runner, verbose bool, warn func(string)) (func(), error) {
	name := string(w.Agent.Name)
	out, err := h.Fire(ctx, hook.OnStart, hook.Payload{"current_context": name, "verbose": verbose})
	if err != nil {
		return func() {}, err
	}
	creator := contextCreator{app: w.App, home: w.Folder.Home, store: w.Store, username: w.Settings.Username}
	wanted, _ := out["contexts"].([]hook.Context)
	for _, c := range wanted {
		if own, err := fika.ParseAgentName(c.Name); err == nil && own == w.Agent.Name {
			continue
		}
		if err := creator.ensure(ctx, c); err != nil {
			warn(fmt.Sprintf("context %q, which a plugin needs, was not made: %v", c.Name, err))
		}
	}
	return func() {
		_, _ = h.Fire(context.WithoutCancel(ctx), hook.OnEnd, hook.Payload{"current_context": name})
	}, nil
}

// SwitchPayload returns the payload of on_context_switch.
func SwitchPayload(from, to fika.AgentName, sub bool) hook.Payload {
	return hook.Payload{"from_context": string(from), "to_context": string(to), "is_sub_context": sub}
}
