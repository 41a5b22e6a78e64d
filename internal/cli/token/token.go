package token

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
)

// New returns the command fika token.
func New(e *command.Env) *cobra.Command {
	return command.Group("token", "let programs in by a door of the hub, and keep them out",
		`A token lets one program in by the doors that [doors] in config.toml opens on
this machine: /metrics shows figures to Prometheus, /mcp gives agents work. The
program is a foreign one: it sees what it has asked for itself, agents work for
it without tools, and what it says counts as text from outside.`,
		"  fika web token create prometheus --door metrics\n  fika web token list\n  fika web token revoke prometheus",
		newCreate(e), newList(e), newRevoke(e))
}

// tokenJSON is a token as --json prints it.
type tokenJSON struct {
	Name    string           `json:"name"`
	Doors   []string         `json:"doors"`
	Agents  []string         `json:"agents"` // "*": all
	State   string           `json:"state"`  // valid, expired, shadowed
	By      string           `json:"by"`
	Created *time.Time       `json:"created"`
	Expires *time.Time       `json:"expires"`
	Used    *time.Time       `json:"used"`
	Secret  command.Nullable `json:"secret"` // only when it is created
}

func toJSON(k service.Token, state, secret string) tokenJSON {
	return tokenJSON{
		Name: k.Name, Doors: command.EmptyIfNil(k.Doors), Agents: command.EmptyIfNil(k.Agents), State: state, By: k.By, Created: command.JSONTime(k.Created),
		Expires: command.JSONTime(k.Expires), Used: command.JSONTime(k.Used), Secret: command.Nullable(secret),
	}
}

// row returns the table row of a token.
func row(k service.Token, state string, now time.Time) []string {
	agents := strings.Join(k.Agents, " ")
	if agents == "*" {
		agents = "all"
	}
	used, expires := "never", "never"
	if !k.Used.IsZero() {
		used = term.Ago(k.Used, now)
	}
	if !k.Expires.IsZero() {
		expires = k.Expires.Local().Format(time.DateOnly)
	}
	return []string{k.Name, strings.Join(k.Doors, " "), agents, state, used, expires}
}

// offerNames completes the names of tokens.
func offerNames(e *command.Env) cobra.CompletionFunc {
	return complete.FirstOnly(func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.Service(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		list, err := c.Tokens().List(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, k := range list {
			out = append(out, complete.WithAbout(k.Name, strings.Join(k.Doors, " ")))
		}
		return out, complete.NoFiles
	})
}
