package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

// JSON is an agent as --json shows it.
type JSON struct {
	Name        fika.AgentName  `json:"name"`
	Host        *string         `json:"host"` // that it is on; null: there is only one
	DisplayName *string         `json:"display_name"`
	Description *string         `json:"description"`
	Can         []string        `json:"capabilities"`
	CallableBy  []string        `json:"callable_by"` // who may ask it; null: everybody
	Configured  bool            `json:"configured"`
	Status      fika.AgentState `json:"status"`
	Why         *string         `json:"why"`
	Code        *api.Code       `json:"code"` // of why
	Trouble     *string         `json:"trouble"`
	TroubleCode *api.Code       `json:"trouble_code"`
	Desired     *fika.Desired   `json:"desired"`
	PID         *int            `json:"pid"`
	Model       *string         `json:"model"`
	Models      *choiceJSON     `json:"models"` // how it chooses among several models; null: it has one
	StartedAt   *time.Time      `json:"started_at"`
	SeenAt      *time.Time      `json:"seen_at"`
	Uptime      *int64          `json:"uptime_seconds"`
	Processed   int64           `json:"requests"`
	Waiting     int             `json:"waiting"`
	Running     []string        `json:"running"`
	NoLimits    *string         `json:"no_limits"`  // why the limits of its tools are not enforced; null: they are, or there are none
	HeldUntil   *time.Time      `json:"held_until"` // its hour is used up until then
	Pool        *fika.AgentName `json:"pool"`       // the pool that it is a member of
	Members     []string        `json:"members"`    // of a pool
	Backup      []string        `json:"backup"`     // the agents that take over what it cannot work
	HandedOver  []handedJSON    `json:"handed_over"`
}

// handedJSON is a request for one agent that another agent works.
type handedJSON struct {
	Request fika.RequestID    `json:"request"`
	Agent   fika.AgentName    `json:"agent"` // the agent that works it
	State   fika.RequestState `json:"state"`
	Why     *string           `json:"why"`
}

// ToJSON returns an agent as --json shows it.
func ToJSON(now time.Time, v service.AgentView) JSON {
	j := JSON{
		Name: v.Row.Name, Host: command.Optional(v.Host), DisplayName: command.Optional(v.Row.DisplayName), Description: command.Optional(v.Row.Description), Can: append([]string{}, v.Can...), CallableBy: v.CallableBy, Configured: v.Entry,
		Status: v.Status, Why: command.Optional(words.Brief(v.Standing(), now)), Code: command.Optional(v.Standing().Code), Trouble: command.Optional(words.Brief(v.Trouble, now)), TroubleCode: command.Optional(v.Trouble.Code), Desired: command.Optional(v.Row.Desired), PID: command.Optional(v.PID), Model: command.Optional(v.Model),
		StartedAt: command.JSONTime(v.Since), SeenAt: command.JSONTime(v.Row.SeenAt), Processed: v.Processed, Waiting: v.Waiting, Running: []string{},
		HeldUntil: command.JSONTime(v.HeldUntil), NoLimits: command.Optional(v.NoLimits), Pool: command.Optional(v.Pool), Members: []string{}, Backup: []string{}, HandedOver: []handedJSON{},
	}
	for _, name := range v.Members {
		j.Members = append(j.Members, string(name))
	}
	for _, name := range v.Backup {
		j.Backup = append(j.Backup, string(name))
	}
	for _, r := range v.HandedOver {
		j.HandedOver = append(j.HandedOver, handedJSON{r.ID, r.AgentName, r.State, command.Optional(r.Handed)})
	}
	if v.Choice.Several() {
		j.Models = choiceToJSON(v.Choice)
	}
	if !v.Since.IsZero() {
		j.Uptime = command.Optional(int64(time.Since(v.Since) / time.Second))
	}
	for _, r := range v.Running {
		j.Running = append(j.Running, string(r.ID))
	}
	return j
}

// choiceJSON is how an agent chooses among its models.
type choiceJSON struct {
	Models   []string   `json:"models"`
	Rules    []ruleJSON `json:"rules"`
	Escalate int        `json:"escalate"`
}

// ruleJSON is one of model_rules; null is for what the rule does not set.
type ruleJSON struct {
	Tokens  *int64   `json:"tokens"`
	Offered []string `json:"offered"`
	Used    []string `json:"used"`
	Attempt *int     `json:"attempt"`
	Use     string   `json:"use"`
}

func choiceToJSON(c service.ModelChoice) *choiceJSON {
	j := &choiceJSON{Rules: []ruleJSON{}, Escalate: c.Escalate}
	for _, u := range c.Models {
		j.Models = append(j.Models, u.Model.ID)
	}
	for _, r := range c.Rules {
		if i := c.Index(r.Use); i >= 0 {
			j.Rules = append(j.Rules, ruleJSON{command.Optional(r.Tokens), r.Offered, r.Used, command.Optional(r.Attempt), c.Models[i].Model.ID})
		}
	}
	return j
}

var agentHeaders = []string{"AGENT", "STATUS", "PID", "MODEL", "UPTIME", "REQUESTS", "WAITING", "WHY"}

// modelWord returns the model of an agent, with the number of further models.
func modelWord(v service.AgentView) string {
	if v.Choice.Several() {
		return fmt.Sprintf("%s +%d", v.Model, len(v.Choice.Models)-1)
	}
	return v.Model
}

func agentRow(v service.AgentView, now time.Time) []string {
	pid, up, done := "-", "-", "-"
	if v.PID != 0 {
		pid = fmt.Sprint(v.PID)
	}
	if !v.Since.IsZero() {
		up, done = command.UptimeSeconds(v.Since), fmt.Sprint(v.Processed)
	}
	why := v.Standing()
	if why.IsClear() {
		why = v.Trouble
	}
	name := string(v.Row.Name)
	if v.Pool != "" {
		name = "  " + name
	}
	return []string{name, v.StatusWord(), pid, command.OrDash(modelWord(v)), up, done, fmt.Sprint(v.Waiting), term.CleanLine(words.Brief(why, now))}
}

// ShowTable prints agents without capabilities, descriptions and MCP servers.
func ShowTable(e *command.Env, views []service.AgentView) error {
	return e.Table(command.WithHosts(whereOf(views), 1, agentHeaders, views, nameOf, func(v service.AgentView) []string { return agentRow(v, e.Now()) }))
}

func nameOf(v service.AgentView) fika.AgentName { return v.Row.Name }

// whereOf returns the hosts of agents; nil if there are not several.
func whereOf(views []service.AgentView) service.Where {
	var out service.Where
	for _, v := range views {
		if v.Host != "" {
			if out == nil {
				out = service.Where{}
			}
			out[v.Row.Name] = v.Host
		}
	}
	return out
}

// ShowProcesses prints what is known of agents without their rows.
func ShowProcesses(e *command.Env, views []service.AgentView) error {
	return e.Table([]string{"AGENT", "STATUS", "PID", "MODEL", "UPTIME", "WHY"}, command.TableRows(views, func(v service.AgentView) []string {
		row := agentRow(v, e.Now())
		return append(row[:5:5], row[len(row)-1])
	}))
}

// agentTable prints agents. Capabilities, descriptions and MCP servers have columns if
// any agent has them.
func agentTable(e *command.Env, views []service.AgentView, served servers) error {
	type column struct {
		header string
		of     func(service.AgentView) string
	}
	var more []column
	for _, c := range []column{
		{"CAPABILITIES", func(v service.AgentView) string { return strings.Join(v.Can, ", ") }},
		{"DESCRIPTION", func(v service.AgentView) string { return v.Row.Description }},
		{"MCP", served.words},
	} {
		if slices.ContainsFunc(views, func(v service.AgentView) bool { return c.of(v) != "" }) {
			more = append(more, c)
		}
	}
	const last = 7 // before WHY, which may be long
	headers := slices.Clone(agentHeaders)
	for i, c := range more {
		headers = slices.Insert(headers, last+i, c.header)
	}
	return e.Table(command.WithHosts(whereOf(views), 1, headers, views, nameOf, func(v service.AgentView) []string {
		row := agentRow(v, e.Now())
		for i, c := range more {
			row = slices.Insert(row, last+i, command.OrDash(term.CleanLine(c.of(v))))
		}
		return row
	}))
}
