package schedule

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// New returns the command fika schedule.
func New(e *command.Env) *cobra.Command {
	return command.Group("schedule", "start work automatically, by the clock",
		`A schedule ([[schedules]] in config.toml) gives a prompt to an agent, sends it
to a chat, or starts a run of a workflow, at the times that a cron expression
names. The hub starts what is due, once, and catches up once on what was missed
while no hub ran.`,
		"  fika schedule create report --cron \"30 8 * * mon-fri\" --agent coder \"What changed since yesterday?\"\n  fika schedule list",
		newList(e), newShow(e), newCreate(e), newDelete(e), newRun(e), newPause(e), newResume(e))
}

// JSON is a schedule and its state, as --json prints it.
type JSON struct {
	Name      string            `json:"name"`
	Cron      string            `json:"cron"`
	Zone      command.Nullable  `json:"zone"` // null: the machine's
	Agent     command.Nullable  `json:"agent"`
	Workflow  command.Nullable  `json:"workflow"`
	Chat      command.Nullable  `json:"chat"`
	Prompt    string            `json:"prompt"`
	Inputs    map[string]string `json:"inputs"`
	Summarise bool              `json:"summarise"`
	Next      *time.Time        `json:"next"` // null: it is paused, or another home's schedule is in its way
	PausedAt  *time.Time        `json:"paused_at"`
	Last      *lastJSON         `json:"last"`    // null: nothing has begun yet
	Trouble   command.Nullable  `json:"trouble"` // why nothing began the last time
	TroubleAt *time.Time        `json:"trouble_at"`
}

type lastJSON struct {
	Planned *time.Time       `json:"planned"`
	Begun   *time.Time       `json:"begun"`
	Missed  int              `json:"missed"` // number of earlier times for which nothing began
	Request command.Nullable `json:"request"`
	State   command.Nullable `json:"state"` // of the request; null: a message was sent to a chat
	Reason  command.Nullable `json:"reason"`
	Going   bool             `json:"going"`
}

// ToJSON returns a schedule as --json prints it.
func ToJSON(s service.Schedule) JSON {
	d := s.Schedule
	j := JSON{
		Name: d.Name, Cron: d.Cron, Zone: command.Nullable(d.Zone), Agent: command.Nullable(d.Agent), Workflow: command.Nullable(d.Workflow),
		Chat: command.Nullable(d.Chat), Prompt: d.Prompt, Inputs: d.Inputs, Summarise: d.Summarise, PausedAt: command.JSONTime(s.Paused),
		Trouble: command.Nullable(s.Hindrance()), TroubleAt: command.JSONTime(s.TroubleAt),
	}
	if j.Inputs == nil {
		j.Inputs = map[string]string{}
	}
	if s.Paused.IsZero() {
		j.Next = command.JSONTime(s.Next)
	}
	if !s.Begun.IsZero() {
		j.Last = &lastJSON{
			Planned: command.JSONTime(s.Planned), Begun: command.JSONTime(s.Begun), Missed: s.Missed, Request: command.Nullable(s.Request),
			State: command.Nullable(s.State), Reason: command.Nullable(s.Reason), Going: s.Going,
		}
	}
	return j
}

// NextLine returns when a schedule is next due, in its own zone, or why it is not.
func NextLine(s service.Schedule) string {
	switch {
	case s.Elsewhere != "":
		return "never: it is another home's"
	case !s.Paused.IsZero():
		return "paused"
	case s.Next.IsZero():
		return "-"
	}
	_, zone := s.Times()
	return s.Next.In(zone).Format("Mon 2006-01-02 15:04 MST")
}

// LastLine returns what became of the last time, or why nothing began; "" if the
// schedule has never been due.
func LastLine(s service.Schedule) string {
	if s.Hindrance() != "" {
		return "nothing began: " + s.Hindrance()
	}
	if s.Begun.IsZero() {
		return ""
	}
	text := string(s.State)
	switch {
	case s.State == "" && s.Going:
		text = "said, not answered yet"
	case s.State == "":
		text = "said"
	case s.State == fika.RequestFailed && s.Reason != "":
		text += ": " + s.Reason
	}
	_, zone := s.Times()
	text = s.Begun.In(zone).Format("2006-01-02 15:04") + " " + text
	if s.Missed > 0 {
		text += fmt.Sprintf(" (%d missed before it)", s.Missed)
	}
	return text
}

// offerNames completes the names of schedules.
func offerNames(e *command.Env) cobra.CompletionFunc {
	return complete.FirstOnly(func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.App().Config()
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, s := range c.Schedules {
			out = append(out, complete.WithAbout(s.Name, s.WhatBegins()))
		}
		return out, complete.NoFiles
	})
}
