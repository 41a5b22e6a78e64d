package turn

import (
	"strings"

	"fika"
	"fika/internal/store"
)

// promptText returns what a guest is prompted with: a new session gets the whole window
// and what the agent is told besides, a known one what it does not know yet.
func (g *guestTurn) promptText(entries []fika.Entry, kept store.GuestSession, last string) string {
	known := kept.Session != ""
	seen, goesOn := kept.Seen, false
	if known && !kept.Settled && last != "" && digestOf(last) == kept.Prompt {
		seen, goesOn = kept.Upto, true
	}
	g.composer.names = g.composer.ownNames(entries)
	g.composer.asked = g.composer.answeredMessages(entries)
	var parts []string
	if !known {
		parts = append(parts, g.briefing.prompt.SystemText(nil), g.window.summary())
	}
	said := 0
	for _, e := range entries {
		if e.Type != fika.Message || known && e.Seq <= seen {
			continue
		}
		own := g.composer.isOwn(e)
		switch {
		case !own:
			parts = append(parts, g.composer.othersMessage(e).Text)
			said++
		case !known:
			parts = append(parts, underName("[you] ", e.Content))
		}
	}
	switch {
	case goesOn:
		parts = append(parts, "(You were interrupted; go on.)")
	case said == 0 || g.claimed.Request.Payload.Continue:
		parts = append(parts, "(go on from where you stopped)")
	}
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}
