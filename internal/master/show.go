package master

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/client"
	"fika/internal/term"
)

// showOutcome shows how a request ended, with the request it belongs to.
func (m *Master) showOutcome(e *pendingRequest, info client.RequestInfo) {
	who := e.workerName()
	if info.AddressedName != "" {
		who += fmt.Sprintf(" (worked by @%s)", info.AgentName)
	}
	if info.State != fika.Done {
		m.failed++
		word := string(info.State)
		if info.State == fika.RequestFailed {
			word = "failed"
		}
		why := info.Outcome.Error
		if why == "" {
			why = info.Reason
		}
		if m.o.Quiet {
			m.printLine("✗ %s %s", who, word)
			return
		}
		text := fmt.Sprintf("%s %s %s: %s\n%s", m.o.Style.Red("✗"), who, word, term.Clean(why), m.o.Style.Dim(m.aboutRequest(e)))
		if e.agent == teamAgent { // what the others have answered
			text += m.answerLines(info)
		}
		m.printLine("%s", text)
		return
	}
	if m.o.Quiet {
		m.printLine("✓ %s completed", who)
		return
	}
	word := " completed"
	if e.agent == "" {
		word = ""
	}
	text := fmt.Sprintf("%s %s%s (%s)\n%s", m.o.Style.Green("✓"), who, word, requestMeasures(info), m.o.Style.Dim(m.aboutRequest(e)))
	m.printLine("%s", text+m.answerLines(info))
}

// answerLines is the answer of a request, on lines of its own; empty: there is none.
func (m *Master) answerLines(info client.RequestInfo) string {
	answer := strings.TrimSpace(info.Outcome.Answer)
	if answer == "" {
		return ""
	}
	return "\n" + m.render(answer)
}

// render is a text of an agent as it is shown.
func (m *Master) render(text string) string {
	if m.o.Render == nil {
		return term.Clean(text)
	}
	return m.o.Render(text)
}

// aboutRequest names the request of an outcome.
func (m *Master) aboutRequest(e *pendingRequest) string {
	kind, id := string(e.kind), shortID(e.id)
	if e.agent == "" {
		kind, id = "here", ""
	}
	return strings.TrimRight("  "+strings.TrimSpace(kind+" "+id)+ofRequest(e.prompt), " ")
}

// requestMeasures tells what a request took: "12.3 s, 1.2k/450 tokens, $0.004".
func requestMeasures(r client.RequestInfo) string {
	from := r.StartedAt
	if from.IsZero() {
		from = r.CreatedAt
	}
	parts := []string{fmt.Sprintf("%.1f s", max(0, r.FinishedAt.Sub(from).Seconds()))}
	u := r.Outcome.Usage
	if u.Input+u.Output > 0 {
		parts = append(parts, term.Count(u.Input)+"/"+term.Count(u.Output)+" tokens")
	}
	if u.Cost > 0 {
		parts = append(parts, term.Dollars(u.Cost))
	}
	return strings.Join(parts, ", ")
}

// showStatus tells above the prompt who is waited for.
func (m *Master) showStatus() {
	if !m.o.Screen.Interactive() {
		return
	}
	var parts []string
	for _, e := range m.waiting {
		who := "here"
		if e.agent != "" {
			who = "@" + string(e.agent)
		}
		parts = append(parts, who+" "+term.Duration(m.o.Now().Sub(e.from).Truncate(time.Second)))
	}
	text := strings.Join(parts, " · ")
	if text != "" {
		text = "waiting: " + text
	}
	m.o.Screen.Status(m.o.Style.Dim(text))
}

// Hello prints the lines a console begins with. started are the agents that
// were started for it.
func (m *Master) Hello(autostarted []Agent, bus string) {
	if m.o.Quiet {
		return
	}
	m.printLine("Master mode initialized")
	if len(autostarted) > 0 {
		names := make([]string, len(autostarted))
		for i, a := range autostarted {
			names[i] = string(a.Name)
		}
		m.printLine("Auto-starting agents: %s", strings.Join(names, ", "))
	}
	for _, a := range autostarted {
		if a.Trouble != "" {
			m.printLine("%s @%s did not start: %s", m.o.Style.Red("✗"), a.Name, term.Clean(a.Trouble))
			continue
		}
		m.printLine("%s @%s started (pid: %d)", m.o.Style.Green("✓"), a.Name, a.PID)
	}
	if bus != "" {
		m.printLine("%s", m.o.Style.Dim(bus))
	}
	m.printLine("Ready for commands (type /help for help)")
}

// checkAgents tells what has changed about agents since the last look: who
// crashed, who is back, who needs a person.
func (m *Master) checkAgents(ctx context.Context) {
	list, err := m.list(ctx)
	if err != nil {
		return // the next look at the store tells
	}
	for _, a := range list {
		before, known := m.last[a.Name]
		m.last[a.Name] = a
		if !known || m.o.Quiet {
			continue
		}
		bad := a.Status == fika.AgentFailed || a.Status == fika.AgentUnhealthy
		switch {
		case bad && before.Status != a.Status:
			m.printLine("%s @%s is %s: %s", m.o.Style.Red("✗"), a.Name, a.Status, term.Clean(a.Trouble))
		case !bad && a.PID != 0 && before.PID != 0 && before.PID != a.PID:
			m.printLine("%s @%s was restarted (pid: %d)", m.o.Style.Yellow("↻"), a.Name, a.PID)
		case !bad && a.PID != 0 && (before.Status == fika.AgentFailed || before.Status == fika.AgentUnhealthy):
			m.printLine("%s @%s is back (pid: %d)", m.o.Style.Green("✓"), a.Name, a.PID)
		}
	}
}

func (m *Master) printTable(headers []string, rows [][]string) {
	m.o.Screen.Print(term.FormatTable(term.TableOptions{Border: term.Box, Width: m.o.Width, Style: m.o.Style}, headers, rows))
}
