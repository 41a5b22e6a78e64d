package token

import (
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/settings/config"
)

// createOptions are the flags of token create.
type createOptions struct {
	*command.Env
	doors, agents []string
	expires       string
	asJSON        bool
}

func newCreate(e *command.Env) *cobra.Command {
	o := &createOptions{Env: e}
	c := &cobra.Command{
		Use: "create NAME", Short: "make a token for a program, and print it once",
		Long: `Makes a token and prints its secret, which fika does not keep: only its hash.
NAME is the program's, wherever fika shows who asked: no agent and no person may
have it. The program sends "Authorization: Bearer SECRET".`,
		Example: "  fika web token create prometheus --door metrics\n  fika web token create claude-laptop --door mcp --agents coder,reviewer --expires 90d",
		Args:    command.Exactly(1, "a name for the program"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.doors, "door", nil, "doors that it may use, comma-separated: "+service.TokenDoorNames()+" (default all)")
	f.StringSliceVar(&o.agents, "agents", nil, "agents that it may ask, and whose figures it sees, comma-separated (default all)")
	f.StringVar(&o.expires, "expires", "", "how long it is valid, as in 90d (default for ever)")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	var doors []cobra.Completion
	for _, d := range api.TokenDoors() {
		doors = append(doors, string(d))
	}
	_ = c.RegisterFlagCompletionFunc("door", cobra.FixedCompletions(doors, complete.NoFiles))
	_ = c.RegisterFlagCompletionFunc("agents", complete.AgentNames(e))
	_ = c.RegisterFlagCompletionFunc("expires", cobra.FixedCompletions([]cobra.Completion{"7d", "30d", "90d"}, complete.NoFiles))
	return c
}

func (o *createOptions) run(cmd *cobra.Command, name string) error {
	n := service.NewToken{Name: name}
	for _, d := range o.doors {
		n.Doors = append(n.Doors, strings.ToLower(strings.TrimSpace(d)))
	}
	for _, a := range o.agents {
		agent, err := fika.ParseAgentName(strings.TrimPrefix(strings.TrimSpace(a), "@"))
		if err != nil {
			return err
		}
		n.Agents = append(n.Agents, string(agent))
	}
	if cmd.Flags().Changed("agents") && len(n.Agents) == 0 {
		return command.UsageError("--agents names at least one agent")
	}
	if o.expires != "" {
		long, ok := config.ParseDuration(o.expires)
		if !ok || long <= 0 {
			return command.UsageError("--expires %q is not a time such as 12h or 90d", o.expires)
		}
		n.Within = long
	}
	c, err := o.Service(cmd.Context())
	if err != nil {
		return err
	}
	secret, k, err := c.Tokens().Create(cmd.Context(), n)
	if err != nil {
		return err
	}
	if secret == "" {
		return fika.Errorf(fika.Conflict, "", "the token %s was created before with this key, and its secret is not kept: fika web token revoke %s, and create it again", k.Name, k.Name)
	}
	if o.asJSON {
		return o.PrintJSON(toJSON(k, "valid", secret))
	}
	if err := o.Println(secret); err != nil {
		return err
	}
	o.Say("the token of %s: it is not shown again", k.Name)
	for _, hint := range c.Tokens().Hints(k) {
		o.Say("%s", hint)
	}
	return nil
}
