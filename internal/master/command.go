package master

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/changes"
	"fika/internal/client"
	"fika/internal/term"
)

const help = `  @agent:task: PROMPT      a task of its own for an agent
  @agent:ask: PROMPT       go on with an agent's conversation (also @agent: PROMPT)
  @agent:reset             let an agent's next ask begin afresh
  @auto: PROMPT            for the agent that the prompt is for (also @auto:task:)
  PROMPT                   for the default agent (// begins text with a slash)
  /agents list             agents, with what they are doing
  /agents start|stop|restart NAME   (stop and restart: --finish, --now)
  /agents health           who needs attention, and why
  /conversations [AGENT]   ask conversations; * is the one an ask goes on with
  /tasks [AGENT]           tasks, newest first
  /switch AGENT CONVERSATION
  /summarise AGENT         what its conversation is about now, summed up by its model
  /queue                   what is waited for
  /cancel [ID]             cancel a request (ctrl-c: the newest)
  /approve [N [--deny WHY]]   let a tool call that waits for your word run once; alone: show them
  /diff [REQUEST]          what the last request that changed files, or REQUEST, has made of them
  /undo [REQUEST]          take that back; again makes the changes again
  /usage                   tokens and money so far
  /help, /quit             (ctrl-d leaves too; work goes on)`

// commands are the names, for completion.
var commands = []string{"/agents list", "/agents start ", "/agents stop ", "/agents restart ", "/agents health", "/conversations ", "/tasks ", "/switch ", "/summarise ", "/queue", "/cancel ", "/approve ", "/diff", "/undo", "/usage", "/help", "/quit"}

// Commands lists what may follow a slash.
func Commands() []string { return slices.Clone(commands) }

// obeyCommand obeys a /command.
func (m *Master) obeyCommand(ctx context.Context, words []string) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	var err error
	switch strings.ToLower(words[0]) {
	case "agents", "agent":
		err = m.obeyAgents(ctx, words[1:])
	case "conversations", "conversation":
		err = m.listConversations(ctx, arg(1), fika.Ask)
	case "tasks", "task":
		err = m.listConversations(ctx, arg(1), fika.Task)
	case "switch":
		if len(words) != 3 {
			err = fika.Errorf(fika.Invalid, "", "/switch takes an agent and a conversation; /conversations lists them")
		} else if err = m.switchTo(ctx, strings.TrimPrefix(arg(1), "@"), arg(2)); err == nil {
			m.printLine("%s @%s goes on with %s", m.o.Style.Green("✓"), strings.TrimPrefix(arg(1), "@"), arg(2))
		}
	case "summarise", "summarize":
		if len(words) != 2 {
			err = fika.Errorf(fika.Invalid, "", "/summarise takes the name of an agent")
		} else {
			err = m.beginSummary(ctx, arg(1))
		}
	case "queue":
		m.showQueue()
	case "cancel":
		err = m.cancelID(ctx, arg(1))
	case "approve":
		err = m.obeyApprove(ctx, words[1:])
	case "diff":
		err = m.changes(ctx, changes.Diff, words[1:])
	case "undo":
		err = m.changes(ctx, changes.Undo, words[1:])
	case "usage":
		err = m.showUsage(ctx)
	case "help", "?":
		m.o.Screen.Print(help)
	case "quit", "exit", "q":
		m.quit = m.o.Screen.Interactive()
		m.ended = true
	default:
		err = fika.Errorf(fika.Invalid, "", "there is no /%s; /help lists the commands", term.CleanLine(words[0]))
	}
	if err != nil {
		m.showTrouble(err)
	}
}

func (m *Master) obeyAgents(ctx context.Context, words []string) error {
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

// readManaged reads the name and the flags of /agents start, stop and restart.
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

func (m *Master) listAgents(ctx context.Context) error {
	list, err := m.list(ctx)
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
	m.printTable([]string{"Agent", "Status", "Model", "Uptime", "Requests"}, rows)
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (m *Master) showHealth(ctx context.Context) error {
	list, err := m.list(ctx)
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
	m.printTable([]string{"Agent", "Status", "Last seen", "Health"}, rows)
	if bad == 0 {
		m.printLine("All agents healthy (%d/%d running)", running, len(list))
	} else {
		m.printLine("%s", m.o.Style.Yellow(fmt.Sprintf("%d of %d agents need attention (%d/%d running)", bad, len(list), running, len(list))))
	}
	return nil
}

// manageAgent starts and stops without keeping the console waiting.
func (m *Master) manageAgent(ctx context.Context, verb, name string, how fika.Desired) {
	if verb != "start" {
		m.printLine("Stopping agent '%s'...", term.CleanLine(name))
	} else {
		m.printLine("Starting agent '%s'...", term.CleanLine(name))
	}
	m.runBeside(func() func() {
		var err error
		pid, already := 0, false
		if verb != "start" {
			err = m.stopAgent(ctx, name, how)
		}
		if err == nil && verb != "stop" {
			pid, already, err = m.startAgent(ctx, name)
		}
		return func() {
			switch {
			case err != nil:
				m.showTrouble(err)
			case verb == "stop":
				m.printLine("%s Stopped gracefully", m.o.Style.Green("✓"))
			case already && verb == "start":
				m.printLine("%s Was running already (pid: %d)", m.o.Style.Green("✓"), pid)
			default:
				m.printLine("%s Started (pid: %d)", m.o.Style.Green("✓"), pid)
			}
			m.takeAsKnown(ctx)
		}
	})
}

// takeAsKnown takes the agents as they are now for known: the person did it.
func (m *Master) takeAsKnown(ctx context.Context) {
	if list, err := m.list(ctx); err == nil {
		for _, a := range list {
			m.last[a.Name] = a
		}
	}
}

func (m *Master) resetAgent(ctx context.Context, name string) {
	row, err := m.o.Directory.Find(ctx, name)
	if err == nil {
		_, err = m.o.Agents.Reset(ctx, row)
	}
	if err != nil {
		m.showTrouble(err)
		return
	}
	m.printLine("%s @%s conversation context reset", m.o.Style.Green("✓"), row.Name)
}

func (m *Master) listConversations(ctx context.Context, agent string, kind fika.ConversationKind) error {
	f := client.ConversationFilter{Kind: kind, Limit: 30}
	if name := strings.TrimPrefix(agent, "@"); name != "" {
		row, err := m.o.Directory.Find(ctx, name)
		if err != nil {
			return err
		}
		f.Agent = row.ID
	}
	list, err := m.o.Archive.List(ctx, f)
	if err != nil {
		return err
	}
	active, err := m.o.Archive.Active(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		m.printLine("%s", m.o.Style.Dim("none"))
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, c := range list {
		name := string(c.Name)
		if active[c.ID] {
			name += " *"
		}
		rows = append(rows, []string{name, string(c.AgentName), c.Result(), fmt.Sprint(c.Messages), term.Ago(c.UpdatedAt, m.o.Now())})
	}
	m.printTable([]string{"Conversation", "Agent", "Status", "Messages", "Updated"}, rows)
	return nil
}

func (m *Master) showQueue() {
	if len(m.waiting) == 0 {
		m.printLine("%s", m.o.Style.Dim("nothing is waited for"))
		return
	}
	rows := make([][]string, 0, len(m.waiting))
	for _, e := range m.waiting {
		rows = append(rows, []string{orDash(shortID(e.id)), orDash(string(e.agent)), string(e.kind), term.Duration(m.o.Now().Sub(e.from).Round(time.Second)), term.Truncate(term.CleanLine(e.prompt), 60)})
	}
	m.printTable([]string{"Request", "Agent", "Kind", "Since", "Prompt"}, rows)
}

// cancelID cancels the request whose id begins so; the newest for "".
func (m *Master) cancelID(ctx context.Context, id string) error {
	var found []*pendingRequest
	for _, e := range m.waiting {
		if strings.HasPrefix(string(e.id), id) {
			found = append(found, e)
		}
	}
	switch {
	case id == "" && len(found) > 0:
		m.cancelRequest(ctx, found[len(found)-1])
	case len(found) == 1:
		m.cancelRequest(ctx, found[0])
	case len(found) > 1:
		return fika.Errorf(fika.Invalid, "", "%d requests begin with %q; /queue shows them", len(found), id)
	case id == "":
		return fika.Errorf(fika.NotFound, "", "nothing is waited for")
	default: // one that this console does not wait for
		r, err := m.o.Requests.Cancel(ctx, fika.RequestID(id), "cancelled from the master console")
		if err != nil {
			return err
		}
		m.printLine("request %s: %s", shortID(r.ID), cancelWord(r))
	}
	return nil
}

func cancelWord(r fika.Request) string {
	if r.State.Terminal() {
		return string(r.State)
	}
	return "asked to stop"
}

// isUnpriced reports whether it is not known what a model took for what was used
// of it.
func (m *Master) isUnpriced(model string, u fika.Usage) bool {
	return m.o.CostKnown != nil && !m.o.CostKnown(model, u)
}

func (m *Master) showUsage(ctx context.Context) error {
	list, err := m.o.Usage(ctx, time.Time{})
	if err != nil {
		return err
	}
	var total fika.Usage
	rows := make([][]string, 0, len(list)+1)
	line := func(agent, model, n string, u fika.Usage, unpriced bool) []string {
		return []string{agent, model, n, term.Count(u.Input), term.Count(u.Output), term.Cost(u.Cost, unpriced)}
	}
	count, partly := 0, false
	for _, r := range list {
		unpriced := m.isUnpriced(r.Model, r.Usage)
		total, partly = total.Add(r.Usage), partly || unpriced
		count += r.Requests
		rows = append(rows, line(string(r.Agent), r.Model, fmt.Sprint(r.Requests), r.Usage, unpriced))
	}
	m.printTable([]string{"Agent", "Model", "Requests", "Input", "Output", "Cost"}, append(rows, line("total", "", fmt.Sprint(count), total, partly)))
	return nil
}
