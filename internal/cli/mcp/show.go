package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/extension/mcp"
	"fika/internal/system/term"
)

type shownJSON struct {
	serverJSON
	Described []toolJSON `json:"described"`
}

type toolJSON struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Effect      string          `json:"effect"` // as the server says
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "show a server and its tools, as agents see them", Example: "  fika mcp show files\n  fika mcp show files --json | jq .described",
		Args: command.Exactly(1, "the name of a server"), ValidArgsFunction: complete.FirstOnly(names(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			return with(e, func(s *mcpadmin.Servers) error {
				state, err := s.Find(args[0])
				if err != nil {
					return err
				}
				if asJSON {
					j := shownJSON{toServerJSON(state), []toolJSON{}}
					for _, t := range state.Pin.Tools {
						j.Described = append(j.Described, toolJSON{mcp.ToolName(state.Entry.Name, t.Name), t.Description, t.Parameters, t.Effect()})
					}
					return e.PrintJSON(j)
				}
				return e.Print(describe(state, e.Now()))
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// describe returns the text about a server that a person reads.
func describe(s mcpadmin.State, now time.Time) string {
	var b strings.Builder
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-8s %s\n", name, term.CleanLine(text))
		}
	}
	row("server", s.Entry.Name)
	row("state", stateOf(s))
	row("runs", s.Line)
	row("says", s.Pin.Says)
	row("login", loginLine(s, now))
	if !s.Login.Needed {
		row("trouble", s.Pin.Failure)
	}
	row("agents", strings.Join(s.Agents, " "))
	if !s.Entry.IsRemote() {
		row("log", s.Log)
	}
	for _, t := range s.Pin.Tools {
		b.WriteString(describeTool(s.Entry.Name, t))
	}
	for _, l := range s.Pin.LeftOut {
		fmt.Fprintf(&b, "  left out: %s: %s\n", term.CleanLine(l.Name), term.CleanLine(l.Why))
	}
	for _, c := range s.Pin.Changes() {
		fmt.Fprintf(&b, "  %s\n", changeLine(c))
	}
	return b.String()
}

// describeTool returns all that models are told about a tool.
func describeTool(server string, t mcp.Tool) string {
	var b strings.Builder
	for i, line := range strings.Split(t.Description, "\n") {
		if i == 0 {
			line = mcp.ToolName(server, t.Name) + ": " + line
		} else {
			line = "  " + line
		}
		fmt.Fprintf(&b, "  %s\n", term.CleanLine(line))
	}
	var params bytes.Buffer
	if json.Compact(&params, t.Parameters) == nil {
		fmt.Fprintf(&b, "    parameters: %s\n", term.CleanLine(params.String()))
	}
	return b.String()
}

// changeLine returns one change as people read it.
func changeLine(c mcp.Change) string {
	line := "changed: " + term.CleanLine(c.Tool) + ": " + c.What
	if c.Was != "" {
		line += "\n    - " + term.CleanLine(c.Was)
	}
	if c.Is != "" {
		line += "\n    + " + term.CleanLine(c.Is)
	}
	return line
}
