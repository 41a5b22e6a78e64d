package turn

import (
	"context"
	"math"
	"slices"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

// echoCheck detects two agents who only repeat themselves.
type echoCheck struct {
	*assignment
	window  *window
	history History
	limits  store.Limits
}

// onlyRepeats reports whether a final text would only continue an exchange in which this
// agent and the one it mentions repeat themselves. Usually the window, which is already
// in memory, is enough to show that it would not.
func (c *echoCheck) onlyRepeats(ctx context.Context, text string, notify []fika.AgentName) (bool, error) {
	r := c.claimed.Request
	most := c.limits.HoldingIn(c.claimed.Conversation.Limits).MaxEcho
	// Each message of such an exchange is one deeper than the one before.
	if most <= 0 || len(notify) != 1 || r.Depth+1 < most {
		return false, nil
	}
	last := limit.Said{By: string(c.claimed.Agent.Name), Text: text}
	if said, enough := c.lastExchange(c.window.seen, most-1); enough && !limit.OnlyRepeats(append(said, last)) {
		return false, nil
	}
	// The window may be out of date: somebody may have said something since.
	var all []fika.Entry // newest first
	for upto := int64(math.MaxInt64); ; upto = all[len(all)-1].Seq - 1 {
		var page []fika.Entry
		err := c.retry.readAgain(ctx, func(ctx context.Context) (err error) {
			page, err = c.history.Before(ctx, c.claimed.Conversation.ID, upto, laterPage)
			return err
		})
		if err != nil {
			return false, err
		}
		all = append(all, page...)
		said, enough := c.lastExchange(reverseCopy(all), most-1)
		if enough || len(page) < laterPage {
			return enough && said[len(said)-1].By == string(notify[0]) && limit.OnlyRepeats(append(said, last)), nil
		}
	}
}

// lastExchange returns the last n messages of this turn's chain in entries, oldest
// first. It reports enough when it found n of them, or a message that is not of the
// chain: a person's word, or another chain's, begins something new.
func (c *echoCheck) lastExchange(entries []fika.Entry, n int) (said []limit.Said, enough bool) {
	for _, e := range slices.Backward(entries) {
		if e.Type != fika.Message || e.Request == c.fence.Request || e.Meta.Writer == fika.ByAgent && !e.Meta.Final {
			continue
		}
		said = append(said, limit.Said{By: e.Meta.WriterName, Text: e.Content})
		if e.Chain != c.claimed.Request.Chain || e.Meta.Writer != fika.ByAgent {
			said[len(said)-1].By = "" // neither of the two
			break
		}
		if len(said) == n {
			break
		}
	}
	slices.Reverse(said)
	return said, len(said) > 0 && (len(said) == n || said[0].By == "")
}

func reverseCopy(list []fika.Entry) []fika.Entry {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}
