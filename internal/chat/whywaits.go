package chat

import (
	"fmt"
	"time"

	"fika"
)

// Hindrance says why an agent has not begun work that it could take.
type Hindrance struct {
	Place Place
	Why   string // a single word, for programs
	Text  string // the same, for people, with the command that helps
	Until time.Time
	Stuck bool // it does not go away by itself
}

// whyNoHub is [Hindrance.Why] if no hub runs that would start the agent.
const whyNoHub = "no_hub"

// WhyWaits returns what keeps an agent from beginning its work; the first hindrance
// is the one best removed first. This is the one place that words it, so that the
// queue, ask, task, send and the master say the same.
func WhyWaits(a fika.Agent, p Presence) Hindrance {
	stuck := func(why, format string, args ...any) Hindrance {
		return Hindrance{Place: PlaceHeld, Why: why, Text: fmt.Sprintf(format, args...), Stuck: true}
	}
	switch {
	case a.Desired.Stopped():
		return stuck("stopped", "@%s was stopped by hand (fika agent start %s)", a.Name, a.Name)
	case p.Failed != "":
		return stuck("failed", "@%s cannot work: %s", a.Name, p.Failed)
	case p.Rests != "":
		return Hindrance{Place: PlaceHeld, Why: "limit", Text: fmt.Sprintf("@%s has used up its hour: %s", a.Name, p.Rests), Until: p.Until}
	case p.Alive:
		return Hindrance{Place: PlaceWaiting, Why: "next", Text: fmt.Sprintf("@%s comes to it next", a.Name)}
	case p.InUse:
		return Hindrance{Place: PlaceHeld, Why: "in_use", Text: fmt.Sprintf("a prompt on a terminal has the context of @%s", a.Name)}
	case !p.Wakes:
		return stuck("absent", "@%s has no process and is not started by itself (fika agent run %s)", a.Name, a.Name)
	case !p.Hub:
		return stuck(whyNoHub, "@%s has no process, and no hub runs that would start it (fika up)", a.Name)
	}
	return Hindrance{Place: PlaceWaiting, Why: "starting", Text: fmt.Sprintf("@%s is being started", a.Name)}
}
