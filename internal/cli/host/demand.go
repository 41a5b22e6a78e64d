package host

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

func newStart(e *command.Env) *cobra.Command {
	return change(e, "start", "start a host that starts on demand",
		`Has a host started now, although there may be no work for it: by the host whose
config.toml says how, in [hosts.NAME]. A start that has failed is tried again. It
does not wait until the host is up: fika store host list shows that.`,
		"  fika store host start box", "%s is being started (fika store host list)",
		func(ctx context.Context, c *service.Service, name string) error { return c.Hosts().Start(ctx, name) })
}

func newStop(e *command.Env) *cobra.Command {
	return change(e, "stop", "stop a host that starts on demand, and keep it stopped",
		`Has a host stopped once the current steps of its agents have ended: by the host
whose config.toml says how, in [hosts.NAME]. It stays so, and what waits for it
waits, until fika store host start, or until it comes up by other means.`,
		"  fika store host stop box", "%s is being stopped (fika store host list)",
		func(ctx context.Context, c *service.Service, name string) error { return c.Hosts().Stop(ctx, name) })
}

// demandJSON is what --json prints of a host that starts on demand.
type demandJSON struct {
	By        string           `json:"by"`    // the host whose settings say how
	Ready     bool             `json:"ready"` // that one is up
	Want      command.Nullable `json:"want"`  // start, stop
	State     command.Nullable `json:"state"` // starting, failed, draining, stopping, stopped
	Since     *time.Time       `json:"since"`
	Until     *time.Time       `json:"until"`
	IdleFor   float64          `json:"idle_for_s"`
	IdleSince *time.Time       `json:"idle_since"`
	Stops     bool             `json:"stops"`
	Tries     int              `json:"tries"`
	Reason    command.Nullable `json:"reason"`
}

func demandToJSON(d *service.Demand) *demandJSON {
	if d == nil {
		return nil
	}
	return &demandJSON{
		By: d.By, Ready: d.Ready, Want: command.Nullable(d.Want), State: command.Nullable(d.State), Since: command.JSONTime(d.Since), Until: command.JSONTime(d.Until),
		IdleFor: d.IdleFor.Seconds(), IdleSince: command.JSONTime(d.Idle), Stops: d.Stops, Tries: d.Tries, Reason: command.Nullable(d.Reason),
	}
}

// demandText says how a host is started on demand, and what is done about it.
func demandText(d *service.Demand, now time.Time) string {
	text := "on demand, by " + d.By
	if !d.Ready {
		text += ", which is down"
	}
	switch {
	case d.Stops:
		text += fmt.Sprintf("; stopped after %s without work", term.Duration(d.IdleFor))
	default:
		text += "; nothing stops it"
	}
	again := func() string {
		if left := d.Until.Sub(now); left > 0 {
			return fmt.Sprintf("; tried again in %s", term.Duration(left.Round(time.Second)))
		}
		return ""
	}
	switch d.State {
	case "starting":
		text += fmt.Sprintf("; being started (%s), which may take %s", term.Ago(d.Since, now), term.Duration(d.Until.Sub(d.Since)))
	case "failed":
		text += fmt.Sprintf("; not started (%s): %s%s", command.Plural(d.Tries, "attempt"), d.Reason, again())
	case "draining":
		text += "; about to be stopped, once what it does has ended"
	case "stopping":
		text += "; being stopped (" + term.Ago(d.Since, now) + ")"
	case "stopped":
		text += "; stopped by hand"
	default:
		if d.Reason != "" {
			text += "; not stopped: " + d.Reason + again()
		}
	}
	return text
}

func seenAgo(e *command.Env, h service.Host) string {
	if h.Seen.IsZero() {
		return "never"
	}
	return term.Ago(h.Seen, e.Now())
}
