package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/settings/toml"
	"fika/internal/workflow/schedule"
)

// Schedule is one [[schedules]] entry: work that begins by itself. One of Agent,
// Workflow and Chat is set.
type Schedule struct {
	Name     string // lower case, checked
	Cron     string
	Zone     string // empty: the machine's
	Agent    string
	Workflow string
	Chat     string
	Prompt   string
	Inputs   map[string]string // of a workflow
	// Summarise: the agent summarises its window; then there is no prompt.
	Summarise bool

	at Place
}

func scheduleKeys() []key[Schedule] {
	return []key[Schedule]{
		{name: "name", at: func(s *Schedule) any { return &s.Name }, check: checkScheduleName, example: `"morning-report"`,
			doc: "The schedule's name, as in fika schedule show morning-report: 1 to 32 of a-z 0-9 _ -. Required."},
		{name: "cron", at: func(s *Schedule) any { return &s.Cron }, example: `"30 8 * * mon-fri"`,
			doc: "When: minute, hour, day of the month, month and day of the week, with * , - and /, or @hourly, @daily, @weekly, @monthly, @yearly. Required."},
		{name: "zone", at: func(s *Schedule) any { return &s.Zone }, example: `"Europe/Stockholm"`, check: checkZone, doc: "The time zone. Unset: that of this machine."},
		{name: "agent", at: func(s *Schedule) any { return &s.Agent }, check: checkName, example: `"coder"`,
			doc: "The agent that gets the prompt, as a task. One of agent, workflow and chat is required."},
		{name: "summarise", at: func(s *Schedule) any { return &s.Summarise }, example: "true",
			doc: "Instead of getting a prompt, the agent summarises what it currently sees of its ongoing conversation. The summary is the answer of the task."},
		{name: "workflow", at: func(s *Schedule) any { return &s.Workflow }, example: `"review"`,
			doc: "The workflow to run."},
		{name: "chat", at: func(s *Schedule) any { return &s.Chat }, check: checkScheduleChat, example: `"standup"`,
			doc: "The chat to which the prompt is sent, in your name; the agents it mentions answer there. The chat is created if it does not exist."},
		{name: "prompt", at: func(s *Schedule) any { return &s.Prompt }, example: `"What changed since yesterday?"`,
			doc: "What is asked or said. For a workflow: its input named prompt."},
		{name: "inputs", at: func(s *Schedule) any { return &s.Inputs }, example: `{topic = "the week"}`,
			doc: "The inputs of the workflow."},
	}
}

func checkScheduleName(v value, at any) string {
	return strings.Replace(checkName(v, at), "agent name", "name of a schedule", 1)
}

func checkScheduleChat(_ value, at any) string {
	s := at.(*string)
	name, err := fika.ParseChatName(*s)
	if err != nil {
		return fika.ReasonOf(err)
	}
	*s = string(name)
	return ""
}

// readSchedules reads [[schedules]].
func (r *reader) readSchedules(v value, path string, list *[]Schedule) bool {
	begin := func(item value) Schedule { return Schedule{at: r.Place(item.At)} }
	return readTables(r, v, path, list, scheduleKeys(), begin, func(item value, _ *Schedule) {
		r.needKey(item, "name", "this schedule has no name: give it one, as in name = \"morning-report\"")
		r.needKey(item, "cron", "this schedule has no cron: set it, as in cron = \"30 8 * * mon-fri\"")
		if e := item.Table.Get("cron"); e != nil && e.Value.Kind == toml.KindText {
			_, wrong := schedule.Parse(e.Value.Text)
			for _, m := range wrong {
				r.Problem(r.OffsetInside(e.Value, m.At), "%s", m.Message)
			}
		}
		r.checkScheduled(item)
	})
}

// checkScheduled checks what a schedule begins, as far as that is possible without
// other entries.
func (r *reader) checkScheduled(item value) {
	var given []string
	for _, k := range []string{"agent", "workflow", "chat"} {
		if item.Table.Get(k) != nil {
			given = append(given, k)
		}
	}
	prompt, inputs := item.Table.Get("prompt"), item.Table.Get("inputs")
	switch {
	case len(given) == 0:
		r.Problem(item.At, "this schedule starts nothing: set agent, workflow or chat")
	case len(given) > 1:
		r.Problem(item.Table.Get(given[1]).At, "a schedule begins one thing: %s or %s", given[0], given[1])
	case isTrue(item.Table.Get("summarise")):
		if given[0] != "agent" {
			r.Problem(item.Table.Get("summarise").At, "an agent sums up what it has before it, not a %s: set agent", given[0])
		} else if prompt != nil {
			r.Problem(prompt.At, "a schedule with summarise cannot have a prompt")
		}
		if inputs != nil {
			r.Problem(inputs.At, "inputs are a workflow's")
		}
	case given[0] != "workflow" && (prompt == nil || prompt.Value.Kind == toml.KindText && strings.TrimSpace(prompt.Value.Text) == ""):
		r.Problem(item.At, "this schedule has no prompt")
	case given[0] != "workflow" && inputs != nil:
		r.Problem(inputs.At, "inputs are a workflow's; %s has a prompt", map[string]string{"agent": "an agent", "chat": "a chat"}[given[0]])
	}
}

func isTrue(e *entry) bool {
	return e != nil && e.Value.Kind == toml.KindBool && e.Value.Text == "true"
}

// checkSchedules looks for duplicate names and unknown agents.
func (c *crossCheck) checkSchedules() {
	for i, s := range c.Schedules {
		if first := slices.IndexFunc(c.Schedules, func(o Schedule) bool { return o.Name == s.Name }); first < i && s.Name != "" {
			c.problems.Add(c.placeOf("schedules", i, "name"), "the schedule %s is defined twice; the first is at %s", toml.Quote(s.Name), c.placeOf("schedules", first, "name"))
		}
		if s.Agent != "" && c.entryIndex(s.Agent) < 0 {
			c.problems.Add(c.placeOf("schedules", i, "agent"), "no [[agents]] entry has the id %s%s", toml.Quote(s.Agent), toml.NearestHint(s.Agent, c.agentIDs()))
		}
		if wrong := c.noSummary(s); wrong != "" {
			c.problems.Add(c.placeOf("schedules", i, "agent"), "%s", wrong)
		}
	}
}

// noSummary says why the summary that a schedule asks for is impossible; "" if it is
// not.
func (c *Config) noSummary(s Schedule) string {
	if e := c.Agent(fika.AgentName(s.Agent)); s.Summarise && e != nil && e.Instances > 0 {
		return fmt.Sprintf("%s is a pool, and each of its members has a conversation of its own: name a member, as in %s", toml.Quote(s.Agent), toml.Quote(MemberName(e.ID, 1)))
	}
	return ""
}

// CheckSchedule checks a schedule. Error kinds: Invalid, NotFound for an unknown agent,
// Conflict if there is already a schedule of that name.
func (c *Config) CheckSchedule(s Schedule) error {
	const op = ""
	if _, wrong := schedule.Parse(s.Cron); len(wrong) > 0 {
		var text []string
		for _, m := range wrong {
			text = append(text, m.Message)
		}
		return fika.Errorf(fika.Invalid, op, "%s", strings.Join(text, "\n"))
	}
	if _, wrong := schedule.FindZone(s.Zone); wrong != "" {
		return fika.Errorf(fika.Invalid, op, "%s", wrong)
	}
	if s.Agent != "" && c.entryIndex(s.Agent) < 0 {
		return fika.Errorf(fika.NotFound, op, "no [[agents]] entry has the id %s%s", toml.Quote(s.Agent), toml.NearestHint(s.Agent, c.agentIDs()))
	}
	if wrong := c.noSummary(s); wrong != "" {
		return fika.Errorf(fika.Invalid, op, "%s", wrong)
	}
	if slices.ContainsFunc(c.Schedules, func(o Schedule) bool { return o.Name == s.Name }) {
		return fika.Errorf(fika.Conflict, op, "schedule %s already exists; fika schedule delete %s takes it away", s.Name, s.Name)
	}
	return nil
}

// Times returns the times of a checked schedule, and its time zone.
func (s Schedule) Times() (schedule.Times, *time.Location) {
	t, _ := schedule.Parse(s.Cron)
	zone, _ := schedule.FindZone(s.Zone)
	return t, zone
}

// WhatBegins describes what a schedule begins.
func (s Schedule) WhatBegins() string {
	switch {
	case s.Summarise:
		return "summary of " + s.Agent
	case s.Agent != "":
		return "agent " + s.Agent
	case s.Workflow != "":
		return "workflow " + s.Workflow
	}
	return "chat " + s.Chat
}

// lines returns a schedule as written in a file.
func (s Schedule) lines() string {
	text := "[[schedules]]\n"
	for _, k := range scheduleKeys() {
		if p, ok := k.at(&s).(*string); ok && *p != "" {
			text += fmt.Sprintf("%s = %s\n", k.name, toml.Quote(*p))
		}
	}
	if s.Summarise {
		text += "summarise = true\n"
	}
	if len(s.Inputs) == 0 {
		return text
	}
	var inputs []string
	for _, name := range slices.Sorted(maps.Keys(s.Inputs)) {
		inputs = append(inputs, toml.Quote(name)+" = "+toml.Quote(s.Inputs[name]))
	}
	return text + "inputs = {" + strings.Join(inputs, ", ") + "}\n"
}
