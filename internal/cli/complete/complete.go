package complete

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

// NoFiles keeps the shell from offering files besides the completions or instead.
const NoFiles = cobra.ShellCompDirectiveNoFileComp

// ApprovalNumbers completes the numbers of the tool calls that wait for approval.
func ApprovalNumbers(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := openOffline(e, cmd)
		if err != nil {
			return nil, NoFiles
		}
		list, err := c.Approvals().Open(cmd.Context())
		if err != nil {
			return nil, NoFiles
		}
		for _, a := range list {
			out = append(out, WithAbout(strconv.FormatInt(a.N, 10), "@"+string(a.Agent)+": "+term.CleanLine(a.What)))
		}
		return out, NoFiles
	}
}

// Choices completes what a person may choose in answer to the approval whose number is the
// first argument.
func Choices(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := openOffline(e, cmd)
		if err != nil || len(args) == 0 {
			return nil, NoFiles
		}
		n, _ := strconv.ParseInt(args[0], 10, 64) // of what is no number there is none
		a, err := c.Approvals().Find(cmd.Context(), n)
		if err != nil {
			return nil, NoFiles
		}
		q, _ := service.StepQuestionOf(a)
		return q.Choice, NoFiles
	}
}

// TaskNumbers completes the numbers of the tasks that have not ended or, with all, of all.
func TaskNumbers(e *command.Env, all bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := openOffline(e, cmd)
		if err != nil {
			return nil, NoFiles
		}
		f := service.TaskFilter{States: fika.GoingTaskStates(), Limit: 200}
		if all {
			f.States = fika.TaskStates()
		}
		list, err := c.Board().Cards(cmd.Context(), f)
		if err != nil {
			return nil, NoFiles
		}
		for _, t := range list {
			out = append(out, WithAbout(strconv.FormatInt(int64(t.Number), 10), string(t.State)+": "+term.CleanLine(t.Title)))
		}
		return out, NoFiles
	}
}

// OfferNumbers completes the numbers of the offers that have not landed or, with all, of all.
func OfferNumbers(e *command.Env, all bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := openOffline(e, cmd)
		if err != nil {
			return nil, NoFiles
		}
		list, err := c.Offers().List(cmd.Context(), service.OfferFilter{Limit: 200})
		if err != nil {
			return nil, NoFiles
		}
		for _, o := range list {
			if all || o.State != fika.OfferLanded {
				out = append(out, WithAbout(strconv.FormatInt(int64(o.Number), 10), string(o.State)+": "+term.CleanLine(o.Source)))
			}
		}
		return out, NoFiles
	}
}

// FileNames leaves it to the shell to complete file names.
func FileNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// InOrder completes each argument with the function at its position. Arguments whose
// function is nil, and those after the last function, are not completed.
func InOrder(list ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(list) || list[len(args)] == nil {
			return nil, NoFiles
		}
		return list[len(args)](cmd, args, word)
	}
}

// FirstOnly completes only the first argument: what follows it is often a prompt.
func FirstOnly(complete cobra.CompletionFunc) cobra.CompletionFunc { return InOrder(complete) }

// AnyNumber completes any number of arguments, and offers each name once.
func AnyNumber(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		all, how := complete(cmd, args, word)
		return slices.DeleteFunc(all, func(c cobra.Completion) bool {
			name, _, _ := strings.Cut(c, "\t")
			return slices.Contains(args, name)
		}), how
	}
}

// WithAbout returns a completion with a short description: one line, cut to 60 columns.
func WithAbout(name, about string) cobra.Completion {
	if about = term.Truncate(term.CleanLine(about), 60); about == "" {
		return name
	}
	return cobra.CompletionWithDesc(name, about)
}

// openOffline opens the store for a completion, without the bus.
func openOffline(e *command.Env, cmd *cobra.Command) (*service.Service, error) {
	return e.ServiceOffline(cmd.Context())
}

// AgentNames completes the agents in the store and in the config, including pools and
// their members.
func AgentNames(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return agentsThat(e, cmd, func(fika.Agent) bool { return true })
	}
}

// LoneAgents completes the agents that can have a context and a process: all but pools.
func LoneAgents(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return agentsThat(e, cmd, func(a fika.Agent) bool { return !a.IsPool() })
	}
}

// DefinedAgents completes all agents but the members of pools, which have no definition
// of their own.
func DefinedAgents(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		conf, err := e.App().Config()
		if err != nil {
			return nil, NoFiles
		}
		return agentsThat(e, cmd, func(a fika.Agent) bool {
			entry := conf.Agent(a.Name)
			return entry == nil || entry.Pool == ""
		})
	}
}

// agentsThat completes the agents for which offer returns true.
func agentsThat(e *command.Env, cmd *cobra.Command, offer func(fika.Agent) bool) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := openOffline(e, cmd)
	if err != nil {
		return nil, NoFiles
	}
	agents, err := c.Agents.Rows(cmd.Context())
	if err != nil {
		return nil, NoFiles
	}
	for _, a := range agents {
		if offer(a) {
			out = append(out, WithAbout(string(a.Name), a.Description))
		}
	}
	return out, NoFiles
}

// AgentsOfChat completes the agents in the chat that the first argument names.
func AgentsOfChat(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := openOffline(e, cmd)
		if err != nil {
			return nil, NoFiles
		}
		conv, err := c.Chats.Find(cmd.Context(), args[0])
		if err != nil {
			return nil, NoFiles
		}
		agents, err := c.Chats.AgentsIn(cmd.Context(), conv)
		if err != nil {
			return nil, NoFiles
		}
		for _, a := range agents {
			out = append(out, string(a))
		}
		return out, NoFiles
	}
}

// ContextNames completes the contexts of the home.
func ContextNames(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		h, err := e.App().Home()
		if err != nil {
			return nil, NoFiles
		}
		names, _, err := h.List()
		if err != nil {
			return nil, NoFiles
		}
		for _, n := range names {
			out = append(out, string(n))
		}
		return out, NoFiles
	}
}

// ChatNames completes the names of chats.
func ChatNames(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := openOffline(e, cmd)
		if err != nil {
			return nil, NoFiles
		}
		list, err := c.Chats.List(cmd.Context())
		if err != nil {
			return nil, NoFiles
		}
		for _, c := range list {
			out = append(out, string(c.Name))
		}
		return out, NoFiles
	}
}

// ConversationNames completes the 100 newest conversations of all kinds, and the names
// of agents, which stand for their ongoing conversations.
func ConversationNames(e *command.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		out, _ := AgentNames(e)(cmd, args, word)
		c, err := openOffline(e, cmd)
		if err != nil {
			return out, NoFiles
		}
		list, err := c.Conversations.List(cmd.Context(), service.ConversationFilter{Limit: 100})
		if err != nil {
			return out, NoFiles
		}
		for _, c := range list {
			out = append(out, WithAbout(string(c.Name), strings.TrimSpace(string(c.Kind)+" "+string(c.AgentName))))
		}
		return out, NoFiles
	}
}

// RequestIDs completes the ids of the 50 newest requests in one of the given states, or
// in any state if none is given.
func RequestIDs(e *command.Env, states ...fika.RequestState) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := openOffline(e, cmd)
		if err != nil {
			return nil, NoFiles
		}
		list, err := c.Requests.List(cmd.Context(), service.RequestFilter{States: states, Limit: 50})
		if err != nil {
			return nil, NoFiles
		}
		about, err := c.Requests.About(cmd.Context(), list...)
		if err != nil {
			return nil, NoFiles
		}
		for _, r := range list {
			out = append(out, WithAbout(string(r.ID), fmt.Sprintf("@%s %s %s", r.AgentName, r.State, about[r.ID])))
		}
		return out, NoFiles
	}
}

// ModelNames completes the ids and nicknames of models.
func ModelNames(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.App().Config()
		if err != nil {
			return nil, NoFiles
		}
		for _, m := range c.Models {
			out = append(out, WithAbout(m.ID, m.Nickname))
			if m.Nickname != "" {
				out = append(out, WithAbout(m.Nickname, m.ID))
			}
		}
		return out, NoFiles
	}
}

// KeyNames completes the names of stored keys.
func KeyNames(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		f, err := e.App().Keys()
		if err != nil {
			return nil, NoFiles
		}
		list, err := f.List()
		if err != nil {
			return nil, NoFiles
		}
		for _, k := range list {
			out = append(out, WithAbout(k.Name, strings.Join(k.Hosts, ", ")))
		}
		return out, NoFiles
	}
}

// WorkflowsOrFiles completes the names of workflows and of files.
func WorkflowsOrFiles(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		all, err := e.Workflows()
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		for _, w := range all.List() {
			about := ""
			if w.Definition != nil {
				about = w.Definition.Description
			}
			out = append(out, WithAbout(w.Name, about))
		}
		return out, cobra.ShellCompDirectiveDefault
	}
}

// TemplateNames completes the templates of agents.
func TemplateNames(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		set, err := setup.AgentTemplates(e.App())
		if err != nil {
			return nil, NoFiles
		}
		list, _ := set.List() // templates that cannot be read are not offered
		for _, t := range list {
			out = append(out, cobra.CompletionWithDesc(t.Name, t.Description()))
		}
		return out, NoFiles
	}
}

// Modes completes the name of a mode.
func Modes(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, m := range fika.Modes() {
		out = append(out, string(m))
	}
	return out, NoFiles
}
