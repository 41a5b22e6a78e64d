package changes

import (
	"fmt"

	"fika/internal/service"
)

// RewoundLines says what a rewind did.
func RewoundLines(r service.Rewound, l Look) []string {
	out := []string{r.Entry.Content}
	if n := len(r.Requests); n > 0 {
		out = append(out, fmt.Sprintf("cancelled: %d requests", n))
	}
	for _, x := range r.Undone {
		out = append(out, OutcomeLines(x, l)...)
	}
	for _, x := range r.Commands {
		out = append(out, fmt.Sprintf("commands of @%s ran in request %s; what they changed stays", x.Turn.Agent, ShortID(x.Turn.Request)))
	}
	return out
}
