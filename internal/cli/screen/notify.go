package screen

import (
	"fmt"
	"strings"
	"time"

	"fika/internal/cli/command"
	"fika/internal/system/term"
)

// worthTelling is how long work must take for its end to be announced to a person who
// may look elsewhere.
const worthTelling = 10 * time.Second

// notifier decides what a terminal is told for a person who looks elsewhere: a
// title that says who is at work, and a notice when work of some length is done
// or approvals wait.
type notifier struct {
	place string // in the title
	since time.Time
	who   []string // who was last at work
	asked int
}

// noticeAt returns what to tell, given who is at work and how many questions wait now.
func (n *notifier) noticeAt(busy []string, asked int, now time.Time) (title, notice string) {
	title = "fika " + n.place
	switch {
	case asked > 0:
		title += ": waits for you"
	case len(busy) > 0:
		title += ": " + strings.Join(busy, ", ")
	}
	if asked > n.asked {
		notice = fmt.Sprintf("%s: %s waits for you", n.place, command.Plural(asked, "approval"))
	}
	n.asked = asked
	switch {
	case len(busy) > 0 && n.since.IsZero():
		n.since, n.who = now, busy
	case len(busy) > 0:
		n.who = busy
	case !n.since.IsZero():
		if now.Sub(n.since) >= worthTelling && asked == 0 {
			notice = fmt.Sprintf("%s: done (%s)", n.place, strings.Join(n.who, ", "))
		}
		n.since, n.who = time.Time{}, nil
	}
	return term.CleanLine(title), term.CleanLine(notice)
}
