package doctor

import (
	"context"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/settings/config"
	"fika/internal/worker"
)

// checkGuests opens a session with the program of each guest, as when the guest was added.
func (d *examination) checkGuests(ctx context.Context) {
	const check = "guests"
	c, err := d.app.Config()
	if err != nil || d.app.ReadOnly() {
		return
	}
	for _, a := range c.Agents {
		if a.Engine != config.EngineACP || a.Instances > 0 { // of a pool, each member is tried
			continue
		}
		trial, err := worker.TryGuest(ctx, d.app, fika.AgentName(a.ID))
		if err != nil {
			d.add(check, Problem, setup.GuestHelp(trial.Command, trial.Home, d.app.Getenv("PATH"), err), "@%s does not open a session: %v", a.ID, err)
			continue
		}
		d.add(check, Fine, "", "@%s: %s answers; %s", a.ID, trial.Program, trial.Sessions)
	}
}
