package command

import (
	"encoding/json"
	"strings"

	"fika/internal/term"
)

// ShownCall is a tool call in full: of bash the command, else the arguments.
func ShownCall(tool, args string) string {
	var bash struct {
		Command string `json:"command"`
	}
	if tool == "bash" && json.Unmarshal([]byte(args), &bash) == nil && bash.Command != "" {
		return "bash: " + term.Visible(bash.Command)
	}
	return term.Visible(tool + " " + args)
}

// Indented sets each line of a text off.
func Indented(s string) string { return "     " + strings.ReplaceAll(s, "\n", "\n     ") }

// PersonName is what the person who answers is called.
func PersonName(e *Env) string {
	if c, err := e.App().Config(); err == nil && c.Username != "" {
		return c.Username
	}
	return "user"
}
