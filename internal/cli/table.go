package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/agent"
	"fika/internal/cli/approve"
	"fika/internal/cli/ask"
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
	"fika/internal/cli/hub"
	"fika/internal/cli/key"
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
	"fika/internal/cli/status"
	"fika/internal/cli/store"
	"fika/internal/cli/template"
	"fika/internal/cli/trace"
	"fika/internal/cli/undo"
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

// entry is one command of the root: how it is made, where the help shows it, and
// what it does, which decides whether an agent may run it.
type entry struct {
	name  string
	new   func(*command.Env) *cobra.Command
	group group
	does  declaration
	verbs []verbs
	often bool // programs and agents run it again and again: it is made without the others
}

// verbs are commands of a noun that do the same thing; spaces separate the names.
type verbs struct {
	does  declaration
	names string
}

// conduct is what a command does. It decides what an agent may run through a command
// in one of its tools.
type conduct string

// The conducts.
const (
	looks   conduct = "looks"   // shows something
	speaks  conduct = "speaks"  // asks an agent or says something, as the agent that runs the tool
	manages conduct = "manages" // only a person may do it
)

// declaration says what one command does. If some flags make the command do more, it
// lists those (more) or, if nearly all of them do, the other flags (only), separated
// by spaces.
type declaration struct {
	conduct conduct
	more    string // flags that make it manage
	only    string // if not empty: all flags except these make it manage
	one     bool   // more than one argument makes it manage
}

// table returns every command of the root with what it and each of its verbs does.
// A command or verb that is not in the table manages.
func table() []entry {
	return slices.Concat(startCommands(), workCommands(), agentCommands(), systemCommands(), otherCommands())
}

// in puts commands into a group.
func in(g group, list []entry) []entry {
	for i := range list {
		list[i].group = g
	}
	return list
}

func look() declaration   { return declaration{conduct: looks} }
func speak() declaration  { return declaration{conduct: speaks} }
func manage() declaration { return declaration{conduct: manages} }

// startCommands returns the commands to begin with.
func startCommands() []entry {
	return in(groupStart, []entry{
		{name: "init", new: setup.NewInit, does: manage()},
		{name: "demo", new: demo.New, does: manage()},
		{name: "run", new: run.New, does: declaration{conduct: speaks, more: "username temp-username continue"}, often: true},
		{name: "master", new: master.New, does: manage()},
	})
}

// workCommands returns the commands that give agents work and follow it.
func workCommands() []entry {
	return in(groupWork, []entry{
		{name: "ask", new: ask.NewAsk, does: speak(), often: true},
		{name: "task", new: ask.NewTask, does: speak(), often: true},
		{name: "route", new: ask.NewRoute, does: look()},
		{name: "chat", new: chat.New, does: look(), often: true, verbs: []verbs{
			{look(), "list view wait why queue"},
			{declaration{conduct: looks, only: "json"}, "limit"},
			{speak(), "send"},
			{manage(), "new create join pause resume stop continue retry pin unpin clear rename delete cleanup"},
		}},
		{name: "workflow", new: workflow.New, does: look(), verbs: []verbs{
			{look(), "list show check graph status output wait"},
			{manage(), "run pause resume cancel"},
		}},
		{name: "request", new: request.New, does: look(), often: true, verbs: []verbs{{look(), "list show wait"}, {manage(), "cancel retry"}}},
		{name: "conversation", new: conversation.New, does: look(), verbs: []verbs{{look(), "list show search"}}},
		{name: "trace", new: trace.NewTrace, does: look()},
		{name: "approve", new: approve.New, does: manage()},
		{name: "undo", new: undo.New, does: manage()},
		{name: "schedule", new: schedule.New, does: look(), verbs: []verbs{{look(), "list show"}, {manage(), "create delete run pause resume"}}},
	})
}

// agentCommands returns the commands about agents and what they are made of.
func agentCommands() []entry {
	return in(groupAgents, []entry{
		{name: "agent", new: agent.New, does: look(), often: true, verbs: []verbs{
			{look(), "list show health logs attach diff"},
			{manage(), "run start stop restart reset summarise recall learn create delete import merge discard"},
		}},
		{name: "template", new: template.New, does: look(), verbs: []verbs{{look(), "list show"}}},
		{name: "context", new: contextcmd.New, does: look(), verbs: []verbs{
			{look(), "list show log"},
			{declaration{conduct: looks, only: "assembled", one: true}, "prompt"},
			{declaration{conduct: speaks, more: "switch"}, "new"}, // as create_context does
			{speak(), "send"}, // as send_message does
			{manage(), "switch rename delete clear compact import export unlock"},
		}},
		{name: "plugin", new: plugin.New, does: look(), verbs: []verbs{
			{look(), "list show"},
			{manage(), "check call"}, // they run it with a person's rights
			{manage(), "install remove enable disable"},
		}},
		{name: "mcp", new: mcp.New, does: look(), verbs: []verbs{
			{look(), "list show"},
			{manage(), "check call"}, // they start it on a person's authority
			{manage(), "install import remove"},
		}},
		{name: "bus", new: bus.New, does: look(), verbs: []verbs{{look(), "list"}, {manage(), "show add remove"}}},
		{name: "model", new: model.New, does: look(), verbs: []verbs{{look(), "list show"}}},
		{name: "key", new: key.New, does: look(), verbs: []verbs{{look(), "list show"}, {manage(), "set remove"}}},
		{name: "rules", new: rules.New, does: look(), verbs: []verbs{{look(), "test"}}},
		{name: "executor", new: executor.New, does: manage()},
		{name: "trust", new: setup.NewTrust, does: manage()},
		{name: "project", new: project.New, does: look(), verbs: []verbs{{look(), "list show"}, {manage(), "move forget"}}},
		{name: "config", new: config.New, does: look(), verbs: []verbs{{look(), "path check show"}, {manage(), "migrate"}}},
	})
}

// systemCommands returns the commands about the system as a whole.
func systemCommands() []entry {
	return in(groupSystem, []entry{
		{name: "up", new: hub.NewUp, does: manage()},
		{name: "down", new: hub.NewDown, does: manage()},
		{name: "status", new: status.New, does: declaration{conduct: looks, more: "show-bus"}, often: true},
		{name: "usage", new: trace.NewUsage, does: look()},
		{name: "profile", new: trace.NewProfile, does: look()},
		{name: "top", new: trace.NewTop, does: look()},
		{name: "budget", new: budget.New, does: look(), verbs: []verbs{{look(), "list show"}, {manage(), "set remove"}}},
		{name: "monitor", new: monitor.New, does: declaration{conduct: looks, more: "log log-size log-keep"}},
		{name: "doctor", new: doctor.New, does: declaration{conduct: looks, more: "fix"}},
		{name: "store", new: store.New, does: look(), verbs: []verbs{{look(), "show check"}, {manage(), "move"}}},
		{name: "backup", new: store.NewBackup, does: manage()},
		{name: "restore", new: store.NewRestore, does: manage()},
	})
}

// otherCommands returns the commands without a group.
func otherCommands() []entry {
	return []entry{
		{name: "completion", new: newCompletion, does: look()},
		{name: "version", new: newVersion, does: look(), often: true},
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
	}
	return out
}

// declarationOf returns what the command with a path, without the program's name,
// does; false if the table does not say. The root does what run does, and the
// commands that cobra adds look.
func declarationOf(path []string) (declaration, bool) {
	noun, verb := "run", ""
	if len(path) > 0 {
		noun = path[0]
	}
	if len(path) > 1 {
		verb = path[1]
	}
	if slices.Contains(libraryCommands(), noun) {
		return declaration{conduct: looks}, verb == ""
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
		if slices.Contains(strings.Fields(v.names), verb) {
			return v.does, true
		}
	}
	return declaration{}, false
}

// libraryCommands names the commands that cobra adds: help, and those that shells call
// to complete a line.
func libraryCommands() []string { return []string{"help", "__complete", "__completeNoDesc"} }
