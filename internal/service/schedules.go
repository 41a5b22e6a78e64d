package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/text/spelling"
)

// Schedules is the interface to scheduled work: read, pause, resume, begin
// now.
type Schedules struct{ c *Service }

// Schedules returns the interface to the schedules in the home's settings.
func (c *Service) Schedules() *Schedules { return &Schedules{c} }

// Schedule is a [[schedules]] entry and the state of its work.
type Schedule struct {
	config.Schedule
	store.ScheduleState
	// Elsewhere is the home whose entry of the same name is worked instead of this one;
	// empty: none.
	Elsewhere string
}

// scheduled converts an entry to the form that the store takes.
func scheduled(s config.Schedule, now time.Time) store.Scheduled {
	times, zone := s.Times()
	what := []any{s.Agent, s.Workflow, s.Chat, s.Prompt, s.Inputs}
	if s.Summarise {
		what = append(what, "summarise")
	}
	raw, err := json.Marshal(what)
	if err != nil {
		raw = nil // cannot fail for strings and a map of strings
	}
	sum := sha256.Sum256(raw)
	return store.Scheduled{
		Name: s.Name, Timing: strings.TrimSpace(strings.Join(strings.Fields(s.Cron), " ") + " " + s.Zone),
		Body: hex.EncodeToString(sum[:16]), Next: times.Next(now, zone),
	}
}

// List returns the schedules that the caller may see by name, with the next time of each. It changes nothing.
func (s *Schedules) List(ctx context.Context) ([]Schedule, error) {
	defined := s.c.config().Schedules
	if len(defined) == 0 {
		return nil, nil
	}
	list, _, err := s.standing(ctx, defined)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Schedule) int { return strings.Compare(a.Schedule.Name, b.Schedule.Name) })
	return s.c.sight().schedules(ctx, list)
}

// standing joins definitions with their stored state. A definition without a stored
// state is due at its next time.
func (s *Schedules) standing(ctx context.Context, defined []config.Schedule) (list []Schedule, now time.Time, err error) {
	home, err := s.c.home.ID()
	if err != nil {
		return nil, now, err
	}
	states, now, err := s.c.store.ScheduleStates(ctx)
	if err != nil {
		return nil, now, err
	}
	for _, d := range defined {
		one := Schedule{Schedule: d}
		def := scheduled(d, now)
		i := slices.IndexFunc(states, func(st store.ScheduleState) bool { return st.Name == d.Name })
		switch {
		case i >= 0 && states[i].Follows(def):
			one.ScheduleState = states[i]
			if one.Next.After(def.Next) { // a clock was ahead
				one.Next = def.Next
			}
		case i >= 0 && states[i].Home != home:
			one.Elsewhere = states[i].Home
		case i >= 0:
			one.ScheduleState = states[i]
			if states[i].Timing != def.Timing {
				one.Next = def.Next
			}
		default:
			one.Next = def.Next
		}
		list = append(list, one)
	}
	return list, now, nil
}

// Find returns a schedule by name. A NotFound error suggests the nearest name.
func (s *Schedules) Find(ctx context.Context, name string) (Schedule, error) {
	list, err := s.List(ctx)
	if err != nil {
		return Schedule{}, err
	}
	var names []string
	for _, one := range list {
		if one.Schedule.Name == strings.ToLower(name) {
			return one, nil
		}
		names = append(names, one.Schedule.Name)
	}
	return Schedule{}, fika.WithHint(fika.Errorf(fika.NotFound, "", "schedule %q not found%s", name, spelling.DidYouMean(name, names)), hint.ScheduleList)
}

// Add writes a schedule into the home's config.toml. Error kinds: Invalid, NotFound for
// what it would begin, Conflict for a name that exists.
func (s *Schedules) Add(ctx context.Context, n config.Schedule) (Schedule, error) {
	if err := s.c.may("schedule.set"); err != nil {
		return Schedule{}, err
	}
	err := s.c.intent(ctx, "schedule.set", []any{n}, wish{
		want: defines(n), state: func() (any, error) { return s.defined(n.Name) }, do: func() error { return s.add(ctx, n) },
	})
	if err != nil {
		return Schedule{}, err
	}
	list, _, err := s.standing(ctx, []config.Schedule{n})
	if err != nil {
		return Schedule{}, err
	}
	return list[0], nil
}

// defines returns what a definition says, as a text that differs if that does.
func defines(d config.Schedule) string {
	s := scheduled(d, time.Time{})
	return s.Timing + " " + s.Body
}

// defined is [defines] for a schedule in the settings; "" if there is none.
func (s *Schedules) defined(name string) (string, error) {
	conf, err := s.c.app.Config()
	if err != nil {
		return "", err
	}
	for _, d := range conf.Schedules {
		if d.Name == name {
			return defines(d), nil
		}
	}
	return "", nil
}

func (s *Schedules) add(ctx context.Context, n config.Schedule) error {
	conf := s.c.config()
	if err := conf.CheckSchedule(n); err != nil {
		return err
	}
	if n.Workflow != "" {
		if _, err := s.newRun(n, ""); err != nil {
			return err
		}
	}
	if err := config.AddSchedule(s.c.home.ConfigFile(), n); err != nil {
		return err
	}
	if err := s.keep(ctx, append(slices.Clone(conf.Schedules), n)); err != nil {
		return err
	}
	s.wakeHub(ctx)
	return nil
}

// Remove removes a schedule from the home's config.toml. Work that it began goes on.
func (s *Schedules) Remove(ctx context.Context, name string) error {
	if err := s.c.may("schedule.delete"); err != nil {
		return err
	}
	name = strings.ToLower(name)
	return s.c.intent(ctx, "schedule.delete", []any{name}, wish{
		want: "", state: func() (any, error) { return s.defined(name) }, do: func() error { return s.remove(ctx, name) },
	})
}

func (s *Schedules) remove(ctx context.Context, name string) error {
	one, err := s.Find(ctx, name)
	if err != nil {
		return err
	}
	if err := config.RemoveSchedule(s.c.home.ConfigFile(), one.Schedule.Name); err != nil {
		return err
	}
	return s.keep(ctx, slices.DeleteFunc(slices.Clone(s.c.config().Schedules), func(d config.Schedule) bool { return d.Name == one.Schedule.Name }))
}

// keep makes the rows match the definitions.
func (s *Schedules) keep(ctx context.Context, defined []config.Schedule) error {
	home, err := s.c.home.ID()
	if err != nil {
		return err
	}
	_, now, err := s.c.store.ScheduleStates(ctx)
	if err != nil {
		return err
	}
	var list []store.Scheduled
	for _, d := range defined {
		list = append(list, scheduled(d, now))
	}
	return s.c.store.KeepSchedules(ctx, home, list)
}

func (s *Schedules) wakeHub(ctx context.Context) {
	s.c.waker.WakeHub()
	_ = s.c.bus.Flush(ctx)
}

// Pause lets nothing of a schedule begin until Resume, which continues with the next
// time: missed times are not caught up.
func (s *Schedules) Pause(ctx context.Context, name string) (Schedule, error) {
	if err := s.c.may("schedule.pause"); err != nil {
		return Schedule{}, err
	}
	return s.setPaused(ctx, "schedule.pause", name, func(Schedule, time.Time) time.Time { return time.Time{} })
}

// Resume ends a pause.
func (s *Schedules) Resume(ctx context.Context, name string) (Schedule, error) {
	if err := s.c.may("schedule.resume"); err != nil {
		return Schedule{}, err
	}
	return s.setPaused(ctx, "schedule.resume", name, func(one Schedule, now time.Time) time.Time { return scheduled(one.Schedule, now).Next })
}

// setPaused stores a pause, or its end with the next time, which next returns for the time of
// the database: all hosts share that.
func (s *Schedules) setPaused(ctx context.Context, verb, name string, next func(Schedule, time.Time) time.Time) (Schedule, error) {
	one, err := s.own(ctx, name)
	if err != nil {
		return one, err
	}
	_, now, err := s.c.store.ScheduleStates(ctx)
	if err != nil {
		return one, err
	}
	err = s.c.onceOnly(ctx, verb, []any{one.Schedule.Name}, func(to *store.Store) error {
		return to.PauseSchedule(ctx, one.Schedule.Name, next(one, now))
	})
	if err != nil {
		return one, err
	}
	s.wakeHub(ctx)
	return s.Find(ctx, name)
}

// own returns a schedule that this home works, and makes sure that its row exists.
func (s *Schedules) own(ctx context.Context, name string) (Schedule, error) {
	one, err := s.Find(ctx, name)
	if err != nil {
		return one, err
	}
	if err := s.keep(ctx, s.c.config().Schedules); err != nil {
		return one, err
	}
	if one.Elsewhere != "" {
		return one, fika.Errorf(fika.Conflict, "", "%s", one.Hindrance())
	}
	return s.Find(ctx, name)
}

// Hindrance says why a schedule begins nothing; "" if nothing hinders it.
func (s Schedule) Hindrance() string {
	switch {
	case s.Elsewhere != "":
		return "another home with the same database (" + s.Elsewhere + ") has another schedule of the name " + s.Schedule.Name + ": give this one another name"
	case s.Trouble != "":
		return s.Trouble
	}
	return ""
}
