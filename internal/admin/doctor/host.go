package doctor

import (
	"context"

	"fika/internal/service"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// checkOnDemand warns of hosts that could not be started or stopped although that was wanted.
func (d *examination) checkOnDemand(ctx context.Context) {
	c, err := service.Open(ctx, d.app, d.who)
	if err != nil {
		return // checkStore has said so
	}
	list, err := c.Hosts().List(ctx)
	if err != nil {
		d.add("hosts", Problem, "", "%v", err)
	}
	for _, h := range list {
		if h.Demand == nil || h.Demand.Reason == "" {
			continue
		}
		what := "stopped"
		if h.Demand.State == store.OnDemandFailed {
			what = "started"
		}
		d.add("hosts", Note, hint.HostShow.With(h.Name), "%s could not be %s by %s: %s", h.Name, what, h.Demand.By, h.Demand.Reason)
	}
}
