package command

import (
	"fmt"
	"strings"

	"fika"
	"fika/internal/term"
)

// ModelsUsed tells which of its models an agent's turn has asked, how often and
// why, in one line; empty: there is nothing to tell.
func ModelsUsed(list []fika.ModelUsed) string {
	var parts []string
	for _, m := range list {
		part := fmt.Sprintf("%s ×%d", m.Model, m.Calls)
		if m.Why != "" {
			part += " (" + m.Why + ")"
		}
		parts = append(parts, part)
	}
	return term.CleanLine(strings.Join(parts, ", then "))
}
