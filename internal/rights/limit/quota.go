package limit

import (
	"fmt"
	"time"

	"fika"
)

// Quota is what an agent has used of an hour: turns counted as they begin, tokens as
// they are paid for.
type Quota struct {
	Begins time.Time // beginning of the hour
	Turns  int64
	Tokens int64
}

// HourOf returns the beginning of the hour of the clock, in UTC, that contains now.
func HourOf(now time.Time) time.Time { return now.Truncate(time.Hour) }

// Exceeded says that an hour is used up.
type Exceeded struct {
	Until time.Time // when the next hour begins
	Limit string    // as in "20 turns per hour"
}

// Exceeded returns how the hour is used up, or nil if it is not.
func (q Quota) Exceeded(l Limits) *Exceeded {
	until := q.Begins.Add(time.Hour)
	switch {
	case l.HourTurns > 0 && q.Turns >= int64(l.HourTurns):
		return &Exceeded{until, counted(int64(l.HourTurns), "turn") + " per hour"}
	case l.HourTokens > 0 && q.Tokens >= l.HourTokens:
		return &Exceeded{until, counted(l.HourTokens, "token") + " per hour"}
	}
	return nil
}

// Notice returns the notice that is posted where something waits for the agent.
func (e Exceeded) Notice(agent fika.AgentName) string {
	return fmt.Sprintf("@%s reached its limit of %s; waiting work here resumes at %s UTC", agent, e.Limit, e.clock())
}

// NoticeID returns an id that is the same for the same agent and hour.
func (e Exceeded) NoticeID(id fika.AgentID) fika.EntryID {
	return noticeID("hour", string(id), fmt.Sprint(e.Until.UnixMilli()))
}

// Refusal tells a person why the agent does not begin at once.
func (e Exceeded) Refusal(agent fika.AgentName) string {
	return fmt.Sprintf("%s reached its limit of %s; the next hour begins at %s UTC", agent, e.Limit, e.clock())
}

// LaterHint tells a waiting person how to continue when the hour is over.
func (e Exceeded) LaterHint(agent fika.AgentName, command string) string {
	return fmt.Sprintf("%s reached its limit of %s; %s continues after %s UTC", agent, e.Limit, command, e.clock())
}

func (e Exceeded) clock() string { return e.Until.UTC().Format("15:04") }
