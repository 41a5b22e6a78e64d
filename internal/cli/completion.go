package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/term"
)

// Commands builds the whole tree of commands, to be looked at: the generated
// reference and the tests of help read it. To run one, use [Main].
func Commands() *cobra.Command {
	return newRoot(&env{Streams: term.System(), getenv: os.Getenv})
}

func newCompletion(*env) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "print a completion script for bash, zsh or fish",
		Long: `Prints a script that teaches your shell the commands of fika, and the names of
your agents, chats and contexts. Load it once for a try, or in the shell's
start-up file for good.`,
		Example: `  source <(fika completion bash)          # bash
  source <(fika completion zsh)           # zsh, after compinit
  fika completion fish | source           # fish`,
		Args:      exactly(1, "the name of a shell: bash, zsh or fish"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(cmd.OutOrStdout(), true)
			case "zsh":
				return root.GenZshCompletion(cmd.OutOrStdout())
			case "fish":
				return root.GenFishCompletion(cmd.OutOrStdout(), true)
			}
			return usageError("no completion for %q; there is one for bash, zsh and fish", args[0])
		},
	}
}

// What completes asks the store and the folders of the home, never the bus: a
// key that is pressed in passing starts nothing and waits for nobody.
const nothing = cobra.ShellCompDirectiveNoFileComp

// files leaves it to the shell to complete the names of files.
func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// inOrder completes each argument in a way of its own; nil, and what follows
// the last one, is nothing to complete.
func inOrder(list ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(list) || list[len(args)] == nil {
			return nil, nothing
		}
		return list[len(args)](cmd, args, word)
	}
}

// first completes the first argument only: what follows it is a prompt.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc { return inOrder(complete) }

// several completes any number of arguments, each once.
func several(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		all, how := complete(cmd, args, word)
		return slices.DeleteFunc(all, func(c cobra.Completion) bool {
			name, _, _ := strings.Cut(c, "\t")
			return slices.Contains(args, name)
		}), how
	}
}

// offered is a completion with a few words about it.
func offered(name, about string) cobra.Completion {
	if about = term.Truncate(term.CleanLine(about), 60); about == "" {
		return name
	}
	return cobra.CompletionWithDesc(name, about)
}

// asked opens the store for what completes.
func (e *env) asked(cmd *cobra.Command) (*client.Client, error) {
	return client.Offline(cmd.Context(), e.open())
}

func (e *env) completeAgents(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.asked(cmd)
	if err != nil {
		return nil, nothing
	}
	agents, err := c.Agents.Rows(cmd.Context())
	if err != nil {
		return nil, nothing
	}
	for _, a := range agents {
		out = append(out, offered(string(a.Name), a.Description))
	}
	return out, nothing
}

// completeAgentsOf completes the agents that take part in the chat before it.
func (e *env) completeAgentsOf(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.asked(cmd)
	if err != nil {
		return nil, nothing
	}
	conv, err := c.Chats.Find(cmd.Context(), args[0])
	if err != nil {
		return nil, nothing
	}
	agents, err := c.Chats.AgentsIn(cmd.Context(), conv)
	if err != nil {
		return nil, nothing
	}
	for _, a := range agents {
		out = append(out, string(a))
	}
	return out, nothing
}

func (e *env) completeContexts(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	h, err := e.open().Home()
	if err != nil {
		return nil, nothing
	}
	names, _, err := h.List()
	if err != nil {
		return nil, nothing
	}
	for _, n := range names {
		out = append(out, string(n))
	}
	return out, nothing
}

func (e *env) completeChats(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.asked(cmd)
	if err != nil {
		return nil, nothing
	}
	list, err := c.Chats.List(cmd.Context())
	if err != nil {
		return nil, nothing
	}
	for _, c := range list {
		out = append(out, string(c.Name))
	}
	return out, nothing
}

// completeConversations completes the newest of all kinds, and the names of
// agents, which stand for their ongoing ones.
func (e *env) completeConversations(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, _ := e.completeAgents(cmd, args, word)
	c, err := e.asked(cmd)
	if err != nil {
		return out, nothing
	}
	list, err := c.Conversations.List(cmd.Context(), client.ConversationFilter{Limit: 100})
	if err != nil {
		return out, nothing
	}
	for _, c := range list {
		out = append(out, offered(string(c.Name), strings.TrimSpace(string(c.Kind)+" "+string(c.AgentName))))
	}
	return out, nothing
}

// completeRequests completes the ids of the newest requests that are in one of
// the states, or in any when none is given.
func (e *env) completeRequests(states ...fika.RequestState) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.asked(cmd)
		if err != nil {
			return nil, nothing
		}
		list, err := c.Requests.List(cmd.Context(), client.RequestFilter{States: states, Limit: 50})
		if err != nil {
			return nil, nothing
		}
		for _, r := range list {
			out = append(out, offered(string(r.ID), fmt.Sprintf("@%s %s %s", r.AgentName, r.State, promptOf(r))))
		}
		return out, nothing
	}
}

func (e *env) completeModels(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.open().Config()
	if err != nil {
		return nil, nothing
	}
	for _, m := range c.Models {
		out = append(out, offered(m.ID, m.Nickname))
		if m.Nickname != "" {
			out = append(out, offered(m.Nickname, m.ID))
		}
	}
	return out, nothing
}

func (e *env) completeKeys(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	f, err := e.open().Keys()
	if err != nil {
		return nil, nothing
	}
	list, err := f.List()
	if err != nil {
		return nil, nothing
	}
	for _, k := range list {
		out = append(out, offered(k.Name, strings.Join(k.Hosts, ", ")))
	}
	return out, nothing
}
