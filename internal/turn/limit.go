package turn

import (
	"context"
	"math"
	"slices"

	"fika"
	"fika/internal/limit"
	"fika/internal/store"
)

// checkLimits looks between two steps whether the turn may go on for what it costs:
// a chain at its limit ends it, an hour that its agent has used up makes it
// wait. A person at a terminal is told instead of being made to wait.
func (w *attempt) checkLimits(ctx context.Context) error {
	l := w.cfg.Limits.Of(w.claimed.Conversation.Limits)
	if w.round == 0 || l.MaxTokens <= 0 && l.MaxCost <= 0 && l.MaxAge <= 0 && l.HourTokens <= 0 {
		return nil
	}
	var x store.Exceeded
	err := w.read(ctx, func(ctx context.Context) (err error) {
		x, err = w.cfg.Store.Exceeded(ctx, w.fence, w.cfg.Limits)
		return err
	})
	switch {
	case err != nil:
		return err
	case x.Chain != "":
		return &ending{state: fika.RequestFailed, kind: fika.Limit, reason: x.Reason, limit: x.Chain}
	case x.Until.IsZero():
		return nil
	case w.claimed.Request.Origin == fika.Foreground:
		return &ending{state: fika.RequestFailed, kind: fika.Limit, reason: x.Reason}
	}
	err = w.persist(ctx, func(ctx context.Context) error { return w.cfg.Store.Suspend(ctx, w.fence, fika.WaitLimit, x.Until) })
	if err != nil {
		return err
	}
	return &released{Result{State: fika.Waiting, Reason: x.Reason}}
}

// echoes reports whether a final text would only go on an exchange in which
// this agent and the one it mentions repeat themselves. The window, which is
// at hand, mostly shows that it does not.
func (w *attempt) echoes(ctx context.Context, text string, notify []fika.AgentName) (bool, error) {
	r := w.claimed.Request
	most := w.cfg.Limits.Of(w.claimed.Conversation.Limits).MaxEcho
	// Each message of such an exchange is one deeper than the one before.
	if most <= 0 || len(notify) != 1 || r.Depth+1 < most {
		return false, nil
	}
	last := limit.Said{By: string(w.claimed.Agent.Name), Text: text}
	if said, enough := w.exchange(w.seen, most-1); enough && !limit.Repeats(append(said, last)) {
		return false, nil
	}
	// Somebody may have said something since.
	var all []fika.Entry // newest first
	for upto := int64(math.MaxInt64); ; upto = all[len(all)-1].Seq - 1 {
		var page []fika.Entry
		err := w.read(ctx, func(ctx context.Context) (err error) {
			page, err = w.cfg.Store.Before(ctx, w.claimed.Conversation.ID, upto, laterPage)
			return err
		})
		if err != nil {
			return false, err
		}
		all = append(all, page...)
		said, enough := w.exchange(reversed(all), most-1)
		if enough || len(page) < laterPage {
			return enough && said[len(said)-1].By == string(notify[0]) && limit.Repeats(append(said, last)), nil
		}
	}
}

func reversed(list []fika.Entry) []fika.Entry {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

// exchange takes the last n messages of this turn's chain from entries, oldest
// first. It has enough when it found as many, or one that is not of the chain:
// a person's word, or another chain's, begins something new.
func (w *attempt) exchange(entries []fika.Entry, n int) (said []limit.Said, enough bool) {
	for _, e := range slices.Backward(entries) {
		if e.Type != fika.Message || e.Request == w.fence.Request || e.Meta.Writer == fika.ByAgent && !e.Meta.Final {
			continue
		}
		said = append(said, limit.Said{By: e.Meta.WriterName, Text: e.Content})
		if e.Chain != w.claimed.Request.Chain || e.Meta.Writer != fika.ByAgent {
			said[len(said)-1].By = "" // nobody of the two
			break
		}
		if len(said) == n {
			break
		}
	}
	slices.Reverse(said)
	return said, len(said) > 0 && (len(said) == n || said[0].By == "")
}
