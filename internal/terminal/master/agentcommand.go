package master

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/system/term"
)

// doWithAgents runs /agents.
func (m *Master) doWithAgents(ctx context.Context, words []string) error {
	if len(words) == 0 {
		words = []string{"list"}
	}
	verb := strings.ToLower(words[0])
	switch {
	case verb == "list" && len(words) == 1:
		return m.listAgents(ctx)
	case verb == "health" && len(words) == 1:
		return m.showHealth(ctx)
	case verb == "start" || verb == "stop" || verb == "restart":
		name, how, err := readManaged(verb, words[1:])
		if err == nil {
			m.manageAgent(ctx, verb, name, how)
		}
		return err
	}
	return fika.Errorf(fika.Invalid, "", "/agents takes list, health, or start, stop, restart and a name")
}

// readManaged parses the name and the flags of /agents start, stop and restart.
func readManaged(verb string, words []string) (name string, how fika.Desired, err error) {
	how = fika.DesiredStopped
	for _, w := range words {
		switch {
		case w == "--finish" && verb != "start" && how == fika.DesiredStopped:
			how = fika.DesiredFinish
		case w == "--now" && verb != "start" && how == fika.DesiredStopped:
			how = fika.DesiredNow
		case name == "" && !strings.HasPrefix(w, "-"):
			name = strings.TrimPrefix(w, "@")
		default:
			return "", "", fika.Errorf(fika.Invalid, "", "/agents %s takes the name of an agent, and stop and restart also --finish or --now; not %q", verb, w)
		}
	}
	if name == "" {
		return "", "", fika.Errorf(fika.Invalid, "", "/agents %s takes the name of an agent", verb)
	}
	return name, how, nil
}

// listAgents runs /agents list.
func (m *Master) listAgents(ctx context.Context) error {
	list, err := m.roster.list(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(list))
	for _, a := range list {
		up, done := "-", "-"
		if a.Uptime >= 0 {
			up, done = term.Duration(max(a.Uptime.Round(time.Second), time.Second)), fmt.Sprint(a.Requests)
		}
		rows = append(rows, []string{string(a.Name), string(a.Status), orDash(a.Model), up, done})
	}
	m.out.printTable([]string{"Agent", "Status", "Model", "Uptime", "Requests"}, rows)
	return nil
}

// showHealth runs /agents health.
func (m *Master) showHealth(ctx context.Context) error {
	list, err := m.roster.list(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(list))
	running, bad := 0, 0
	for _, a := range list {
		if a.Uptime >= 0 {
			running++
		}
		health := "ok"
		if a.Trouble != "" {
			bad++
			health = a.Trouble
		} else if a.Why != "" {
			health += ", " + a.Why
		}
		rows = append(rows, []string{string(a.Name), string(a.Status), term.Ago(a.Seen, m.o.Now()), health})
	}
	m.out.printTable([]string{"Agent", "Status", "Last seen", "Health"}, rows)
	if bad == 0 {
		m.out.printLine("All agents healthy (%d/%d running)", running, len(list))
	} else {
		m.out.printWarning(fmt.Sprintf("%d of %d agents need attention (%d/%d running)", bad, len(list), running, len(list)))
	}
	return nil
}

// manageAgent starts or stops an agent without keeping the console waiting. What is said
// about one agent is done in the order in which it was said.
func (m *Master) manageAgent(ctx context.Context, verb, name string, how fika.Desired) {
	if verb != "start" {
		m.out.printLine("Stopping agent '%s'...", term.CleanLine(name))
	} else {
		m.out.printLine("Starting agent '%s'...", term.CleanLine(name))
	}
	agent := strings.TrimPrefix(name, "@")
	before, done := m.managed[agent], make(chan struct{})
	m.managed[agent] = done
	m.runBeside(func() func() {
		defer close(done)
		if before != nil {
			<-before
		}
		var err error
		pid, already := 0, false
		if verb != "start" {
			err = m.roster.stop(ctx, name, how)
		}
		if err == nil && verb != "stop" {
			pid, already, err = m.roster.start(ctx, name)
		}
		return func() {
			if m.managed[agent] == done {
				delete(m.managed, agent)
			}
			switch {
			case err != nil:
				m.showTrouble(err)
			case verb == "stop":
				m.out.printSuccess("Stopped gracefully")
			case already && verb == "start":
				m.out.printSuccess("Already running (pid: %d)", pid)
			default:
				m.out.printSuccess("Started (pid: %d)", pid)
			}
			m.roster.changes(ctx) // changes that the person made are not reported
		}
	})
}
