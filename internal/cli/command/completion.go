package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/setup"
	"fika/internal/term"
)

// CompleteApprovals completes the numbers of tool calls that are asked about.
func (e *Env) CompleteApprovals(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.offline(cmd)
	if err != nil {
		return nil, NoFiles
	}
	list, err := c.Approvals().Open(cmd.Context())
	if err != nil {
		return nil, NoFiles
	}
	for _, a := range list {
		out = append(out, Offered(strconv.FormatInt(a.N, 10), "@"+string(a.Agent)+": "+term.CleanLine(a.What)))
	}
	return out, NoFiles
}

// What completes asks the store and the folders of the home, never the bus: a
// key that is pressed in passing starts nothing and waits for nobody.
const NoFiles = cobra.ShellCompDirectiveNoFileComp

// Files leaves it to the shell to complete the names of files.
func Files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// InOrder completes each argument in a way of its own; nil, and what follows
// the last one, is nothing to complete.
func InOrder(list ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(list) || list[len(args)] == nil {
			return nil, NoFiles
		}
		return list[len(args)](cmd, args, word)
	}
}

// First completes the first argument only: what follows it is a prompt.
func First(complete cobra.CompletionFunc) cobra.CompletionFunc { return InOrder(complete) }

// Several completes any number of arguments, each once.
func Several(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		all, how := complete(cmd, args, word)
		return slices.DeleteFunc(all, func(c cobra.Completion) bool {
			name, _, _ := strings.Cut(c, "\t")
			return slices.Contains(args, name)
		}), how
	}
}

// Offered is a completion with a few words about it.
func Offered(name, about string) cobra.Completion {
	if about = term.Truncate(term.CleanLine(about), 60); about == "" {
		return name
	}
	return cobra.CompletionWithDesc(name, about)
}

// offline opens the store for what completes.
func (e *Env) offline(cmd *cobra.Command) (*client.Client, error) {
	return client.OpenOffline(cmd.Context(), e.App())
}

// CompleteAgents completes the agents of the store and of the config, pools and their
// members too.
func (e *Env) CompleteAgents(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return e.completeAgents(cmd, func(fika.Agent) bool { return true })
}

// CompleteLoneAgents completes the agents that have a context and a process: no pools.
func (e *Env) CompleteLoneAgents(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return e.completeAgents(cmd, func(a fika.Agent) bool { return !a.IsPool() })
}

// CompleteDefined completes the agents that have a definition of their own: no members
// of pools.
func (e *Env) CompleteDefined(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	conf, err := e.App().Config()
	if err != nil {
		return nil, NoFiles
	}
	return e.completeAgents(cmd, func(a fika.Agent) bool {
		entry := conf.Agent(a.Name)
		return entry == nil || entry.Pool == ""
	})
}

func (e *Env) completeAgents(cmd *cobra.Command, offer func(fika.Agent) bool) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.offline(cmd)
	if err != nil {
		return nil, NoFiles
	}
	agents, err := c.Agents.Rows(cmd.Context())
	if err != nil {
		return nil, NoFiles
	}
	for _, a := range agents {
		if offer(a) {
			out = append(out, Offered(string(a.Name), a.Description))
		}
	}
	return out, NoFiles
}

// CompleteAgentsOf completes the agents that take part in the chat before it.
func (e *Env) CompleteAgentsOf(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.offline(cmd)
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

// CompleteContexts completes the contexts of the home.
func (e *Env) CompleteContexts(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
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

// CompleteChats completes the names of chats.
func (e *Env) CompleteChats(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.offline(cmd)
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

// CompleteConversations completes the newest of all kinds, and the names of
// agents, which stand for their ongoing ones.
func (e *Env) CompleteConversations(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, _ := e.CompleteAgents(cmd, args, word)
	c, err := e.offline(cmd)
	if err != nil {
		return out, NoFiles
	}
	list, err := c.Conversations.List(cmd.Context(), client.ConversationFilter{Limit: 100})
	if err != nil {
		return out, NoFiles
	}
	for _, c := range list {
		out = append(out, Offered(string(c.Name), strings.TrimSpace(string(c.Kind)+" "+string(c.AgentName))))
	}
	return out, NoFiles
}

// CompleteRequests completes the ids of the newest requests that are in one of
// the states, or in any when none is given.
func (e *Env) CompleteRequests(states ...fika.RequestState) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.offline(cmd)
		if err != nil {
			return nil, NoFiles
		}
		list, err := c.Requests.List(cmd.Context(), client.RequestFilter{States: states, Limit: 50})
		if err != nil {
			return nil, NoFiles
		}
		for _, r := range list {
			out = append(out, Offered(string(r.ID), fmt.Sprintf("@%s %s %s", r.AgentName, r.State, PromptOf(r))))
		}
		return out, NoFiles
	}
}

// CompleteModels completes the ids and nicknames of models.
func (e *Env) CompleteModels(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.App().Config()
	if err != nil {
		return nil, NoFiles
	}
	for _, m := range c.Models {
		out = append(out, Offered(m.ID, m.Nickname))
		if m.Nickname != "" {
			out = append(out, Offered(m.Nickname, m.ID))
		}
	}
	return out, NoFiles
}

// CompleteKeys completes the names of stored keys.
func (e *Env) CompleteKeys(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	f, err := e.App().Keys()
	if err != nil {
		return nil, NoFiles
	}
	list, err := f.List()
	if err != nil {
		return nil, NoFiles
	}
	for _, k := range list {
		out = append(out, Offered(k.Name, strings.Join(k.Hosts, ", ")))
	}
	return out, NoFiles
}

// Workflows are those of the home and those that are brought along.
func (e *Env) Workflows() (*client.Workflows, error) { return client.OpenWorkflows(e.App()) }

// CompleteWorkflowsOrFiles completes the names of workflows, or of files.
func (e *Env) CompleteWorkflowsOrFiles(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	all, err := e.Workflows()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, w := range all.List() {
		about := ""
		if w.Definition != nil {
			about = w.Definition.Description
		}
		out = append(out, Offered(w.Name, about))
	}
	return out, cobra.ShellCompDirectiveDefault
}

// CompleteTemplates offers the templates of agents.
func (e *Env) CompleteTemplates(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	set, err := setup.Templates(e.App())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := set.List() // what cannot be read is not offered
	for _, t := range list {
		out = append(out, cobra.CompletionWithDesc(t.Name, t.Description()))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
