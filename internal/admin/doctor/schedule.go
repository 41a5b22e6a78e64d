package doctor

import (
	"context"

	"fika"
	"fika/internal/service"
	"fika/internal/text/hint"
)

// checkSchedules finds schedules that begin nothing, and those whose last request
// failed.
func (d *examination) checkSchedules(ctx context.Context) {
	c, err := service.Open(ctx, d.app, d.who)
	if err != nil {
		return // checkStore has said so
	}
	list, err := c.Schedules().List(ctx)
	if err != nil {
		d.add("schedules", Problem, "", "cannot be listed: %v", err)
		return
	}
	bad := 0
	for _, s := range list {
		show := hint.ScheduleShow.With(s.Schedule.Name)
		switch {
		case s.Elsewhere != "":
			d.add("schedules", Problem, "give it another name in config.toml", "%s begins nothing: %s", s.Schedule.Name, s.Hindrance())
		case s.Hindrance() != "":
			d.add("schedules", Problem, show, "%s began nothing the last time: %s", s.Schedule.Name, s.Hindrance())
		case s.State == fika.RequestFailed || s.State == fika.Dead:
			d.add("schedules", Problem, hint.RequestShow.With(s.Request), "what %s began last is %s: %s", s.Schedule.Name, s.State, s.Reason)
		default:
			bad--
		}
		bad++
	}
	if _, up := d.home.HubProcess(); !up && len(list) > 0 {
		d.add("schedules", Note, hint.Up.With(), "no hub is running, so nothing begins by itself")
	}
	if bad == 0 && len(list) > 0 {
		d.add("schedules", Fine, "", "none of %d needs attention", len(list))
	}
}
