package command

import (
	"fmt"
	"strings"

	"fika"
	"fika/internal/system/term"
)

// ModelsUsed says in one line which models an agent's turn called, how often and
// why; "" if there is nothing to say.
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
