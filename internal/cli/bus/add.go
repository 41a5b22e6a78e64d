package bus

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/settings/config"
)

// addOptions are the flags of bus add.
type addOptions struct {
	*command.Env
	tools, agents []string
	network       bool
}

func newAdd(e *command.Env) *cobra.Command {
	o := &addOptions{Env: e}
	c := &cobra.Command{
		Use: "add NAME", Short: "give a program its own credential for asking agents",
		Long: `Writes a member into [[bus_members]] of config.toml. Without --tools, its
requests may make an agent read and list at most; --tools '*' allows all that
the agent may do. A running hub makes the credential at once: fika bus show NAME
prints it.`,
		Example: "  fika bus add build-server\n  fika bus add build-server --tools read,list,bash --network --agents coder,tester",
		Args:    command.Exactly(1, "a name for the program"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, args[0])
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.tools, "tools", nil, "tools that its requests may use, comma-separated (default read,list)")
	f.StringSliceVar(&o.agents, "agents", nil, "agents that the program may ask (default all)")
	f.BoolVar(&o.network, "network", false, "let commands that it causes reach the network where the agent's commands do")
	_ = c.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(append([]string{"*"}, config.BuiltinTools()...), complete.NoFiles))
	_ = c.RegisterFlagCompletionFunc("agents", completeAgents(e))
	return c
}

func (o *addOptions) run(cmd *cobra.Command, name string) error {
	agents, err := agentNames(o.agents)
	if err != nil {
		return err
	}
	m := service.BusMember{Name: name, Network: "off"}
	for _, t := range o.tools {
		if t = strings.TrimSpace(t); t != "" {
			m.Tools = append(m.Tools, t)
		}
	}
	if cmd.Flags().Changed("tools") && m.Tools == nil {
		m.Tools = []string{}
	}
	if m.Agents = agents; cmd.Flags().Changed("agents") && agents == nil {
		return command.UsageError("--agents names at least one agent")
	}
	if o.network {
		m.Network = "on"
	}
	c, err := o.Service(cmd.Context())
	if err != nil {
		return err
	}
	if err := c.AddBusMember(cmd.Context(), m); err != nil {
		return err
	}
	o.Say("%s may ask by the bus; fika bus show %s prints how it connects", name, name)
	if why := c.MembersIgnored(); why != "" {
		o.Warn(why)
	}
	return nil
}
