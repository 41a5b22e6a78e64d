package master

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/service"
	"fika/internal/system/term"
)

// display prints the console's output: lines, tables, and how requests ended.
type display struct {
	screen Screen
	style  term.Style
	width  int                        // of tables; 0: as wide as their content
	quiet  bool                       // completion lines without answers
	render func(answer string) string // renders an answer; nil: as cleaned text
}

func (d *display) printLine(format string, args ...any) {
	d.screen.Print(fmt.Sprintf(format, args...))
}

// printNote prints a remark, printWarning something that a person should see, and
// printSuccess what was done.
func (d *display) printNote(text string)    { d.screen.Print(d.style.Dim(text)) }
func (d *display) printWarning(text string) { d.screen.Print(d.style.Yellow(text)) }
func (d *display) printSuccess(format string, args ...any) {
	d.printLine("%s %s", d.style.Green("✓"), fmt.Sprintf(format, args...))
}

// printFailure prints what went wrong.
func (d *display) printFailure(format string, args ...any) {
	d.printLine("%s %s", d.style.Red("✗"), fmt.Sprintf(format, args...))
}

func (d *display) printTable(headers []string, rows [][]string) {
	d.screen.Print(term.FormatTable(term.TableOptions{Border: term.Box, Width: d.width, Style: d.style}, headers, rows))
}

// rendered returns an agent's text as it is displayed.
func (d *display) rendered(text string) string {
	if d.render == nil {
		return term.Clean(text)
	}
	return d.render(text)
}

// showOutcome shows how a request ended, with the request it belongs to.
func (d *display) showOutcome(e *pendingRequest, info service.RequestInfo) {
	who := e.workerName()
	if info.AddressedName != "" {
		who += fmt.Sprintf(" (worked by @%s)", info.AgentName)
	}
	switch {
	case info.State != fika.Done:
		d.showFailure(e, who, info)
	case d.quiet:
		d.printLine("✓ %s completed", who)
	case e.agent == "":
		d.printSuccess("%s (%s)\n%s", who, requestMeasures(info), d.style.Dim(e.aboutLine())+d.answerLines(info))
	default:
		d.printSuccess("%s completed (%s)\n%s", who, requestMeasures(info), d.style.Dim(e.aboutLine())+d.answerLines(info))
	}
}

// showFailure shows a request that did not end well.
func (d *display) showFailure(e *pendingRequest, who string, info service.RequestInfo) {
	word := string(info.State)
	if info.State == fika.RequestFailed {
		word = "failed"
	}
	if d.quiet {
		d.printLine("✗ %s %s", who, word)
		return
	}
	why := info.Outcome.Error
	if why == "" {
		why = info.Reason
	}
	about := d.style.Dim(e.aboutLine())
	if e.agent == teamAgent { // the answers of its members
		about += d.answerLines(info)
	}
	d.printFailure("%s %s: %s\n%s", who, word, term.Clean(why), about)
}

// answerLines returns the answer of a request on lines of its own, or "" if there is
// none.
func (d *display) answerLines(info service.RequestInfo) string {
	answer := strings.TrimSpace(info.Outcome.Answer)
	if answer == "" {
		return ""
	}
	return "\n" + d.rendered(answer)
}

// requestMeasures describes what a request used: "12.3 s, 1.2k/450 tokens, $0.004".
func requestMeasures(r service.RequestInfo) string {
	from := r.StartedAt
	if from.IsZero() {
		from = r.CreatedAt
	}
	parts := []string{fmt.Sprintf("%.1f s", max(0, r.FinishedAt.Sub(from).Seconds()))}
	u := r.Outcome.Usage
	if u.Input+u.Output > 0 {
		parts = append(parts, term.Input(u)+"/"+term.Output(u)+" tokens")
	}
	if u.Cost > 0 {
		parts = append(parts, term.Dollars(u.Cost))
	}
	return strings.Join(parts, ", ")
}

// showWaiting shows in the status line which agents the console is waiting for.
func (d *display) showWaiting(list []*pendingRequest, now time.Time) {
	if !d.screen.Interactive() {
		return
	}
	var parts []string
	for _, e := range list {
		who := "here"
		if e.agent != "" {
			who = "@" + string(e.agent)
		}
		parts = append(parts, who+" "+term.Duration(now.Sub(e.from).Truncate(time.Second)))
	}
	text := strings.Join(parts, " · ")
	if text != "" {
		text = "waiting: " + text
	}
	d.screen.Status(d.style.Dim(text))
}

// showQueue prints a table of the requests that the console is waiting for.
func (d *display) showQueue(list []*pendingRequest, now time.Time) {
	if len(list) == 0 {
		d.printNote("nothing is waited for")
		return
	}
	rows := make([][]string, 0, len(list))
	for _, e := range list {
		rows = append(rows, []string{orDash(shortID(e.id)), orDash(string(e.agent)), string(e.kind), term.Duration(now.Sub(e.from).Round(time.Second)), term.Truncate(term.CleanLine(e.prompt), 60)})
	}
	d.printTable([]string{"Request", "Agent", "Kind", "Since", "Prompt"}, rows)
}

// showChange reports a change in an agent's state.
func (d *display) showChange(c agentChange) {
	switch c.kind {
	case agentBroke:
		d.printFailure("@%s is %s: %s", c.agent.Name, c.agent.Status, term.Clean(c.agent.Trouble))
	case agentRestarted:
		d.printLine("%s @%s was restarted (pid: %d)", d.style.Yellow("↻"), c.agent.Name, c.agent.PID)
	case agentRecovered:
		d.printSuccess("@%s is back (pid: %d)", c.agent.Name, c.agent.PID)
	}
}

// showHello prints the opening lines of a console.
func (d *display) showHello(started []Agent, bus string) {
	if d.quiet {
		return
	}
	d.printLine("Master mode initialized")
	if len(started) > 0 {
		names := make([]string, len(started))
		for i, a := range started {
			names[i] = string(a.Name)
		}
		d.printLine("Auto-starting agents: %s", strings.Join(names, ", "))
	}
	for _, a := range started {
		if a.Trouble != "" {
			d.printFailure("@%s did not start: %s", a.Name, term.Clean(a.Trouble))
			continue
		}
		d.printSuccess("@%s started (pid: %d)", a.Name, a.PID)
	}
	if bus != "" {
		d.printNote(bus)
	}
	d.printLine("Ready for commands (type /help for help)")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
