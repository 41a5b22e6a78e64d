package service

import (
	"context"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// retryPush pushes what has landed again, without waiting for its time, runs the command that
// failed after it again, or says yes to that command: accept is the command then, as it was
// shown. What was pushed together is tried together: the offer that landed last tells of it.
// A person alone says yes. Error kinds: Conflict if there is nothing to do; NotFound for
// another command than asked about; Denied.
func (o *Offers) retryPush(ctx context.Context, before fika.Offer, accept []string) (fika.Offer, error) {
	n := before.Number
	list, err := o.landed(ctx, before)
	switch {
	case err != nil:
		return before, err
	case before.Unpushed() == "":
		return before, fika.Errorf(fika.Conflict, "", "offer %d is %s", n, before.State)
	case o.c.config().Landing.Mode != config.PushRemote:
		return before, fika.Errorf(fika.Conflict, "", "offer %d has landed, and nothing is pushed: mode in [landing] says so", n)
	case len(list) > 0 && list[0].Number != n: // they are pushed together, and that one tells
		before = list[0]
		if n = before.Number; before.Unpushed() == "" {
			return before, fika.Errorf(fika.Conflict, "", "offer %d, which landed later, is on its way, and all before it with it", n)
		}
	}
	asks := before.Push.After == fika.AfterAsks
	for _, command := range accept {
		switch {
		case !asks || command != before.Push.Command:
			return before, fika.Errorf(fika.NotFound, "", "offer %d does not ask about %q", n, command)
		case o.c.who.Kind != api.Person:
			return before, fika.Errorf(fika.Denied, "", "a person alone says yes to a command that runs after each push")
		}
	}
	if asks && len(accept) == 0 {
		return before, fika.WithHint(fika.Errorf(fika.Conflict, "", "offer %d waits for your yes to %q", n, before.Push.Command), hint.LandShow.With(n))
	}
	return once(ctx, o.c, "offer.retry", []any{n, accept}, func(to *store.Store) (fika.Offer, error) {
		out, err := to.ChangePush(ctx, []fika.Offer{before}, func(f *fika.Offer) {
			switch {
			case asks:
				f.Push.After, f.Push.By = fika.AfterNone, o.c.config().Username
			case f.Push.State == fika.PushWaiting:
				f.Push.Next, f.Push.Tries = time.Time{}, 0
			default:
				f.Push.State, f.Push.After, f.Push.Reason, f.Push.Output = fika.PushPushed, fika.AfterNone, "", ""
			}
		})
		if err != nil {
			return before, err
		}
		return out[0], nil
	}, func(*store.Repeated) (fika.Offer, error) { return o.c.store.Offer(ctx, n) })
}
