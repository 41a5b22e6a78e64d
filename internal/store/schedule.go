package store

import (
	"context"
	"time"

	"fika"
)

// Scheduled is a schedule as a home's settings define it.
type Scheduled struct {
	Name   string
	Timing string    // when, as text; another text means another series of times
	Body   string    // what begins, as a text that differs if that does
	Next   time.Time // the next time after the present
}

// ScheduleState is the stored state of a schedule.
type ScheduleState struct {
	Name   string
	Home   string // the home whose definition it follows
	Timing string
	Body   string
	Next   time.Time // when something is, or was, due
	Paused time.Time // zero: it is not paused
	// These describe what began last.
	Planned time.Time // the time for which it began; zero: nothing has begun
	Begun   time.Time
	Missed  int // number of earlier times for which nothing began
	Request fika.RequestID
	Chat    fika.ConversationID // the chat of a message
	Going   bool                // it has not ended
	State   fika.RequestState   // of Request
	Reason  string
	// These say why nothing began, if that was later.
	Trouble   string
	TroubleAt time.Time // the time for which it was planned
}

// Follows reports whether the stored state is that of the definition d.
func (s ScheduleState) Follows(d Scheduled) bool { return s.Timing == d.Timing && s.Body == d.Body }

// stillGoing is true if what began last has not ended: a request, a run under the id
// that it keeps, or the work that a message caused.
const stillGoing = `(EXISTS (SELECT 1 FROM requests r WHERE r.id = d.request AND r.finished_at = 0)
OR EXISTS (SELECT 1 FROM flow_runs f WHERE f.id = d.request AND f.ended_at = 0)
OR EXISTS (SELECT 1 FROM notifications n WHERE n.conversation = d.chat AND n.seq = d.seq AND n.state IN ('pending', 'claimed')))`

const selectSchedule = `SELECT d.name, d.home, d.timing, d.body, d.next_at, d.paused_at, d.planned_at, d.begun_at, d.missed, d.request, d.chat, d.trouble, d.trouble_at,
` + stillGoing + `, COALESCE((SELECT r.state FROM requests r WHERE r.id = COALESCE((SELECT f.request FROM flow_runs f WHERE f.id = d.request), d.request)), ''),
COALESCE((SELECT r.reason FROM requests r WHERE r.id = COALESCE((SELECT f.request FROM flow_runs f WHERE f.id = d.request), d.request)), '') FROM schedules d`

func scanSchedule(sc scanner) (s ScheduleState, err error) {
	var next, paused, planned, begun, trouble int64
	err = sc.Scan(&s.Name, &s.Home, &s.Timing, &s.Body, &next, &paused, &planned, &begun, &s.Missed, &s.Request, &s.Chat, &s.Trouble, &trouble,
		flag{&s.Going}, &s.State, &s.Reason)
	s.Next, s.Paused, s.Planned, s.Begun, s.TroubleAt = at(next), at(paused), at(planned), at(begun), at(trouble)
	return s, err
}

// ScheduleStates returns the stored state of all schedules, sorted by name, and the
// present time of the store.
func (s Schedules) ScheduleStates(ctx context.Context) (list []ScheduleState, now time.Time, err error) {
	list, err = many(ctx, s.r, scanSchedule, selectSchedule+` ORDER BY d.name`)
	return list, at(s.nowMS()), s.explain("read schedules", err)
}

// KeepSchedules brings the rows in line with a home's definitions: new and changed
// schedules are due at their next time, and those that the home no longer defines are
// deleted. A schedule that another home defines differently is left alone.
func (s Schedules) KeepSchedules(ctx context.Context, home string, defined []Scheduled) error {
	return s.write(ctx, "keep schedules", func(ctx context.Context, t *tx) error {
		known, err := many(ctx, t, scanText, `SELECT d.name FROM schedules d WHERE d.home = ? ORDER BY d.name`+lockRow, home)
		if err != nil {
			return err
		}
		kept := map[string]bool{}
		for _, d := range defined {
			kept[d.Name] = true
			if err := schedulesIn(t).keepSchedule(ctx, home, d); err != nil {
				return err
			}
		}
		for _, name := range known {
			if kept[name] {
				continue
			}
			if err := t.put(ctx, `DELETE FROM schedules WHERE name = ? AND home = ?`, name, home); err != nil {
				return err
			}
		}
		return nil
	})
}

// scheduleRows writes the state of schedules.
type scheduleRows struct{ *tx }

func schedulesIn(t *tx) scheduleRows { return scheduleRows{t} }

// keepSchedule brings one row in line with its definition. A stored next time that is
// later than the definition's comes from a clock that was ahead.
func (t scheduleRows) keepSchedule(ctx context.Context, home string, d Scheduled) error {
	next := ms(d.Next)
	if err := t.put(ctx, `INSERT INTO schedules (name, home, timing, body, next_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		d.Name, home, d.Timing, d.Body, next); err != nil {
		return err
	}
	return t.put(ctx, `UPDATE schedules SET body = ?, next_at = CASE WHEN timing <> ? OR next_at > ? THEN ? ELSE next_at END, timing = ?
WHERE name = ? AND (home = ? OR (timing = ? AND body = ?))`, d.Body, d.Timing, next, next, d.Timing, d.Name, home, d.Timing, d.Body)
}

// PauseSchedule pauses a schedule if next is zero; otherwise the schedule goes on
// from next. It fails with NotFound.
func (s Schedules) PauseSchedule(ctx context.Context, name string, next time.Time) error {
	const op = "pause schedule"
	return s.write(ctx, op, func(ctx context.Context, t *tx) error {
		change, args := `paused_at = CASE WHEN paused_at = 0 THEN ? ELSE paused_at END`, []any{t.now, name}
		if !next.IsZero() {
			change, args = `next_at = CASE WHEN paused_at = 0 THEN next_at ELSE ? END, paused_at = 0`, []any{ms(next), name}
		}
		n, err := t.exec(ctx, `UPDATE schedules SET `+change+` WHERE name = ?`, args...)
		if err == nil && n == 0 {
			err = fika.Errorf(fika.NotFound, op, "schedule %q not found", name)
		}
		return err
	})
}

// Occasion is a time of a schedule with what begins then: one of Task, Run and Say,
// or nothing, because of Trouble.
type Occasion struct {
	Scheduled           // as the caller has it; Next is after Planned
	Due       time.Time // the next time in the schedule's row; zero: a person wants it now
	Planned   time.Time // the latest time that has come
	Missed    int       // number of times missed before that one
	Task      *NewRequest
	Run       *NewRun
	Say       *Post
	Trouble   string
}

// Occurred reports what [Schedules.BeginScheduled] stored.
type Occurred struct {
	// Stale means that the schedule is no longer as the caller saw it: others were
	// quicker, or it was paused or changed. Nothing was stored.
	Stale   bool
	Trouble string // why nothing began
	Request fika.RequestID
	Said    *Said
}

// BeginScheduled begins what is due and moves the schedule to its next time in one
// commit: a process that dies before the commit has begun nothing, and after it
// nobody begins the same again. What begins has an id derived from the schedule and
// the time. Nothing begins while what began last is still going on, unless a person
// wants it.
func (s Schedules) BeginScheduled(ctx context.Context, o Occasion) (Occurred, error) {
	const op = "begin scheduled"
	var out Occurred
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = Occurred{Trouble: o.Trouble}
		row, ok, err := one(ctx, t, scanSchedule, selectSchedule+` WHERE d.name = ?`+lockSchedule, o.Name)
		if err != nil {
			return err
		}
		byHand := o.Due.IsZero()
		moved := !byHand && (!row.Next.Equal(o.Due) || !row.Paused.IsZero() || t.now < ms(o.Due))
		if !ok || !row.Follows(o.Scheduled) || moved {
			out.Stale, t.discard = true, true
			return nil
		}
		if out.Trouble == "" && row.Going && !byHand {
			out.Trouble = "what it began last is still running"
		}
		seq := int64(0)
		var chat fika.ConversationID
		if out.Trouble == "" {
			if chat, seq, err = schedulesIn(t).beginOccasion(ctx, o, &out); err != nil {
				return err
			}
		}
		t.discard = false // even if repeating a known id begins nothing
		return schedulesIn(t).moveSchedule(ctx, o, row, out, chat, seq)
	})
	return out, err
}

// lockSchedule locks a schedule, and none of the rows read with it.
const lockSchedule = ` FOR NO KEY UPDATE OF d`

// beginOccasion stores what begins.
func (t scheduleRows) beginOccasion(ctx context.Context, o Occasion, out *Occurred) (chat fika.ConversationID, seq int64, err error) {
	switch {
	case o.Task != nil:
		var a Accepted
		a, err = requestsIn(t.tx).accept(ctx, *o.Task)
		out.Request = a.Request.ID
	case o.Run != nil:
		var r Run
		r, err = flowsIn(t.tx).startRun(ctx, *o.Run)
		out.Request = r.ID
	case o.Say != nil:
		var c fika.Conversation
		if c, err = conversationsIn(t.tx).lock(ctx, o.Say.Conversation); err != nil {
			return "", 0, err
		}
		var f posting
		if err = t.run(ctx, f.asking(*o.Say)...); err != nil {
			return "", 0, err
		}
		said := Said{Conversation: c}
		said.Posted, err = postsIn(t.tx).post(ctx, c, *o.Say, f, time.Time{})
		out.Said = &said
		return c.ID, said.Entry.Seq, err
	}
	return "", 0, err
}

// moveSchedule records what became of an occasion.
func (t scheduleRows) moveSchedule(ctx context.Context, o Occasion, row ScheduleState, out Occurred, chat fika.ConversationID, seq int64) error {
	next := ms(o.Next)
	if o.Due.IsZero() {
		next = ms(row.Next)
	}
	if out.Trouble != "" {
		return t.put(ctx, `UPDATE schedules SET next_at = ?, trouble = ?, trouble_at = ? WHERE name = ?`, next, out.Trouble, ms(o.Planned), o.Name)
	}
	return t.put(ctx, `UPDATE schedules SET next_at = ?, planned_at = ?, begun_at = ?, missed = ?, request = ?, chat = ?, seq = ?, trouble = '', trouble_at = 0 WHERE name = ?`,
		next, ms(o.Planned), t.now, o.Missed, out.Request, chat, seq, o.Name)
}

// ScheduledID returns the id of what a schedule begins for a time, as text: it is the
// same in every process.
func ScheduledID(name string, planned time.Time) string {
	return ownUUID("schedule\x00" + name + "\x00" + planned.UTC().Format(time.RFC3339))
}
