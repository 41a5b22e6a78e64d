package store

import (
	"context"

	"fika"
)

// pushedOnce bounds how many offers say of one push what became of it.
const pushedOnce = 50

// SaidYes returns the person who has said yes to a command that runs after a push; empty:
// nobody has.
func (s Offers) SaidYes(ctx context.Context, command string) (by string, err error) {
	by, _, err = one(ctx, s.r, scanText, `SELECT o.after_by FROM offers o WHERE o.after_ok = ? AND o.after_ok <> '' ORDER BY o.n LIMIT 1`, command)
	return by, s.explain("read offer", err)
}

// ChangePush stores what fn makes of the pushes of offers that are as they were read, all or
// none; nothing else of an offer is stored. It fails with Conflict if one was changed
// meanwhile.
func (s Offers) ChangePush(ctx context.Context, was []fika.Offer, fn func(*fika.Offer)) ([]fika.Offer, error) {
	const op = "change push"
	var out []fika.Offer
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		o := offersIn(t)
		out, err = o.change(ctx, op, was, fn, o.savePush)
		return err
	})
	return out, err
}

// savePush stores the push of an offer that was read as its version, and adds an event.
func (t offerRows) savePush(ctx context.Context, o *fika.Offer) error {
	if o.State != fika.OfferLanded {
		return errOfferChanged("change push", *o)
	}
	o.Push.Reason, o.Push.Output = clip(o.Push.Reason, maxTaskLine), clip(o.Push.Output, maxOfferOutput)
	text, err := toJSON("store push", o.Push)
	if err != nil {
		return err
	}
	said := ""
	if o.Push.By != "" {
		said = o.Push.Command
	}
	o.UpdatedAt = at(t.now)
	n, err := t.exec(ctx, `UPDATE offers SET push_state = ?, push = ?, after_ok = CASE WHEN ? <> '' THEN ? ELSE after_ok END, after_by = CASE WHEN ? <> '' THEN ? ELSE after_by END, version = version + 1, updated_at = ? WHERE n = ? AND version = ?`,
		o.Push.State, text, said, said, said, o.Push.By, t.now, o.Number, o.Version)
	if err == nil && n == 0 {
		err = errAgain
	}
	o.Version++
	t.tell(event{kind: OfferEvent, seq: int64(o.Number), state: "push"})
	return err
}
