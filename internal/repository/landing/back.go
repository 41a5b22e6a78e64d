package landing

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/store"
)

// back sends back what does not land as it is: to the agent that has offered it, as long as
// it has rounds left, and to a person otherwise. help says how its agent goes on; "": that
// goes without saying.
func (q *Queue) back(ctx context.Context, o fika.Offer, set Settings, why, output, help string) error {
	switch {
	case o.Request == "":
		return q.end(ctx, o, fika.OfferBack, why, output)
	case o.Round >= set.Rounds:
		return q.end(ctx, o, fika.OfferHeld, fmt.Sprintf("%s, after it came back %d times (max_rounds)", why, o.Round), output)
	}
	_, err := q.o.Store.ReturnOffer(ctx, o, store.Returned{Reason: why, Output: output, Base: o.Base, Text: message(o, set, why, output, help)})
	if fika.IsKind(err, fika.NotFound) {
		return q.end(ctx, o, fika.OfferHeld, why+", and its agent is gone", output)
	}
	return err
}

// maxShown bounds how much of an output an agent is shown, in bytes.
const maxShown = 12 << 10

// message is what an agent is shown of an offer that comes back. The output is indented, so
// that it cannot pass for what is said around it.
func message(o fika.Offer, set Settings, why, output, help string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your offer %d for %s has come back, for the %s of at most %d times: %s.\n", o.Number, o.Into, ordinal(o.Round+1), set.Rounds, why)
	if o.Base != "" {
		fmt.Fprintf(&b, "It was tried on top of commit %.12s of %s.\n", o.Base, o.Into)
	}
	if output = strings.TrimSpace(output); output != "" {
		if len(output) > maxShown {
			output = "… " + strings.ToValidUTF8(output[len(output)-maxShown:], "")
		}
		b.WriteString("\n    " + strings.NewReplacer("\r\n", "\n    ", "\n", "\n    ", "\r", "\n    ").Replace(output) + "\n\n")
	}
	b.WriteString(help + "Change what is wrong in your worktree, check it with: " + set.Check + "\nThen call the tool offer again. If it cannot be done, say why: a person decides then.\n")
	return b.String()
}

func ordinal(n int) string {
	switch n {
	case 1:
		return "1st"
	case 2:
		return "2nd"
	case 3:
		return "3rd"
	}
	return fmt.Sprintf("%dth", n)
}

// merging says how an agent gets what it conflicts with.
func merging(base string) string {
	return "In your worktree, git merge " + base + " brings the conflicts into your files; resolve them there.\n"
}

// abandoned says why an offer that came back waits for a person.
func abandoned(a store.Abandoned) string {
	switch a.Ended {
	case "":
		return a.Reason + ", and the conversation in which @" + string(a.Agent) + " worked on it was deleted"
	case fika.Done:
		return a.Reason + ", and @" + string(a.Agent) + " has not offered it again"
	}
	why := ""
	if a.Why != "" {
		why = ": " + a.Why
	}
	return fmt.Sprintf("%s, and the turn of @%s that worked on it is %s%s (request %s)", a.Reason, a.Agent, a.Ended, why, a.Rework)
}
