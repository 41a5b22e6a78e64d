package store

import (
	"context"
	"fmt"

	"fika"
	"fika/internal/text/hint"
)

// Recovery reports what [Queue.Recover] did.
type Recovery struct {
	Claimed     []Claimed
	Orphans     []fika.Step
	Interrupted []fika.RequestID
	Dead        []fika.RequestID
}

// maxStarts is how often a request is started without finishing a step before it is
// given up.
const maxStarts = 3

// Recover takes over the running requests of earlier owners: queued ones are claimed
// again (attempts grow; after three starts without progress the request is dead),
// foreground ones end as interrupted, and cancelled ones are ended. Orphans are the
// started steps whose process groups must be ended before anything else. Recover
// fails with Lost if the lease is gone.
func (s Queue) Recover(ctx context.Context, l Lease) (Recovery, error) {
	const op = "recover"
	var out Recovery
	err := s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		out = Recovery{}
		a, err := t.leased(ctx, op, l)
		if err != nil {
			return err
		}
		// A foreground request ends with its process, whatever state it was in.
		left, err := many(ctx, t, scanTurn, selectTurn+` WHERE r.agent = ? AND r.finished_at = 0 AND (r.owner_epoch <> ? OR r.owner_lease <> ?)
AND (r.state = 'running' OR r.origin = 'foreground') ORDER BY r.n`, l.Agent, l.Epoch, l.ID)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			t.discard = true
			return nil
		}
		k := claim{tx: t, agent: a}
		for _, r := range left {
			if err := k.recover(ctx, r, &out); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// recover decides about one request that nobody is working any more.
func (k *claim) recover(ctx context.Context, r turn, out *Recovery) error {
	// Ending an earlier request may have ended this one, too.
	r, err := k.lockTurn(ctx, r.id)
	if err != nil || r.state.Terminal() {
		return err
	}
	started, err := many(ctx, k.tx, scanStep, `SELECT `+stepColumns+` FROM steps s WHERE s.request = ? AND s.state = 'started'
AND NOT EXISTS (SELECT 1 FROM executions x WHERE x.request = s.request AND x.n = s.n) ORDER BY s.n`, r.id)
	if err != nil {
		return err
	}
	out.Orphans = append(out.Orphans, started...)
	switch {
	case r.cancelAt > 0:
		_, err = k.end(ctx, r, ending{state: fika.Cancelled, reason: r.reason, outcome: fika.Outcome{ErrorKind: fika.Interrupted}})
	case r.origin == fika.Foreground:
		out.Interrupted = append(out.Interrupted, r.id)
		_, err = k.end(ctx, r, ending{
			state: fika.StateInterrupted, reason: "its process ended",
			notice:  fmt.Sprintf("the last run was interrupted before its answer; %s continues from here", hint.RunContinueIn.With(r.agentName)),
			outcome: fika.Outcome{ErrorKind: fika.Interrupted},
		})
	case r.attempts >= maxStarts:
		out.Dead = append(out.Dead, r.id)
		_, err = k.end(ctx, r, ending{
			state: fika.Dead, reason: fmt.Sprintf("%d starts without progress", r.attempts),
			notice:  fmt.Sprintf("%s was started %d times and ended each time before a step was done, so this request is given up; %s tries again", r.agentName, r.attempts, hint.RequestRetry.With(r.id)),
			outcome: fika.Outcome{ErrorKind: fika.Failed},
		})
	default:
		var c *Claimed
		if c, err = k.take(ctx, r.id); err == nil && c != nil {
			out.Claimed = append(out.Claimed, *c)
		}
	}
	return err
}
