package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show HOST", Short: "show a host and what it does for all", Args: command.Exactly(1, "the name of a host"), ValidArgsFunction: offerNames(e),
		Long: `Shows a host. Its duties are what one hub at a time does for all: looking after
deadlines (care), removing what has expired (cleaning), reading what other programs
ask over the bus (requests), announcing outcomes of hosts that are down (outcomes),
sending events to a receiver, starting a host on demand. Another hub takes over the
duties of one that is down.`,
		Example: "  fika store host show laptop\n  fika store host show laptop --json | jq .duties",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			h, err := c.Hosts().Show(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintLine(toJSON(h))
			}
			slices.Sort(h.Duties)
			seen := seenAgo(e, h)
			if !h.Seen.IsZero() {
				seen = h.Seen.Local().Format(time.DateTime) + " (" + seen + ")"
			}
			lines := [][2]string{
				{"host", h.Name}, {"home", h.ID}, {"state", stateWord(h)}, {"seen", seen},
				{"labels", command.OrDash(strings.Join(h.Labels, " "))}, {"version", command.OrDash(h.Version)}, {"role", command.OrDash(h.Role)}, {"agents", command.OrDash(agentsOf(h))}, {"duties", command.OrDash(strings.Join(h.Duties, ", "))},
			}
			if h.Demand != nil {
				lines = append(lines, [2]string{"started", demandText(h.Demand, e.Now())})
			}
			for _, line := range lines {
				e.Print(fmt.Sprintf("%-8s%s\n", line[0], line[1]))
			}
			if h.Refused != "" {
				e.Say("%s", refusedLine(h, e.Now()))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
