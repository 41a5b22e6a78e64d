package agent

import (
	"context"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/hint"
)

// New makes fika agent.
func New(e *command.Env) *cobra.Command {
	return command.Group("agent", "list, start, stop and watch agents", "", `  fika agent list
  fika agent start coder
  fika agent attach coder`, append(commands(e), newRun(e))...)
}

// commands returns the commands of fika agent except run.
func commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{
		newList(e), newShow(e), newStart(e), newStop(e), newRestart(e), newMove(e), newHealth(e),
		newAttach(e), newLogs(e), newReset(e), newCreate(e), newAdd(e), newImport(e), newDelete(e),
		newSummarise(e), newRecall(e), newLearn(e), newDiff(e), newMerge(e), newDiscard(e), newShell(e),
	}
}

// namedAgents finds the agents that the arguments name.
func namedAgents(ctx context.Context, agents *service.Agents, args []string, all bool) ([]fika.Agent, error) {
	switch {
	case all && len(args) > 0:
		return nil, command.UsageError("give names or --all, not both")
	case all:
		args = []string{"*"}
	case len(args) == 0:
		return nil, fika.WithHint(command.UsageError("which agent? give a name, a pattern such as 'r*', or --all"), hint.AgentList)
	}
	return agents.Match(ctx, args)
}

// namedMembers is namedAgents with each pool replaced by its members.
func namedMembers(ctx context.Context, agents *service.Agents, args []string, all bool) ([]fika.Agent, error) {
	list, err := namedAgents(ctx, agents, args, all)
	if err != nil {
		return nil, err
	}
	return agents.Members(ctx, list)
}

// agentsFor finds the agents that the arguments name, with pools replaced by their
// members, and starts a hub for them.
func agentsFor(ctx context.Context, e *command.Env, args []string, all bool) (agents *service.Agents, list []fika.Agent, err error) {
	c, err := e.ServiceFor(ctx, func(c *service.Service) (err error) {
		list, err = namedMembers(ctx, c.Agents, args, all)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return c.Agents, list, nil
}

// forAgents calls do for each agent that the arguments name.
func forAgents(ctx context.Context, e *command.Env, agents *service.Agents, args []string, all bool, do func(fika.Agent) error) error {
	list, err := namedAgents(ctx, agents, args, all)
	if err != nil {
		return err
	}
	return eachAgent(ctx, e, list, do)
}

// eachAgent calls do for each agent. It reports failures and fails with the kind of the
// first; for a single agent, or once ctx has ended, it returns the error itself.
func eachAgent(ctx context.Context, e *command.Env, list []fika.Agent, do func(fika.Agent) error) error {
	var errs []error
	for _, row := range list {
		if err := do(row); err != nil {
			if len(list) == 1 || ctx.Err() != nil {
				return err
			}
			e.Say("%s @%s: %s", e.ErrStyle().Red("✗"), row.Name, term.CleanLine(err.Error()))
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return command.Silent{Kind: fika.KindOf(errs[0])}
	}
	return nil
}
