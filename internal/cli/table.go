package cli

import (
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"fika/internal/api"
	"fika/internal/cli/acp"
	"fika/internal/cli/agent"
	"fika/internal/cli/approve"
	"fika/internal/cli/ask"
	"fika/internal/cli/board"
	"fika/internal/cli/budget"
	"fika/internal/cli/bus"
	"fika/internal/cli/chat"
	"fika/internal/cli/command"
	"fika/internal/cli/config"
	contextcmd "fika/internal/cli/context"
	"fika/internal/cli/conversation"
	"fika/internal/cli/demo"
	"fika/internal/cli/doctor"
	"fika/internal/cli/executor"
	"fika/internal/cli/host"
	"fika/internal/cli/hub"
	"fika/internal/cli/install"
	"fika/internal/cli/job"
	"fika/internal/cli/key"
	"fika/internal/cli/land"
	"fika/internal/cli/master"
	"fika/internal/cli/mcp"
	"fika/internal/cli/model"
	"fika/internal/cli/monitor"
	"fika/internal/cli/plugin"
	"fika/internal/cli/project"
	"fika/internal/cli/request"
	"fika/internal/cli/rules"
	"fika/internal/cli/run"
	"fika/internal/cli/schedule"
	"fika/internal/cli/setup"
	"fika/internal/cli/skill"
	"fika/internal/cli/status"
	"fika/internal/cli/store"
	"fika/internal/cli/template"
	"fika/internal/cli/token"
	"fika/internal/cli/trace"
	"fika/internal/cli/undo"
	"fika/internal/cli/web"
	"fika/internal/cli/webhook"
	"fika/internal/cli/workflow"
)

// group is a heading of the help: what a person wants to do.
type group string

// The groups, in the order of the help. Commands without a group come last.
const (
	groupStart  group = "start"
	groupWork   group = "work"
	groupAgents group = "agents"
	groupSystem group = "system"
)

// titles returns the headings of the help.
func titles() []cobra.Group {
	return []cobra.Group{
		{ID: string(groupStart), Title: "Begin:"},
		{ID: string(groupWork), Title: "Give work, and follow it:"},
		{ID: string(groupAgents), Title: "Agents, and what they are made of:"},
		{ID: string(groupSystem), Title: "The system:"},
	}
}

// entry is one command of the root: how it is made, where the help shows it, and which
// verb it and each of the commands below it is, which decides who may run it.
type entry struct {
	name  string
	new   func(*command.Env) *cobra.Command
	group group
	does  declaration
	verbs []verbs
	// below names the command below which the help shows this one. Its place at the root is
	// an older spelling, which works and is hidden.
	below  string
	hidden bool
	often  bool // programs and agents run it again and again: it is made without the others
}

// verbs are commands of a noun. Spaces separate the names. A name that is not the verb's
// own name is followed by a colon and that. With more than the verb's name to say, does
// holds it, for all of the names.
type verbs struct {
	on    api.ObjectKind
	names string
	does  declaration
}

// declaration says which verb of package api one command is. If some flags make the
// command do more, it lists those (more) or, if nearly all of them do, the other flags
// (only), separated by spaces; the command is then the verb then.
type declaration struct {
	verb string // "conversation.send"
	then string
	more string // flags that make it then
	only string // if not empty: all flags except these make it then
	one  bool   // more than one argument makes it then
}

// table returns every command of the root with the verb that it and each command below it
// is. Nobody but a person may run a command that is not in the table. It is built once, and
// nobody changes it.
var table = sync.OnceValue(func() []entry {
	return slices.Concat(startCommands(), workCommands(), agentCommands(), systemCommands(), otherCommands())
})

// in puts commands into a group.
func in(g group, list []entry) []entry {
	for i := range list {
		list[i].group = g
	}
	return list
}

func is(verb string) declaration { return declaration{verb: verb} }

// noun is what a command does that only has commands below it: it shows its help.
func noun() declaration { return is("host.help") }

// startCommands returns the commands to begin with.
func startCommands() []entry {
	return in(groupStart, []entry{
		{name: "init", new: setup.NewInit, does: is("file.init")},
		{name: "demo", new: demo.New, does: is("host.demo")},
		{name: "run", new: run.New, does: declaration{verb: "agent.run", then: "agent.continue", more: "username temp-username continue"}, often: true},
		{name: "master", new: master.New, does: is("host.console"), hidden: true},
	})
}

// workCommands returns the commands that give agents work and follow it.
func workCommands() []entry {
	return in(groupWork, []entry{
		{name: "ask", new: ask.NewAsk, does: declaration{verb: "agent.ask", then: "agent.task", more: "new"}, often: true},
		{name: "task", new: ask.NewTask, does: is("agent.task"), hidden: true, often: true},
		{name: "route", new: ask.NewRoute, does: is("home.route"), below: "agent"},
		{name: "chat", new: chat.New, does: noun(), often: true, verbs: []verbs{
			{on: api.Conversation, names: "list view:entries wait why queue send new:create create join:enter pause resume stop continue retry pin unpin clear compact rename delete cleanup"},
			{names: "limit", does: declaration{verb: "conversation.limits", then: "conversation.limit", only: "json"}},
			{names: "rewind", does: declaration{verb: "conversation.entries", then: "conversation.rewind", more: "back", one: true}},
			{names: "mode", does: declaration{verb: "conversation.show", then: "conversation.mode", more: "accept", one: true}},
		}},
		{name: "board", new: board.New, does: is("board.list"), often: true, verbs: []verbs{
			{on: api.BoardObject, names: "add import:add list show wait:show why note:report edit assign release close reopen"},
		}},
		{name: "land", new: land.New, does: is("offer.add"), verbs: []verbs{{on: api.OfferObject, names: "list show cancel retry undo:add apply"}}},
		{name: "workflow", new: workflow.New, does: noun(), verbs: []verbs{
			{on: api.FileObject, names: "list show check graph:show"},
			{on: api.RunObject, names: "status:show output wait run:start pause resume:continue cancel"},
		}},
		{name: "request", new: request.New, does: noun(), often: true, verbs: []verbs{{on: api.RequestObject, names: "list show wait cancel retry"}}},
		{name: "job", new: job.New, does: noun(), below: "agent", verbs: []verbs{{on: api.JobObject, names: "list show logs end"}}},
		{name: "conversation", new: conversation.New, does: noun(), verbs: []verbs{
			{on: api.Conversation, names: "list show:entries"},
			{on: api.Home, names: "search"},
		}},
		{name: "trace", new: trace.NewTrace, does: is("request.trace"), below: "request"},
		{name: "approve", new: approve.New, does: declaration{verb: "approval.answer", then: "approval.answer-always", more: "always"}},
		{name: "inbox", new: approve.NewInbox, does: is("home.status")},
		{name: "undo", new: undo.New, does: is("request.undo")},
		{name: "schedule", new: schedule.New, does: noun(), verbs: []verbs{{on: api.ScheduleObject, names: "list show create:set delete run pause resume"}}},
	})
}

// agentCommands returns the commands about agents and what they are made of.
func agentCommands() []entry {
	return in(groupAgents, []entry{
		{name: "agent", new: agent.New, does: noun(), often: true, verbs: []verbs{
			{on: api.AgentObject, names: "list show health logs attach diff start stop restart move reset summarise recall learn create add:import delete import merge discard shell"},
			{on: api.Host, names: "run:agent"},
		}},
		{name: "template", new: template.New, does: noun(), below: "agent", verbs: []verbs{{on: api.FileObject, names: "list show"}}},
		{name: "context", new: contextcmd.New, does: noun(), verbs: []verbs{
			{on: api.AgentObject, names: "list show log:entries send:message switch rename delete clear compact import export unlock"},
			{names: "prompt", does: declaration{verb: "agent.prompt", then: "file.init", only: "assembled", one: true}},
			{names: "new", does: declaration{verb: "agent.create-context", then: "agent.switch", more: "switch"}},
		}},
		{name: "plugin", new: plugin.New, does: noun(), verbs: []verbs{
			{on: api.FileObject, names: "list show check:call call install:plugin remove:plugin enable:plugin disable:plugin"},
		}},
		{name: "skill", new: skill.New, does: noun(), verbs: []verbs{{on: api.FileObject, names: "list show check add:skill remove:skill"}}},
		{name: "mcp", new: mcp.New, does: noun(), verbs: []verbs{
			{on: api.FileObject, names: "list show check:call call install:mcp import:mcp remove:mcp login:key logout:key"},
			{names: "serve", does: declaration{verb: "host.serve", then: "file.mcp", more: "write"}},
		}},
		{name: "acp", new: acp.New, does: is("host.serve")},
		{name: "bus", new: bus.New, does: noun(), verbs: []verbs{
			{on: api.Host, names: "list:bus show:bus-secret users:bus"},
			{on: api.FileObject, names: "add:bus-member remove:bus-member"},
		}},
		{name: "model", new: model.New, does: noun(), verbs: []verbs{{on: api.FileObject, names: "list show check:call update"}}},
		{name: "key", new: key.New, does: noun(), verbs: []verbs{{on: api.FileObject, names: "list show set:key remove:key"}}},
		{name: "rules", new: rules.New, does: noun(), verbs: []verbs{{on: api.FileObject, names: "test"}}},
		{name: "executor", new: executor.New, does: is("host.executor")},
		{name: "trust", new: setup.NewTrust, does: is("file.trust")},
		{name: "project", new: project.New, does: noun(), verbs: []verbs{{on: api.FileObject, names: "list show move:project forget:project"}}},
		{name: "config", new: config.New, does: noun(), verbs: []verbs{{on: api.FileObject, names: "path:show check show migrate"}}},
	})
}

// systemCommands returns the commands about the system as a whole.
func systemCommands() []entry {
	return in(groupSystem, []entry{
		{name: "up", new: hub.NewUp, does: is("host.up")},
		{name: "down", new: hub.NewDown, does: is("host.down")},
		{name: "host", new: host.New, does: noun(), below: "store", verbs: []verbs{{on: api.Host, names: "list show add:forget label drain resume start stop forget"}}},
		{name: "join", new: host.NewJoin, does: is("file.init"), below: "store"},
		{name: "web", new: web.New, does: is("host.web"), verbs: []verbs{{on: api.Host, names: "logout:web"}}},
		{name: "webhook", new: webhook.New, does: noun(), below: "web", verbs: []verbs{{on: api.WebhookObject, names: "list retry"}}},
		{name: "token", new: token.New, does: noun(), below: "web", verbs: []verbs{{on: api.TokenObject, names: "list create revoke"}}},
		{name: "status", new: status.New, does: declaration{verb: "home.status", then: "host.bus-secret", more: "show-bus"}, often: true},
		{name: "usage", new: trace.NewUsage, does: is("home.usage")},
		{name: "profile", new: trace.NewProfile, does: is("home.profile"), below: "usage"},
		{name: "top", new: trace.NewTop, does: is("home.top"), below: "usage"},
		{name: "events", new: monitor.NewEvents, does: is("home.events"), below: "conversation"},
		{name: "budget", new: budget.New, does: noun(), verbs: []verbs{{on: api.BudgetObject, names: "list show set remove:delete"}}},
		{name: "monitor", new: monitor.New, does: declaration{verb: "host.monitor", then: "host.monitor-log", more: "log log-size log-keep"}, below: "bus"},
		{name: "doctor", new: doctor.New, does: declaration{verb: "host.doctor", then: "host.repair", more: "fix"}},
		{name: "store", new: store.New, does: noun(), verbs: []verbs{{on: api.Host, names: "show:store check:store move shrink import"}}},
		{name: "backup", new: store.NewBackup, does: is("host.backup"), below: "store"},
		{name: "restore", new: store.NewRestore, does: is("host.restore"), below: "store"},
		{name: "update", new: install.NewUpdate, does: is("host.update")},
		{name: "uninstall", new: install.NewUninstall, does: is("host.uninstall")},
	})
}

// otherCommands returns the commands without a group.
func otherCommands() []entry {
	return []entry{
		{name: "completion", new: newCompletion, does: is("host.help")},
		{name: "version", new: newVersion, does: is("host.version"), often: true},
	}
}

// commands makes the commands below the root. If the line begins with a command
// that runs often, it makes only that one: making all of them takes a tenth of the
// time that the shortest command takes.
func commands(e *command.Env, args []string) []*cobra.Command {
	list := table()
	if len(args) > 0 {
		if i := slices.IndexFunc(list, func(c entry) bool { return c.often && c.name == args[0] }); i >= 0 {
			list = list[i : i+1]
		}
	}
	out := make([]*cobra.Command, len(list))
	for i, c := range list {
		out[i] = c.new(e)
		out[i].GroupID = string(c.group)
		out[i].Hidden = c.hidden || c.below != ""
		for _, sub := range table() {
			if sub.below == c.name {
				out[i].AddCommand(sub.new(e))
			}
		}
		addKeys(e, out[i])
	}
	return out
}

// entryPath returns the path of a command's entry in the table, for either of its
// spellings.
func entryPath(path []string) []string {
	if len(path) > 1 && slices.ContainsFunc(table(), func(c entry) bool { return c.below == path[0] && c.name == path[1] }) {
		return path[1:]
	}
	return path
}

// declarationOf returns the verb that the command with a path, without the program's
// name, is; false if the table does not say. The root does what run does, and the
// commands that cobra adds show help.
func declarationOf(path []string) (declaration, bool) {
	path = entryPath(path)
	noun, verb := "run", ""
	if len(path) > 0 {
		noun = path[0]
	}
	if len(path) > 1 {
		verb = path[1]
	}
	if slices.Contains(libraryCommands(), noun) {
		return is("host.help"), verb == ""
	}
	list := table()
	i := slices.IndexFunc(list, func(c entry) bool { return c.name == noun })
	switch {
	case i < 0 || len(path) > 2:
		return declaration{}, false
	case verb == "":
		return list[i].does, true
	}
	for _, v := range list[i].verbs {
		for name := range strings.FieldsSeq(v.names) {
			if command, name := v.split(name); command == verb {
				if v.does.verb != "" {
					return v.does, true
				}
				return is(string(v.on) + "." + name), true
			}
		}
	}
	return declaration{}, false
}

// split returns the command and the name of the verb that a name of v stands for.
func (v verbs) split(name string) (command, verb string) {
	command, verb, ok := strings.Cut(name, ":")
	if !ok {
		verb = command
	}
	return command, verb
}

// libraryCommands names the commands that cobra adds: help, and those that shells call
// to complete a line.
func libraryCommands() []string { return []string{"help", "__complete", "__completeNoDesc"} }
