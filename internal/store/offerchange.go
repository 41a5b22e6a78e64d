package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"fika"
)

// maxOfferOutput bounds what is kept of the output of a check, in bytes.
const maxOfferOutput = 32 << 10

// offerRows writes offers.
type offerRows struct{ *tx }

func offersIn(t *tx) offerRows { return offerRows{t} }

// queued returns the offer of a commit for a branch that has not ended; 0: there is none.
func (t offerRows) queued(ctx context.Context, o fika.Offer) (fika.OfferNumber, error) {
	n, _, err := one(ctx, t, scanInt, `SELECT o.n FROM offers o WHERE o.ended_at = 0 AND o.tip = ? AND o.target = ?`, o.Tip, o.Into)
	return fika.OfferNumber(n), err
}

func errQueued(op string, n fika.OfferNumber) error {
	return fika.Errorf(fika.Conflict, op, "this commit is in the queue already: offer %d", n)
}

// insert stores a new offer, whose number and times it fills in.
func (t offerRows) insert(ctx context.Context, o *fika.Offer) error {
	last, _, err := one(ctx, t, scanInt, `SELECT COALESCE(max(n), 0) FROM offers`)
	if err != nil {
		return err
	}
	o.Number, o.CreatedAt = fika.OfferNumber(last)+1, at(t.now)
	if err := t.put(ctx, `INSERT INTO offers (n, target, created_by, created_at, task, source, tip, state, version, updated_at) VALUES (?, ?, ?, ?, ?, '', '', '', 0, 0)`,
		o.Number, o.Into, o.By, t.now, o.Task); err != nil {
		return err
	}
	o.Version = 0
	return t.save(ctx, o)
}

// save stores an offer that was read as its version, and adds an event. An offer that ends
// moves its task. It begins the transaction again if the offer was changed meanwhile.
func (t offerRows) save(ctx context.Context, o *fika.Offer) error {
	const op = "store offer"
	if o.Task > 0 && o.State.Ended() { // before the offer is locked: see [boardRows.requestEnded]
		if err := boardIn(t.tx).offerEnds(ctx, *o); err != nil {
			return err
		}
	}
	asks, err := toJSON(op, append([]fika.PathRisk{}, o.Asks...))
	if err != nil {
		return err
	}
	accepted, err := toJSON(op, append([]string{}, o.Accepted...))
	if err != nil {
		return err
	}
	reviews, err := toJSON(op, append([]fika.OfferReview{}, o.Reviews...))
	if err != nil {
		return err
	}
	rights, err := rightsJSON(op, o.Rights)
	if err != nil {
		return err
	}
	o.UpdatedAt = at(t.now)
	switch {
	case !o.State.Ended():
		o.EndedAt = time.Time{}
	case o.EndedAt.IsZero():
		o.EndedAt = at(t.now)
	}
	o.Title, o.Reason, o.Output = clip(o.Title, maxTaskLine), clip(o.Reason, maxTaskLine), clip(o.Output, maxOfferOutput)
	n, err := t.exec(ctx, `UPDATE offers SET source = ?, agent = ?, title = ?, tip = ?, state = ?, reason = ?, base = ?, old = ?, new = ?, output = ?, asks = ?, accepted = ?, checked_by = ?, checked_at = ?,
request = ?, chain = ?, depth = ?, rights = ?, taint = ?, round = ?, rework = ?, reviews = ?, host = ?, version = version + 1, updated_at = ?, ended_at = ? WHERE n = ? AND version = ?`,
		o.Source, o.Agent, o.Title, o.Tip, o.State, o.Reason, o.Base, o.Old, o.New, o.Output, asks, accepted, o.Check, ms(o.Checked),
		o.Request, o.Chain, o.Depth, rights, o.Taint, o.Round, o.Rework, reviews, o.Host, t.now, ms(o.EndedAt), o.Number, o.Version)
	if err == nil && n == 0 {
		err = errAgain
	}
	o.Version++
	t.tell(event{kind: OfferEvent, seq: int64(o.Number), state: string(o.State)})
	return err
}

// AddOffer adds an offer to the end of the queue: Number, State and times are filled in. It
// fails with Conflict if the same commit is in the queue for the same branch.
func (s Offers) AddOffer(ctx context.Context, o fika.Offer) (fika.Offer, error) {
	const op = "add offer"
	out := o
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = o
		if same, err := offersIn(t).queued(ctx, o); err != nil || same > 0 {
			return cmp.Or(err, errQueued(op, same))
		}
		out.State = fika.OfferWaiting
		return offersIn(t).insert(ctx, &out)
	})
	return out, err
}

// SubmitOffer adds what an agent offers in a request of its own: to the last offer from the
// same worktree for the same branch, unless that has landed, is about to or was cancelled, with the new commit in
// place of the old. held is why it waits for a person; empty: it does not. One that waited
// for a person because it came back too often goes on waiting. It fails with Conflict if
// nothing is new, and if a person has cancelled the offer on which the request works.
func (s Offers) SubmitOffer(ctx context.Context, o fika.Offer, held string) (fika.Offer, error) {
	const op = "submit offer"
	out := o
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out = o
		from, args := fromTree(o)
		last, found, err := one(ctx, t, scanOffer, selectOffer+` WHERE `+from+` AND o.request <> '' AND o.target = ? ORDER BY o.n DESC LIMIT 1`, append(args, o.Into)...)
		if err != nil {
			return err
		}
		state := fika.OfferWaiting
		if held != "" {
			state = fika.OfferHeld
		}
		if !found || last.State == fika.OfferLanded || last.State == fika.OfferMoving || last.State == fika.OfferCancelled && last.Request != o.Request && last.Rework != o.Request {
			if same, err := offersIn(t).queued(ctx, o); err != nil || same > 0 {
				return cmp.Or(err, errQueued(op, same))
			}
			out.State, out.Reason = state, held
			return offersIn(t).insert(ctx, &out)
		}
		switch {
		case last.State == fika.OfferCancelled:
			return fika.Errorf(fika.Conflict, op, "a person has cancelled offer %d: do not offer it again", last.Number)
		case last.Tip == o.Tip && (last.State == fika.OfferWaiting || last.State == fika.OfferReviewed || last.State == fika.OfferTrying):
			return errQueued(op, last.Number)
		case last.Tip == o.Tip && last.State == fika.OfferRework:
			return fika.Errorf(fika.Conflict, op, "nothing has changed since offer %d came back", last.Number)
		case last.Tip == o.Tip && last.State != fika.OfferRefused:
			return fika.Errorf(fika.Conflict, op, "offer %d of this commit waits for a person", last.Number)
		case last.State == fika.OfferHeld:
			state, held = last.State, cmp.Or(held, last.Reason)
		}
		if err := offersIn(t).endReviews(ctx, last, "was offered again"); err != nil {
			return err
		}
		out = last
		out.State, out.Reason, out.Base, out.New, out.Asks, out.Accepted, out.Rework = state, held, "", "", nil, nil, ""
		out.Source, out.Agent, out.Host = o.Source, o.Agent, o.Host
		out.Tip, out.Title, out.Request, out.Chain, out.Depth, out.Rights, out.Taint = o.Tip, o.Title, o.Request, o.Chain, o.Depth, o.Rights, o.Taint
		return offersIn(t).save(ctx, &out)
	})
	return out, err
}

// ChangeOffer stores what fn makes of an offer, and returns the offer as it then stands. If
// fn fails nothing is stored. An agent that works on an offer that is cancelled is asked to
// stop. It fails with NotFound.
func (s Offers) ChangeOffer(ctx context.Context, n fika.OfferNumber, fn func(*fika.Offer) error) (fika.Offer, error) {
	const op = "change offer"
	var out fika.Offer
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		if out, err = offer(ctx, t, n); err != nil {
			return err
		}
		was := out.State
		if err := fn(&out); err != nil {
			return err
		}
		if out.State == fika.OfferCancelled {
			out.State = was
			return offersIn(t).cancel(ctx, &out, out.Reason)
		}
		return offersIn(t).save(ctx, &out)
	})
	return out, err
}

// ChangeOffers stores what fn makes of offers that are as they were read, all or none. It
// fails with Conflict if one was changed meanwhile.
func (s Offers) ChangeOffers(ctx context.Context, was []fika.Offer, fn func(*fika.Offer)) ([]fika.Offer, error) {
	const op = "change offers"
	var out []fika.Offer
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		o := offersIn(t)
		out, err = o.change(ctx, op, was, fn, o.save)
		return err
	})
	return out, err
}

// change reads offers again, which must be as they were, has fn change each, and saves it.
func (t offerRows) change(ctx context.Context, op string, was []fika.Offer, fn func(*fika.Offer), save func(context.Context, *fika.Offer) error) (out []fika.Offer, err error) {
	for _, one := range was {
		o, err := offer(ctx, t.tx, one.Number)
		switch {
		case err != nil:
			return nil, err
		case o.Version != one.Version:
			return nil, errOfferChanged(op, o)
		}
		fn(&o)
		if err := save(ctx, &o); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// cancel ends an offer; an agent that works on it is asked to stop.
func (t offerRows) cancel(ctx context.Context, o *fika.Offer, why string) error {
	if o.State == fika.OfferRework {
		if err := t.tx.cancel(ctx, o.Rework, fmt.Sprintf("offer %d was cancelled", o.Number)); err != nil && !fika.IsKind(err, fika.NotFound) {
			return err
		}
	}
	if err := t.endReviews(ctx, *o, "was cancelled"); err != nil {
		return err
	}
	o.State, o.Reason = fika.OfferCancelled, why
	return t.save(ctx, o)
}

// Returned is how an offer comes back to its agent.
type Returned struct {
	Reason string
	Output string // of the check, or the lines in conflict
	Text   string // what the agent is shown
	Base   string // on which it was tried
}

// returner is the name under which agents are shown why an offer came back. It is no
// agent's and no person's: what it says is material.
const returner = "landing"

// ReturnOffer gives an offer that is as it was read back to the agent that has offered it,
// as a request in the conversation in which it did, or in its own if that is gone. It fails
// with Conflict if the offer was changed meanwhile, and with NotFound if the agent is gone.
func (s Offers) ReturnOffer(ctx context.Context, was fika.Offer, r Returned) (fika.Offer, error) {
	const op = "return offer"
	var out fika.Offer
	err := s.write(ctx, op, func(ctx context.Context, t *tx) (err error) {
		if out, err = offer(ctx, t, was.Number); err != nil {
			return err
		}
		if out.Version != was.Version {
			return errOfferChanged(op, out)
		}
		out.Round++
		n, c, err := offersIn(t).reworkOf(ctx, out)
		if err != nil {
			return err
		}
		if err := t.giveBack(ctx, n, c, out.Agent, r.Text, out.Taint); err != nil {
			return err
		}
		out.State, out.Reason, out.Output, out.Base, out.Rework = fika.OfferRework, r.Reason, r.Output, r.Base, n.ID
		return offersIn(t).save(ctx, &out)
	})
	return out, err
}

// giveBack asks an agent to go on in a conversation, which is locked, with a request and what
// it is told.
func (t *tx) giveBack(ctx context.Context, n NewRequest, c fika.Conversation, to fika.AgentName, text, taint string) error {
	e := fika.Entry{
		Conversation: c.ID, From: n.Payload.From, To: string(to), Content: text, Type: fika.Message, Chain: n.Chain, Depth: n.Depth,
		Meta: fika.EntryMeta{Writer: fika.ByTool, WriterName: n.Payload.From, Taint: fika.Taint{From: taint}},
	}
	if err := t.append(ctx, &e); err != nil {
		return err
	}
	hash, err := bodyHash(n)
	if err != nil {
		return err
	}
	if _, err := requestsIn(t).insertRequest(ctx, n, c.ID, hash); err != nil {
		return err
	}
	if c.Kind != fika.Task {
		return nil
	}
	_, err = t.tellConversations(ctx, "", `UPDATE conversations SET status = 'active' WHERE id = ?`, c.ID)
	return err
}

// reworkOf describes the request in which an agent works on an offer that came back, and
// locks its conversation. It goes on where the agent has offered it, in the same chain; a
// step of a run has ended, so that goes on in the agent's own conversation.
func (t offerRows) reworkOf(ctx context.Context, o fika.Offer) (n NewRequest, c fika.Conversation, err error) {
	n = NewRequest{
		ID: fika.RequestID(t.newID()), Kind: fika.AskRequest, Origin: fika.Queued, Chain: o.Chain, Depth: o.Depth + 1, Task: o.Task,
		Rights: o.Rights, Taint: o.Taint, Payload: fika.Payload{From: returner, Writer: fika.ByTool, Continue: true, Background: true},
	}
	from, found, err := one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, o.Request)
	if err != nil {
		return n, c, err
	}
	if n.Agent = from.Agent; !found {
		a, ok, err := one(ctx, t, scanText, `SELECT a.id FROM agents a WHERE a.name = ?`, o.Agent)
		if err != nil || !ok {
			return n, c, cmp.Or(err, fika.Errorf(fika.NotFound, "", "@%s is gone", o.Agent))
		}
		n.Agent = fika.AgentID(a)
	}
	if _, err := agentByID(ctx, t, n.Agent); err != nil {
		return n, c, err
	}
	if found {
		c, found, err = one(ctx, t, scanConversation, selectConversation+` WHERE c.id = ?`, from.Conversation)
	}
	if err != nil {
		return n, c, err
	}
	if found && c.Run == "" && !(c.Kind == fika.Ask && c.Status == fika.Completed) {
		n.Kind = from.Kind
	} else if c, err = agentsIn(t.tx).activeAsk(ctx, n.Agent); err != nil {
		return n, c, err
	}
	c, err = conversationsIn(t.tx).lock(ctx, c.ID)
	return n, c, err
}
