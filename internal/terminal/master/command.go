package master

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/service"
	"fika/internal/system/term"
)

const help = `  @agent:task: PROMPT      a task of its own for an agent
  @agent:ask: PROMPT       continue an agent's conversation (also @agent: PROMPT)
  @agent:reset             start a new conversation at an agent's next ask
  @auto: PROMPT            for the agent that the prompt is for (also @auto:task:)
  PROMPT                   for the default agent (// begins text with a slash)
  /agents list             agents, with what they are doing
  /agents start|stop|restart NAME   (stop and restart: --finish, --now)
  /agents health           who needs attention, and why
  /conversations [AGENT]   ask conversations; * is the one an ask continues with
  /tasks [AGENT]           tasks, newest first
  /switch AGENT CONVERSATION
  /summarise AGENT         what its conversation is about now, summed up by its model
  /compact AGENT [WHAT TO KEEP]   replace its conversation by a summary
  /queue                   what is waited for
  /cancel [ID]             cancel a request (ctrl-c: the newest)
  /approve [N [--deny WHY]]   let a tool call that waits for your approval run once; alone: show them
  /diff [REQUEST]          what the last request that changed files, or REQUEST, has made of them
  /undo [REQUEST]          take that back; again makes the changes again
  /usage                   tokens and money so far
  /help, /quit             (ctrl-d leaves too; work continues)`

// command is a command that may follow a slash.
type command struct {
	names  []string // the first is the name shown in the help
	offers []string // what completion offers; nil: the first name
	run    func(m *Master, ctx context.Context, args []string) error
}

// consoleCommands returns all commands, in the order of the help.
func consoleCommands() []command {
	return []command{
		{[]string{"agents", "agent"}, []string{"agents list", "agents start ", "agents stop ", "agents restart ", "agents health"}, (*Master).doWithAgents},
		{[]string{"conversations", "conversation"}, []string{"conversations "}, func(m *Master, ctx context.Context, args []string) error {
			return m.listConversations(ctx, fika.Ask, args)
		}},
		{[]string{"tasks", "task"}, []string{"tasks "}, func(m *Master, ctx context.Context, args []string) error {
			return m.listConversations(ctx, fika.Task, args)
		}},
		{[]string{"switch"}, []string{"switch "}, (*Master).switchConversation},
		{[]string{"summarise", "summarize"}, []string{"summarise "}, (*Master).beginSummary},
		{[]string{"compact"}, []string{"compact "}, (*Master).beginCompaction},
		{[]string{"queue"}, nil, func(m *Master, _ context.Context, _ []string) error {
			m.out.showQueue(m.pending.requests, m.o.Now())
			return nil
		}},
		{[]string{"cancel"}, []string{"cancel "}, (*Master).cancelByID},
		{[]string{"approve"}, []string{"approve "}, func(m *Master, ctx context.Context, words []string) error { return m.questions.approve(ctx, words) }},
		{[]string{"diff"}, nil, (*Master).showChanges},
		{[]string{"undo"}, nil, (*Master).undo},
		{[]string{"usage"}, nil, (*Master).showUsage},
		{[]string{"help", "?"}, nil, func(m *Master, _ context.Context, _ []string) error {
			m.o.Screen.Print(help)
			return nil
		}},
		{[]string{"quit", "exit", "q"}, nil, func(m *Master, _ context.Context, _ []string) error {
			m.quit, m.ended = m.o.Screen.Interactive(), true
			return nil
		}},
	}
}

// SlashCommands lists what may follow a slash, for completion.
func SlashCommands() []string {
	var out []string
	for _, c := range consoleCommands() {
		offers := c.offers
		if offers == nil {
			offers = c.names[:1]
		}
		for _, o := range offers {
			out = append(out, "/"+o)
		}
	}
	return out
}

// carryOut runs a /command; words are its name and its arguments.
func (m *Master) carryOut(ctx context.Context, words []string) error {
	for _, c := range consoleCommands() {
		if slices.Contains(c.names, strings.ToLower(words[0])) {
			return c.run(m, ctx, words[1:])
		}
	}
	return fika.Errorf(fika.Invalid, "", "command /%s not found; /help lists the commands", term.CleanLine(words[0]))
}

// switchConversation runs /switch AGENT CONVERSATION.
func (m *Master) switchConversation(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fika.Errorf(fika.Invalid, "", "/switch takes an agent and a conversation; /conversations lists them")
	}
	agent := strings.TrimPrefix(args[0], "@")
	if err := m.roster.switchTo(ctx, agent, args[1]); err != nil {
		return err
	}
	m.out.printSuccess("@%s continues with %s", agent, args[1])
	return nil
}

// resetAgent runs @agent:reset.
func (m *Master) resetAgent(ctx context.Context, name string) {
	row, err := m.roster.reset(ctx, name)
	if err != nil {
		m.showTrouble(err)
		return
	}
	m.out.printSuccess("@%s conversation context reset", row.Name)
}

// listConversations runs /conversations [AGENT] and /tasks [AGENT].
func (m *Master) listConversations(ctx context.Context, kind fika.ConversationKind, args []string) error {
	f := service.ConversationFilter{Kind: kind, Limit: 30}
	name := ""
	if len(args) > 0 {
		name = strings.TrimPrefix(args[0], "@")
	}
	if name != "" {
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
		m.out.printNote("none")
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
	m.out.printTable([]string{"Conversation", "Agent", "Status", "Messages", "Updated"}, rows)
	return nil
}

// isUnpriced reports whether the price of a model's usage is not known.
func (m *Master) isUnpriced(model string, u fika.Usage) bool {
	return m.o.CostKnown != nil && !m.o.CostKnown(model, u)
}

// showUsage runs /usage.
func (m *Master) showUsage(ctx context.Context, _ []string) error {
	list, err := m.o.Usage(ctx, time.Time{})
	if err != nil {
		return err
	}
	var total fika.Usage
	rows := make([][]string, 0, len(list)+1)
	line := func(agent, model, n string, u fika.Usage, unpriced bool) []string {
		return []string{agent, model, n, term.Input(u), term.Output(u), term.Money(u, unpriced)}
	}
	count, partly := 0, false
	for _, r := range list {
		unpriced := m.isUnpriced(r.Model, r.Usage)
		total, partly = total.Add(r.Usage), partly || unpriced
		count += r.Requests
		rows = append(rows, line(string(r.Agent), r.Model, fmt.Sprint(r.Requests), r.Usage, unpriced))
	}
	m.out.printTable([]string{"Agent", "Model", "Requests", "Input", "Output", "Cost"}, append(rows, line("total", "", fmt.Sprint(count), total, partly)))
	return nil
}
