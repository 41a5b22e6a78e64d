package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
)

// New returns the command fika host.
func New(e *command.Env) *cobra.Command {
	return command.Group("host", "list the hosts that share this database; drain and forget them",
		`Several machines can share one PostgreSQL database ([store] url) and one NATS
server ([nats] server): each runs a hub with agents of its own, and everybody can
ask all agents. A host is a home in which a hub has run; its name is at first the
machine's. docs/guides/machines.md shows how to set up several.`,
		"  fika store host list\n  fika store host drain laptop", newList(e), newShow(e), newAdd(e), newLabel(e), newDrain(e), newResume(e), newStart(e), newStop(e), newForget(e))
}

// hostJSON is a host as --json prints it.
type hostJSON struct {
	Name      string           `json:"name"`
	ID        string           `json:"id"`
	Here      bool             `json:"here"`
	Up        bool             `json:"up"`
	State     string           `json:"state"` // active, drained
	OnDemand  *demandJSON      `json:"on_demand"`
	Labels    []string         `json:"labels"`
	Version   string           `json:"version"`
	Role      string           `json:"role"` // with which it uses the database
	Seen      *time.Time       `json:"seen"`
	Agents    []fika.AgentName `json:"agents"`
	Duties    []string         `json:"duties"`
	Refused   command.Nullable `json:"refused"` // the machine where a copy of this home was refused
	RefusedAt *time.Time       `json:"refused_at"`
}

func toJSON(h service.Host) hostJSON {
	slices.Sort(h.Duties)
	return hostJSON{
		Name: h.Name, ID: h.ID, Here: h.Here, Up: h.Up, State: string(h.State), OnDemand: demandToJSON(h.Demand), Labels: command.EmptyIfNil(h.Labels), Version: h.Version, Role: h.Role,
		Seen: command.JSONTime(h.Seen), Agents: command.EmptyIfNil(h.Agents), Duties: command.EmptyIfNil(h.Duties),
		Refused: command.Nullable(h.Refused), RefusedAt: command.JSONTime(h.RefusedAt),
	}
}

// stateWord says how a host is.
func stateWord(h service.Host) string {
	if h.State == "drained" {
		return h.StateWord() + ", drained"
	}
	return h.StateWord()
}

// refusedLine says that a copy of a host's home was refused.
func refusedLine(h service.Host, now time.Time) string {
	return fmt.Sprintf("%s: a copy of its home was refused on %s %s: delete home_id there to make that a new home", h.Name, h.Refused, term.Ago(h.RefusedAt, now))
}

func agentsOf(h service.Host) string {
	names := make([]string, len(h.Agents))
	for i, n := range h.Agents {
		names[i] = string(n)
	}
	return strings.Join(names, " ")
}

// change returns a command that changes one host.
func change(e *command.Env, use, short, long, example, done string, do func(context.Context, *service.Service, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " HOST", Short: short, Long: long, Example: example, Args: command.Exactly(1, "the name of a host"), ValidArgsFunction: offerNames(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			if err := do(cmd.Context(), c, args[0]); err != nil {
				return err
			}
			e.Say(done, args[0])
			return nil
		},
	}
}

// offerNames completes the names of hosts.
func offerNames(e *command.Env) cobra.CompletionFunc {
	return complete.FirstOnly(func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.Service(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		list, err := c.Hosts().List(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, h := range list {
			out = append(out, complete.WithAbout(h.Name, stateWord(h)))
		}
		return out, complete.NoFiles
	})
}
