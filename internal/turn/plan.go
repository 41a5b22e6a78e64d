package turn

import (
	"strings"

	"fika"
)

// hasPlan reports whether an answer has a plan: a heading, or a line in its place, that says
// so.
func hasPlan(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		heading := strings.HasPrefix(line, "#") || strings.HasPrefix(line, "**") || strings.HasSuffix(line, ":")
		if heading && strings.EqualFold(strings.Trim(line, "#*_: "), "plan") {
			return true
		}
	}
	return false
}

// planForGuest ends a turn of a guest in plan mode: its calls are its own, and nothing holds
// them to looking.
func planForGuest() *ending {
	return &ending{state: fika.RequestFailed, kind: fika.Denied, reason: "plan mode: another agent program makes its own calls, which cannot be held to looking; it works in another mode"}
}
