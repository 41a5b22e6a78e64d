package mcp

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/extension/mcp"
	"fika/internal/system/term"
)

type serverJSON struct {
	Name     string       `json:"name"`
	State    string       `json:"state"`
	Command  *string      `json:"command"`
	Args     []string     `json:"args"`
	URL      *string      `json:"url"`
	Tools    []string     `json:"tools"` // as agents call them
	LeftOut  []leftJSON   `json:"left_out"`
	Changes  []mcp.Change `json:"changes"`
	Agents   []string     `json:"agents"` // agents whose tool_permissions name it
	Trust    bool         `json:"trust"`
	Taint    bool         `json:"taint"`
	Network  bool         `json:"network"`
	Says     *string      `json:"says"` // what the server calls itself
	AgreedAt *time.Time   `json:"agreed_at"`
	Trouble  *string      `json:"trouble"`
	Log      *string      `json:"log"`
	Login    *loginJSON   `json:"login"` // null: there is none, and nothing has asked for one
}

type loginJSON struct {
	Needed bool       `json:"needed"` // the server is of no use without another login
	Why    *string    `json:"why"`    // the last one does not work
	EndsAt *time.Time `json:"ends_at"`
}

type leftJSON struct {
	Tool string `json:"tool"`
	Why  string `json:"why"`
}

func toServerJSON(s mcpadmin.State) serverJSON {
	j := serverJSON{
		Name: s.Entry.Name, State: stateOf(s), Command: command.Optional(s.Entry.Command), Args: command.EmptyIfNil(s.Entry.Args), URL: command.Optional(s.Entry.URL),
		Tools: []string{}, LeftOut: []leftJSON{}, Changes: command.EmptyIfNil(s.Pin.Changes()), Agents: command.EmptyIfNil(s.Agents),
		Trust: s.Entry.Trust, Taint: s.Entry.Taint, Network: s.Entry.Network == "on" || s.Entry.IsRemote(),
		Says: command.Optional(s.Pin.Says), AgreedAt: command.JSONTime(s.Pin.At), Trouble: command.Optional(s.Pin.Failure),
	}
	if !s.Entry.IsRemote() {
		j.Log = command.Optional(s.Log)
	}
	if s.Login.There || s.Login.Needed {
		j.Login = &loginJSON{s.Login.Needed, command.Optional(s.Login.Why), command.JSONTime(s.Login.Ends)}
	}
	for _, t := range s.Pin.Tools {
		j.Tools = append(j.Tools, mcp.ToolName(s.Entry.Name, t.Name))
	}
	for _, l := range s.Pin.LeftOut {
		j.LeftOut = append(j.LeftOut, leftJSON{l.Name, l.Why})
	}
	return j
}

// loginLine says how a login stands, or what to do about it; "" if there is nothing to
// say.
func loginLine(s mcpadmin.State, now time.Time) string {
	switch l := s.Login; {
	case l.Needed && l.Why != "":
		return "needs login: fika mcp login " + s.Entry.Name + " (" + l.Why + ")"
	case l.Needed:
		return "needs login: fika mcp login " + s.Entry.Name
	case !l.There:
		return ""
	case l.Ends.IsZero():
		return "logged in"
	default:
		return "login ends in " + term.Duration(l.Ends.Sub(now))
	}
}

// stateOf returns the state of a server in one word, as far as it is known without
// asking the server.
func stateOf(s mcpadmin.State) string {
	switch {
	case s.Entry.Disabled:
		return "disabled"
	case s.Login.Needed:
		return "needs login"
	case len(s.Pin.Changes()) > 0:
		return "changed"
	case s.Pin.Failure != "":
		return "failed"
	case !s.Pin.WasAsked():
		return "new"
	}
	return "ok"
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the MCP servers in the config", Args: command.Exactly(0, "no arguments"),
		Long: `Lists the servers that [[mcp]] names, with what is known about them, and starts
none. "new" was never asked for its tools, "changed" now reports something other
than what you agreed to, "failed" could not be asked: fika mcp check asks.
"needs login" wants a person to log in: fika mcp login.`,
		Example: "  fika mcp list\n  fika mcp list --json | jq -r '.tools[]'",
		RunE: func(*cobra.Command, []string) error {
			return with(e, func(s *mcpadmin.Servers) error {
				list := s.List()
				list = command.AtMost(list, limit)
				if asJSON {
					return command.PrintLines(e, list, toServerJSON)
				}
				if len(list) == 0 {
					e.Say("no MCP servers (fika mcp install NAME COMMAND, or fika mcp import FILE)")
					return nil
				}
				for _, one := range list {
					if line := loginLine(one, e.Now()); line != "" && line != "logged in" {
						defer e.Say("%s: %s", one.Entry.Name, term.CleanLine(line))
					}
				}
				return e.Table([]string{"SERVER", "STATE", "TOOLS", "AGENTS", "RUNS"}, command.TableRows(list, func(s mcpadmin.State) []string {
					return []string{s.Entry.Name, stateOf(s), strconv.Itoa(len(s.Pin.Tools)), command.OrDash(strings.Join(s.Agents, " ")), term.CleanLine(s.Line)}
				}))
			})
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}
