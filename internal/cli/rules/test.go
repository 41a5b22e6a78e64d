package rules

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/rights/guard"
	"fika/internal/settings/folder"
	"fika/internal/system/term"
)

type ruleTestJSON struct {
	Do    string `json:"do"`
	What  string `json:"what"`
	Rule  string `json:"rule"`
	Why   string `json:"why"`
	Agent string `json:"agent"`
}

func newTest(e *command.Env) *cobra.Command {
	var asJSON, tainted bool
	var tool string
	c := &cobra.Command{
		Use: "test AGENT CALL", Short: "show what happens to a call, and which rule decides it",
		Long:    "CALL is a bash command or, with --tool, the arguments of that tool as JSON.\nNothing is run.",
		Example: "  fika rules test coder 'git push origin main'\n  fika rules test coder --tainted --tool fetch '{\"url\": \"https://example.org\"}'\n  fika rules test coder --tool fetch '{\"url\": \"https://example.org\"}'",
		Args:    command.Exactly(2, "an agent and a command"), ValidArgsFunction: complete.FirstOnly(complete.AgentNames(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			if err := e.App().CheckName(name); err != nil && name != folder.DefaultContext { // which is made when it is first used
				return err
			}
			s, err := e.App().PlainSettings(name)
			if err != nil {
				return err
			}
			call := guard.Call{Tool: tool, Workspace: s.WorkspaceOr(e.App().Dir()), Home: e.Getenv("HOME")}
			raw := []byte(args[1])
			if tool == "bash" {
				raw, _ = json.Marshal(map[string]string{"command": args[1]})
			}
			if !json.Valid(raw) {
				return command.UsageError("the arguments of %s are not JSON: %s", tool, args[1])
			}
			call.Read(raw)
			d := guard.Decide(call, s.Guard.Rules, guard.Facts{Default: guard.Action(s.Guard.Default), Writes: guard.Action(s.Guard.Default), Tainted: tainted})
			if tainted {
				d = guard.Policy{Rights: s.Guard.Rights, Taint: s.Guard.Taint}.Tighten(call, d, nil)
			}
			out := ruleTestJSON{Do: string(d.Do), What: d.What, Rule: "[guard] default", Agent: string(name)}
			switch {
			case d.Why != "":
				out.Rule, out.Why = "[guard] tainted", d.Why
			case d.Rule != nil:
				out.Rule, out.Why = d.Rule.Where, d.Rule.Why
			}
			if d.Unknown {
				out.Why = strings.TrimPrefix(out.Why+fmt.Sprintf("; it is about %q, and what this runs cannot be known", d.Rule.Match), "; ")
			}
			if asJSON {
				return e.PrintJSON(out)
			}
			line := fmt.Sprintf("%s  %s  %s", out.Do, term.CleanLine(out.What), out.Rule)
			if out.Why != "" {
				line += ": " + term.CleanLine(out.Why)
			}
			return e.Println(line)
		},
	}
	c.Flags().BoolVar(&tainted, "tainted", false, "assume a turn that has read text from outside")
	c.Flags().StringVar(&tool, "tool", "bash", "the tool of the call")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
