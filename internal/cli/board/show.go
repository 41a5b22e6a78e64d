package board

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

// showJSON is a task with all that belongs to it, as board show --json prints it.
type showJSON struct {
	JSON
	Body    string            `json:"body"`
	Result  command.Nullable  `json:"result"`
	Parts   []fika.TaskNumber `json:"parts"`
	Needed  []fika.TaskNumber `json:"needed_by"`
	Log     []lineJSON        `json:"log"`
	Checked *checkJSON        `json:"checked"` // the last check that was run; null: none
}

// checkJSON is a check that was run of the work on a task.
type checkJSON struct {
	Command      string            `json:"command"`
	Passed       bool              `json:"passed"`
	At           *time.Time        `json:"at"`
	Output       string            `json:"output"`
	Conversation command.Nullable  `json:"conversation"` // that has it; null: the offer has
	Offer        *fika.OfferNumber `json:"offer"`        // that was checked; null: it was the task's own check
}

type lineJSON struct {
	At   *time.Time `json:"at"`
	Who  string     `json:"who"`
	What string     `json:"what"`
	Text string     `json:"text"`
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show TASK", Short: "show one task", Args: command.Exactly(1, "the number of a task"), ValidArgsFunction: numbers(e, true),
		Long: "Shows a task with its body, what it needs, what needs it, what came of it, the end of\nwhat a check printed that has failed, and what happened to it.", Example: "  fika board show 12\n  fika board show 12 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := number(args[0])
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			t, err := c.Board().Find(cmd.Context(), n)
			switch {
			case err != nil:
				return err
			case asJSON:
				return e.PrintJSON(toShowJSON(t))
			}
			return show(e, t)
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

func toShowJSON(t service.TaskView) showJSON {
	j := showJSON{JSON: ToJSON(t.TaskInfo), Body: t.Body, Result: command.Nullable(t.Result), Parts: listed(t.Parts), Needed: listed(t.Needed), Log: []lineJSON{}}
	for _, l := range t.Log {
		j.Log = append(j.Log, lineJSON{command.JSONTime(l.At), l.Who, string(l.What), l.Text})
	}
	if c := t.Checked; c != nil {
		j.Checked = &checkJSON{c.Command, c.Passed, command.JSONTime(c.At), c.Output, command.Nullable(c.In), command.Optional(c.Offer)}
	}
	return j
}

func listed(list []service.TaskInfo) []fika.TaskNumber {
	out := []fika.TaskNumber{}
	for _, t := range list {
		out = append(out, t.Number)
	}
	return out
}

func show(e *command.Env, t service.TaskView) error {
	var needs []string
	for _, n := range t.Needs {
		needs = append(needs, fmt.Sprintf("%d (%s)", n.Number, n.State))
	}
	state := string(t.State)
	if t.HeldReason != "" {
		state += ": " + t.HeldReason
	}
	numbered := func(list []service.TaskInfo) string {
		var out []string
		for _, x := range list {
			out = append(out, fmt.Sprintf("%d (%s)", x.Number, x.State))
		}
		return strings.Join(out, ", ")
	}
	facts := []term.Fact{
		{Label: "task", Value: digits(t.Number)}, {Label: "title", Value: t.Title}, {Label: "state", Value: state}, {Label: "priority", Value: fmt.Sprint(t.Priority)},
		{Label: "agent", Value: who(t.Card())}, {Label: "needs", Value: strings.Join(needs, ", ")}, {Label: "needed by", Value: numbered(t.Needed)},
		{Label: "check", Value: t.Check}, {Label: "review by", Value: reviewer(t.TaskInfo)},
		{Label: "parts", Value: numbered(t.Parts)}, {Label: "added by", Value: t.Author()}, {Label: "from outside", Value: t.Taint},
		{Label: "request", Value: string(t.Request)},
	}
	if t.Parent > 0 {
		facts = append(facts, term.Fact{Label: "part of", Value: digits(t.Parent)})
	}
	if t.Attempts > 0 {
		facts = append(facts, term.Fact{Label: "failed", Value: command.Plural(t.Attempts, "time")})
	}
	if !t.Due.IsZero() {
		facts = append(facts, term.Fact{Label: "due", Value: t.Due.Local().Format(time.DateTime)})
	}
	if err := e.Facts(facts...); err != nil {
		return err
	}
	for _, part := range []struct{ title, text string }{{"", t.Body}, {"Result", t.Result}} {
		if strings.TrimSpace(part.text) == "" {
			continue
		}
		if part.title != "" {
			part.title = e.OutStyle().Bold(part.title) + "\n"
		}
		if err := e.Print("\n" + part.title + term.Clean(strings.TrimRight(part.text, "\n")) + "\n"); err != nil {
			return err
		}
	}
	if err := showChecked(e, t.Checked); err != nil {
		return err
	}
	if err := e.Print("\n"); err != nil {
		return err
	}
	for _, l := range t.Log {
		line := l.At.Local().Format("2006-01-02 15:04") + "  " + l.Who + " " + string(l.What)
		if l.Text != "" {
			line += ": " + l.Text
		}
		if err := e.Println(term.CleanLine(line)); err != nil {
			return err
		}
	}
	return nil
}

// checkLines is how many lines of the output of a check are shown.
const checkLines = 20

// showChecked prints the end of what a check printed that has failed, and says where the rest
// is.
func showChecked(e *command.Env, c *service.TaskChecked) error {
	if c == nil || c.Passed {
		return nil
	}
	title := fmt.Sprintf("%s has failed at %s", c.Command, c.At.Local().Format(time.DateTime))
	if c.Offer > 0 {
		title = fmt.Sprintf("Offer %d: %s", c.Offer, c.Command)
	}
	lines, cut := strings.Split(strings.TrimRight(c.Output, "\n"), "\n"), ""
	if len(lines) > checkLines {
		lines, cut = lines[len(lines)-checkLines:], "…\n"
	}
	if err := e.Print("\n" + e.OutStyle().Bold(term.CleanLine(title)) + "\n" + cut + term.Clean(strings.Join(lines, "\n")) + "\n"); err != nil {
		return err
	}
	if c.Offer > 0 {
		e.Say("fika land show %d shows all of it", c.Offer)
	} else {
		e.Say("fika conversation show %s shows all of it, and what came of it", c.In)
	}
	return nil
}

// reviewer says who has to call a task good, and how often that gave it back.
func reviewer(t service.TaskInfo) string {
	if t.ByName == "" {
		return ""
	}
	out := "@" + string(t.ByName)
	if t.Round > 0 {
		out += ", round " + fmt.Sprint(t.Round+1)
	}
	return out
}
