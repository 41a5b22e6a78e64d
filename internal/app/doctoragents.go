package app

import (
	"context"
)

// checkAgents says which agents cannot work and why, in the words that ask,
// agent list and health use.
func (d *doctor) checkAgents(ctx context.Context) {
	const check = "agents"
	if d.store == nil {
		return // said by checkStore
	}
	agents, err := d.Agents(ctx)
	if err != nil {
		d.add(check, Trouble, "", "%v", err)
		return
	}
	views, err := agents.List(ctx, false)
	if err != nil {
		d.add(check, Trouble, "", "%v", err)
		return
	}
	bad := 0
	for _, v := range views {
		if v.Trouble != "" {
			bad++
			d.add("agent "+string(v.Row.Name), Trouble, "", "%s", v.Trouble)
		}
	}
	if bad == 0 && len(views) > 0 {
		d.add(check, Fine, "", "%s", Summary(views))
	}
}
