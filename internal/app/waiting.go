package app

import (
	"context"
	"fmt"

	"fika"
	"fika/internal/hub"
	"fika/internal/store"
)

// whyWaiting says what keeps an agent from a request that it was just given,
// and what helps; empty: nothing does, or it is not known.
func (a *App) whyWaiting(s *store.Store, procs hub.Processes, specs []hub.Spec) func(context.Context, fika.Agent) string {
	wakes := map[fika.AgentName]bool{}
	for _, spec := range specs {
		wakes[spec.Name] = spec.Wake
	}
	return func(ctx context.Context, row fika.Agent) string {
		if paused, err := s.AllPaused(ctx); err == nil && paused {
			return "everything is paused; fika chat resume --all lets it go on"
		}
		switch {
		case row.Desired.Stopped():
			return fmt.Sprintf("@%s is stopped; fika agent start %s starts it", row.Name, row.Name)
		case row.State == fika.AgentFailed:
			return fmt.Sprintf("@%s cannot work: %s; once that is mended, fika agent start %s starts it", row.Name, row.StateReason, row.Name)
		}
		if held := HeldHint(row, a.opts.Now()); held != "" {
			return held
		}
		if _, _, runs := procs.Holder(row.Name); runs || wakes[row.Name] {
			return ""
		}
		if _, known := wakes[row.Name]; known {
			return fmt.Sprintf("@%s does not run and is not woken by requests (wake = false); fika agent start %s starts it", row.Name, row.Name)
		}
		return fmt.Sprintf("nobody starts @%s, which has no [[agents]] entry; fika agent run %s works what waits for it", row.Name, row.Name)
	}
}
