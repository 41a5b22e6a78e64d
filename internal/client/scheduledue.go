package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"fika"
	"fika/internal/config"
	"fika/internal/store"
)

// BeginDue begins what is due, each once however many look, and reports whether
// anything is going to be due: whether a hub is needed although nothing goes on.
// What cannot begin is written down, and said with the schedule.
func (s *Schedules) BeginDue(ctx context.Context) bool {
	conf, err := s.c.app.Config()
	if err != nil {
		return true // it says so itself, and nothing is known of what it defines
	}
	defined := conf.Schedules
	if len(defined) == 0 && s.c.unscheduled {
		return false
	}
	list, now, err := s.standing(ctx, defined)
	if err == nil && (len(defined) == 0 || slices.ContainsFunc(list, func(one Schedule) bool { return one.outdated(now) })) {
		if err = s.keep(ctx, defined); err == nil {
			list, now, err = s.standing(ctx, defined)
		}
	}
	if err != nil {
		s.c.app.Log().Warn("schedules", "err", err)
		return len(defined) > 0
	}
	s.c.unscheduled = len(defined) == 0
	waits := false
	for _, one := range list {
		if one.Elsewhere != "" || !one.Paused.IsZero() {
			continue
		}
		waits = true
		if one.Next.After(now) {
			continue
		}
		if done, err := s.begin(ctx, one, now, false); err != nil {
			s.c.app.Log().Warn("schedule", "name", one.Schedule.Name, "err", err)
		} else if !done.Stale {
			s.c.app.Log().Info("schedule", "name", one.Schedule.Name, "request", done.Request, "trouble", done.Trouble)
		}
	}
	return waits
}

// outdated reports whether the row of a schedule is not what its definition says.
func (s Schedule) outdated(now time.Time) bool {
	def := scheduled(s.Schedule, now)
	return s.Elsewhere == "" && (!s.Follows(def) || s.ScheduleState.Next.After(def.Next))
}

// BeginNow begins what a schedule begins, once more, whatever time it is and
// whether or not what began last goes on.
func (s *Schedules) BeginNow(ctx context.Context, name string) (store.Occurred, error) {
	one, err := s.own(ctx, name)
	if err != nil {
		return store.Occurred{}, err
	}
	done, err := s.begin(ctx, one, s.c.now(), true)
	switch {
	case err != nil:
	case done.Stale:
		err = fika.Errorf(fika.Locked, "", "the schedule %s is being changed: try again", one.Schedule.Name)
	case done.Trouble != "":
		err = fika.Errorf(fika.Failed, "", "%s", done.Trouble)
	}
	_ = s.c.bus.Flush(ctx)
	return done, err
}

// begin begins what is due, or what a person wants now. What hinders it, unless
// that is the store, is written down as its trouble; a person is told it.
func (s *Schedules) begin(ctx context.Context, one Schedule, now time.Time, byHand bool) (store.Occurred, error) {
	times, zone := one.Times()
	o := store.Occasion{Scheduled: scheduled(one.Schedule, now), Planned: now}
	id := "" // made by the store
	if !byHand {
		o.Due = one.Next
		o.Planned, o.Missed = times.Missed(one.Next, now, zone)
		id = store.ScheduledID(one.Schedule.Name, o.Planned)
	}
	err := s.fill(ctx, &o, one.Schedule, id)
	var done store.Occurred
	if err == nil {
		done, err = s.c.store.BeginScheduled(ctx, o)
	}
	if fika.KindOf(err) != fika.Storage && err != nil && ctx.Err() == nil && !byHand {
		o.Task, o.Run, o.Say, o.Trouble = nil, nil, nil, troubleOf(err)
		done, err = s.c.store.BeginScheduled(ctx, o)
	}
	if err != nil || done.Stale || done.Trouble != "" {
		return done, err
	}
	s.wakeBegun(ctx, one.Schedule, done)
	return done, nil
}

// troubleOf is what an error says, without what was being done.
func troubleOf(err error) string {
	var e *fika.Error
	if errors.As(err, &e) && e.Msg != "" && e.Err == nil {
		return e.Msg
	}
	return err.Error()
}

// fill says what begins.
func (s *Schedules) fill(ctx context.Context, o *store.Occasion, d config.Schedule, id string) error {
	if d.Summarise {
		d.Prompt = "Sum up what you have before you in your ongoing conversation."
	}
	said, err := s.c.personSays(d.Prompt, "")
	if err != nil {
		return err
	}
	switch {
	case d.Agent != "":
		row, err := s.c.Agents.Find(ctx, d.Agent)
		if err != nil {
			return err
		}
		if err := s.c.app.MayCall(nil, row.Name); err != nil {
			return err
		}
		o.Task = &store.NewRequest{ID: fika.RequestID(id), Kind: fika.TaskRequest, Origin: fika.Queued, Agent: row.ID,
			Payload: fika.Payload{Prompt: d.Prompt, From: said.From, Writer: fika.ByHuman, Background: true, Summary: d.Summarise, Sender: "schedule " + d.Name}}
	case d.Workflow != "":
		run, err := s.newRun(d, said.From)
		run.ID = fika.RequestID(id)
		o.Run = &run
		return err
	default:
		conv, err := s.chat(ctx, d.Chat)
		if err != nil {
			return err
		}
		if err := s.c.Agents.ensureMentioned(ctx, d.Prompt); err != nil {
			return err
		}
		said.ID = fika.EntryID(id)
		post, _, err := s.c.Chats.poster().Prepare(ctx, conv, said)
		o.Say = &post
		return err
	}
	return nil
}

// newRun is the run that a schedule begins.
func (s *Schedules) newRun(d config.Schedule, from string) (store.NewRun, error) {
	w, err := OpenWorkflows(s.c.app)
	if err != nil {
		return store.NewRun{}, err
	}
	def, err := w.Load(d.Workflow)
	if err != nil {
		return store.NewRun{}, err
	}
	given := maps.Clone(d.Inputs)
	if d.Prompt != "" {
		if given == nil {
			given = map[string]string{}
		}
		given["prompt"] = d.Prompt
	}
	return s.c.Runs().prepare(def, given, store.NewRun{Name: def.Name, From: from, Title: def.Title(given)})
}

// chat finds or makes the chat in which something is said.
func (s *Schedules) chat(ctx context.Context, name string) (fika.Conversation, error) {
	conv, err := s.c.Chats.Find(ctx, name)
	if fika.IsKind(err, fika.NotFound) {
		if conv, err = s.c.store.CreateChat(ctx, fika.ConversationName(name)); fika.IsKind(err, fika.Conflict) {
			conv, err = s.c.Chats.Find(ctx, name)
		}
	}
	return conv, err
}

// wakeBegun wakes whoever has work now.
func (s *Schedules) wakeBegun(ctx context.Context, d config.Schedule, done store.Occurred) {
	switch {
	case done.Said != nil:
		s.c.Chats.poster().Tell(done.Said.Conversation, done.Said.Posted)
	case d.Agent != "":
		s.c.waker.Wake(fika.AgentName(d.Agent))
	default:
		if err := s.c.Runs().flow.Advance(ctx, done.Request); err != nil {
			s.c.app.Log().Warn("advance run", "run", done.Request, "err", err)
		}
	}
}
