package context

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/settings/folder"
	"fika/internal/system/term"
)

type contextJSON struct {
	Name      fika.AgentName `json:"name"`
	Current   bool           `json:"current"`
	Previous  bool           `json:"previous"`
	Exists    bool           `json:"exists"`
	Lock      lockJSON       `json:"lock"`
	Agent     bool           `json:"agent"` // its agent runs as a process
	UpdatedAt *time.Time     `json:"updated_at"`
}

type lockJSON struct {
	Status  folder.LockStatus `json:"status"`
	Held    bool              `json:"held"`
	PID     *int              `json:"pid"`
	Host    *string           `json:"host"`
	Kind    *folder.LockKind  `json:"kind"`
	Since   *time.Time        `json:"since"`
	Silence *float64          `json:"silent_seconds"`
}

func toLockJSON(s folder.LockState) lockJSON {
	return lockJSON{
		Status: s.Status, Held: s.Held, PID: command.Optional(s.Info.PID), Host: command.Optional(s.Info.Host), Kind: command.Optional(s.Info.Kind),
		Since: command.JSONTime(s.Info.Since), Silence: command.Optional(s.Age.Seconds()),
	}
}

func toContextJSON(c contexts.Info) contextJSON {
	return contextJSON{
		Name: c.Name, Current: c.Current, Previous: c.Previous, Exists: c.Exists, Lock: toLockJSON(c.Lock),
		Agent: c.Process(), UpdatedAt: command.JSONTime(c.Updated),
	}
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the contexts", Args: command.Exactly(0, "no arguments"),
		Long: `Lists the contexts by name. * marks the current one; [active] and [stale]
describe its lock; [agent] means that its agent runs as a process.`,
		Example: "  fika context list\n  fika context list --json | jq -r 'select(.current).name'",
		RunE: func(*cobra.Command, []string) error {
			list, strange, err := contexts.List(e.App())
			if err != nil {
				return err
			}
			for _, s := range strange {
				e.Warn(fmt.Sprintf("contexts/%s is not a context: its name is not one", s))
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, toContextJSON)
			}
			for _, c := range list {
				if err := e.Println(contextLine(e.OutStyle(), c)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func contextLine(s term.Style, c contexts.Info) string {
	line := "  " + string(c.Name)
	if c.Current {
		line = "* " + s.Bold(string(c.Name))
	}
	switch c.Lock.Status {
	case folder.LockActive:
		line += " " + s.Green("[active]")
	case folder.LockStale:
		line += " " + s.Yellow("[stale]")
	}
	if c.Process() {
		line += " [agent]"
	}
	return line
}
