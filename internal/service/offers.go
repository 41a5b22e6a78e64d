package service

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/repository/worktree"
	"fika/internal/rights/authority"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
	"fika/internal/tool"
)

// Offers is the interface to the work that is to land on the project's branch.
type Offers struct {
	c    *Service
	call *tool.Call // in which an agent asks; nil: a person does
}

// Offers returns the interface to the offers of this home.
func (c *Service) Offers() *Offers { return &Offers{c: c} }

// OfferFilter chooses offers.
type OfferFilter = store.OfferFilter

// target returns the branch on which work lands, as the settings say. It fails with Invalid
// if there is no project, or if no check is set.
func (o *Offers) target() (worktree.Target, config.Landing, error) {
	p := o.c.app.Project()
	set := o.c.config().Landing
	if p == nil {
		return worktree.Target{}, set, fika.Errorf(fika.Invalid, "", "nothing lands here: run %s in the repository", hint.Init)
	}
	return worktree.Target{Project: p.Main, Into: set.Into}, set, nil
}

// Add offers the work of an agent (its name, with or without @), of a task (task-12) or of a branch for landing, or
// what takes back an offer that has landed (undo-3), and returns the offer; committed says that the agent had work that it had not committed.
// Error kinds: NotFound; Invalid without a project, a check or a person's name for git;
// Locked for an agent at work; Conflict if the same commit waits already, or if the agent's
// tree cannot be committed; Denied.
func (o *Offers) Add(ctx context.Context, source string) (offer fika.Offer, committed bool, err error) {
	if err := o.c.may("offer.add"); err != nil {
		return offer, false, err
	}
	t, set, err := o.landable(ctx)
	if err != nil {
		return offer, false, err
	}
	n := fika.Offer{Source: source, Into: set.Into, By: o.c.config().Username}
	if n.Host, err = o.c.home.ID(); err != nil {
		return offer, false, err
	}
	if n.Agent, n.Task, err = o.workerOf(ctx, t, source); err != nil {
		return offer, false, err
	}
	if n.Agent != "" {
		n.Source = "@" + string(n.Agent)
	}
	// Under a key that is known, nothing is committed again.
	offer, err = once(ctx, o.c, "offer.add", []any{n.Source}, func(to *store.Store) (fika.Offer, error) {
		if n.Tip, n.Title, committed, err = o.tip(ctx, t, n); err != nil {
			return n, err
		}
		return to.AddOffer(ctx, n)
	}, func(done *store.Repeated) (fika.Offer, error) {
		return o.c.store.Offer(ctx, fika.OfferNumber(done.Last(store.OfferEvent).Seq))
	})
	if err == nil && !offer.State.Ended() {
		err = t.Keep(ctx, offer.Number, "tip", offer.Tip)
	}
	return offer, committed, err
}

// UndoOf returns the source with which [Offers.Add] takes back an offer that has landed.
func UndoOf(n fika.OfferNumber) string { return worktree.UndoOf(n) }

// landable returns the branch on which work lands. It fails with Invalid if nothing can:
// without a project, a check or a person's name for git.
func (o *Offers) landable(ctx context.Context) (worktree.Target, config.Landing, error) {
	t, set, err := o.target()
	if err != nil {
		return t, set, err
	}
	if set.Check == "" {
		return t, set, fika.Errorf(fika.Invalid, "", "nothing says whether work is good: set check in [landing], as in check = \"make test\"; check = \"true\" takes everything")
	}
	_, _, err = t.Identity(ctx)
	return t, set, err
}

// maxSummary bounds what an agent says of what it offers, in bytes.
const maxSummary = 4 << 10

// Submit offers the work of the agent that asks, as it is in its worktree now; what is not
// committed is committed first, with summary as the message. One that came back goes on. It
// waits for a person if the turn has read text from outside. Error kinds: Invalid for who is
// no agent with a worktree, and as for [Offers.Add]; Locked while another turn of the agent
// works in the same tree; Conflict if nothing is new; Denied.
func (o *Offers) Submit(ctx context.Context, summary string) (fika.Offer, error) {
	v, rel := o.c.sight(), authority.Foreign
	if o.c.who.Kind == api.Agent && o.c.who.Request != "" {
		rel = authority.Own
	}
	if err := v.check("offer.submit", rel, "the worktree"); err != nil {
		return fika.Offer{}, err
	}
	speaker, say, err := o.c.speaker(ctx, Alias{})
	switch summary = strings.TrimSpace(summary); {
	case err != nil:
		return fika.Offer{}, err
	case speaker == nil:
		return fika.Offer{}, fika.Errorf(fika.Invalid, "", "only an agent submits its own work: %s AGENT offers it for it", hint.Land.With())
	case len(summary) > maxSummary || !utf8.ValidString(summary):
		return fika.Offer{}, fika.Errorf(fika.Invalid, "", "a summary is UTF-8 text of at most %d bytes", maxSummary)
	}
	t, set, err := o.landable(ctx)
	if err != nil {
		return fika.Offer{}, err
	}
	tree, err := o.ownTree(ctx, speaker)
	if err != nil {
		return fika.Offer{}, err
	}
	n := fika.Offer{
		Source: "@" + string(speaker.Agent), Agent: speaker.Agent, By: "@" + string(speaker.Agent), Into: set.Into,
		Request: speaker.Request.ID, Chain: speaker.Request.Chain, Depth: speaker.Request.Depth, Task: speaker.Request.Task,
	}
	n.Rights, n.Taint = passedOn(o.call, speaker)
	if n.Host, err = o.c.home.ID(); err != nil {
		return n, err
	}
	// Under a key that is known, nothing is committed again.
	out, err := once(ctx, say, "offer.submit", []any{summary}, func(to *store.Store) (fika.Offer, error) {
		crash.Point("offer-freeze")
		if n.Tip, _, err = tree.Whole(ctx, summary); err != nil {
			return n, err
		}
		crash.Point("offer-frozen")
		if has, err := t.Has(ctx, n.Tip); err != nil || has {
			return n, orNothing(err, n)
		}
		if n.Title, err = t.Title(ctx, n.Tip); err != nil {
			return n, err
		}
		return to.SubmitOffer(ctx, n, o.c.heldFor(n.Taint, "offered"))
	}, func(done *store.Repeated) (fika.Offer, error) {
		return o.c.store.Offer(ctx, fika.OfferNumber(done.Last(store.OfferEvent).Seq))
	})
	if err == nil && out.State != fika.OfferLanded {
		err = t.Keep(ctx, out.Number, "tip", out.Tip)
	}
	return out, err
}

// orNothing returns err or, without one, that there is nothing to offer.
func orNothing(err error, n fika.Offer) error {
	if err != nil {
		return err
	}
	return fika.Errorf(fika.Conflict, "", "nothing to offer: %s has all of your worktree", n.Into)
}

// ownTree returns the worktree in which the agent that speaks works: that of its task, else
// its own. It fails with Locked while another turn of the agent works in its own, because
// what that has begun would be offered, too.
func (o *Offers) ownTree(ctx context.Context, speaker *app.Speaker) (worktree.Tree, error) {
	settings, err := o.c.app.Settings(speaker.Agent, nil, true)
	if err != nil {
		return worktree.Tree{}, err
	}
	if !settings.Worktree {
		return worktree.Tree{}, fika.Errorf(fika.Invalid, "", "you have no worktree of your own, so nothing to offer (workspace = \"worktree\")")
	}
	if task := speaker.Request.Task; task > 0 {
		return o.c.Agents.treeOf(speaker.Agent, settings, task)
	}
	v, err := o.c.Agents.View(ctx, string(speaker.Agent))
	if err != nil {
		return worktree.Tree{}, err
	}
	for _, r := range v.Running {
		if r.ID != speaker.Request.ID && r.Task == 0 {
			return worktree.Tree{}, fika.Errorf(fika.Locked, "", "another turn of yours is at work in the same worktree (request %s): offer when that has ended", r.ID)
		}
	}
	return o.c.Agents.treeOf(speaker.Agent, settings, 0)
}

// workerOf returns the agent that a person means, and the task if they mean that; neither
// if they mean a branch.
func (o *Offers) workerOf(ctx context.Context, t worktree.Target, source string) (fika.AgentName, fika.TaskNumber, error) {
	name, marked := strings.CutPrefix(source, "@")
	_, err := t.Tip(ctx, source)
	switch {
	case !marked && err == nil:
		return "", 0, nil
	case !marked && !fika.IsKind(err, fika.NotFound):
		return "", 0, err
	}
	if n := worktree.ParseUndo(name); n > 0 && !marked {
		undone, err := o.c.store.Offer(ctx, n)
		if err == nil && undone.State != fika.OfferLanded {
			err = fika.Errorf(fika.Conflict, "", "offer %d is %s: only what has landed can be taken back", n, undone.State)
		}
		return "", 0, err
	}
	if n := worktree.ParseTask(name); n > 0 {
		tree, err := o.c.Agents.taskTree(ctx, n, true)
		return tree.Agent, n, err
	}
	row, failed := o.c.Agents.FindLone(ctx, name)
	if failed == nil {
		return row.Name, 0, nil
	}
	if !marked && fika.IsKind(failed, fika.NotFound) {
		return "", 0, fika.Errorf(fika.NotFound, "", "branch or agent %q not found", source)
	}
	return "", 0, failed
}

// tip returns the commit that a source has now, and its title.
func (o *Offers) tip(ctx context.Context, t worktree.Target, n fika.Offer) (tip, title string, committed bool, err error) {
	if n.Agent == "" {
		tip, err = t.Tip(ctx, n.Source)
		if undone := worktree.ParseUndo(n.Source); undone > 0 && fika.IsKind(err, fika.NotFound) {
			var was fika.Offer
			if was, err = o.c.store.Offer(ctx, undone); err == nil {
				tip, err = t.Undo(ctx, was)
			}
		}
	} else {
		tree := worktree.Tree{Agent: n.Agent}.ForTask(n.Task)
		if tree, err = o.c.Agents.Worktree(ctx, tree.Name(), true); err == nil {
			tip, committed, err = tree.Whole(ctx, "")
		}
	}
	if err == nil {
		title, err = t.Title(ctx, tip)
	}
	return tip, title, committed, err
}

// List returns the offers that match and that the caller may see, the newest first.
func (o *Offers) List(ctx context.Context, f OfferFilter) ([]PlacedOffer, error) {
	list, err := o.c.sight().offers(ctx, f)
	if err != nil {
		return nil, err
	}
	return o.Place(ctx, list...)
}

// Find returns an offer. Error kinds: NotFound, Denied.
func (o *Offers) Find(ctx context.Context, n fika.OfferNumber) (fika.Offer, error) {
	if err := o.mayOne("offer.show"); err != nil {
		return fika.Offer{}, err
	}
	return o.c.store.Offer(ctx, n)
}

// Show returns an offer and where it lands. Error kinds: as for [Offers.Find].
func (o *Offers) Show(ctx context.Context, n fika.OfferNumber) (PlacedOffer, error) {
	f, err := o.Find(ctx, n)
	if err != nil {
		return PlacedOffer{}, err
	}
	list, err := o.Place(ctx, f)
	return list[0], err
}

// mayOne refuses a verb about one offer to who does not see everything.
func (o *Offers) mayOne(verb string) error {
	v := o.c.sight()
	return v.check(verb, relation(v.full()), "the offers")
}

// Cancel takes an offer out of the queue; one that is being checked does not land, and its
// agent works on it no more. Error kinds: NotFound, Denied, Conflict if it has landed, is about to, or was cancelled.
func (o *Offers) Cancel(ctx context.Context, n fika.OfferNumber, why string) (fika.Offer, error) {
	if err := o.mayOne("offer.cancel"); err != nil {
		return fika.Offer{}, err
	}
	out, err := o.change(ctx, "offer.cancel", n, []any{why}, func(f *fika.Offer) error {
		switch f.State {
		case fika.OfferLanded, fika.OfferCancelled:
			return fika.Errorf(fika.Conflict, "", "offer %d is %s", n, f.State)
		case fika.OfferMoving:
			return fika.Errorf(fika.Conflict, "", "offer %d was checked, and %s is being moved", n, f.Into)
		}
		f.State, f.Reason = fika.OfferCancelled, strings.ToValidUTF8(strings.TrimSpace(why), "")
		return nil
	})
	if err == nil && out.Rework != "" {
		o.c.wake(ctx, out.Agent)
	}
	for _, r := range out.Reviews {
		if err == nil && r.Agent != "" {
			o.c.wake(ctx, r.Agent)
		}
	}
	return out, err
}

// Retry puts an offer into the queue again, with what its source has now; one that is held,
// and with paths that the person accepts, with the same commit. It may come back to its agent
// as often as at first. One that has landed and is not pushed is pushed at once, see
// retryPush. Error kinds: as for [Offers.Add], and Conflict for an offer that has landed and
// needs nothing, is being tried or is worked on by its agent.
func (o *Offers) Retry(ctx context.Context, n fika.OfferNumber, accept []string) (fika.Offer, error) {
	if err := o.mayOne("offer.retry"); err != nil {
		return fika.Offer{}, err
	}
	before, err := o.c.store.Offer(ctx, n)
	if err != nil {
		return before, err
	}
	if before.State == fika.OfferLanded {
		return o.retryPush(ctx, before, accept)
	}
	for _, path := range accept {
		if !slices.ContainsFunc(before.Asks, func(r fika.PathRisk) bool { return r.Path == path }) && !slices.Contains(before.Accepted, path) {
			return before, fika.Errorf(fika.NotFound, "", "offer %d does not ask about %q", n, path)
		}
	}
	tip, title, host := before.Tip, before.Title, before.Host
	same := len(accept) > 0 || before.State == fika.OfferHeld
	if !same && before.State != fika.OfferLanded && before.State != fika.OfferRework && before.State != fika.OfferReviewed {
		t, _, err := o.target()
		if err != nil {
			return before, err
		}
		if tip, title, _, err = o.tip(ctx, t, before); err != nil {
			return before, err
		}
		if host, err = o.c.home.ID(); err != nil {
			return before, err
		}
		if err := t.Keep(ctx, n, "tip", tip); err != nil {
			return before, err
		}
	}
	return o.change(ctx, "offer.retry", n, []any{accept}, func(f *fika.Offer) error {
		switch {
		case f.State == fika.OfferLanded, f.State == fika.OfferTrying, f.State == fika.OfferMoving:
			return fika.Errorf(fika.Conflict, "", "offer %d is %s", n, f.State)
		case f.State == fika.OfferReviewed:
			return fika.Errorf(fika.Conflict, "", "offer %d is being reviewed: cancel it, if it should not be", n)
		case f.State == fika.OfferRework:
			return fika.Errorf(fika.Conflict, "", "@%s works on offer %d (request %s): cancel the offer first", f.Agent, n, f.Rework)
		case same && (f.Tip != tip || f.State != before.State):
			return fika.Errorf(fika.Conflict, "", "offer %d was changed meanwhile: look at it again", n)
		case f.Tip != tip:
			f.Accepted = nil
		}
		f.State, f.Reason, f.Base, f.Tip, f.Title, f.Host, f.Round, f.Rework = fika.OfferWaiting, "", "", tip, title, host, 0, ""
		f.Reviews = append(f.Reviews, fika.OfferReview{Tip: tip})
		for _, path := range accept {
			if !slices.Contains(f.Accepted, path) {
				f.Accepted = append(f.Accepted, path)
			}
		}
		return nil
	})
}

func (o *Offers) change(ctx context.Context, verb string, n fika.OfferNumber, body []any, fn func(*fika.Offer) error) (fika.Offer, error) {
	return once(ctx, o.c, verb, append([]any{n}, body...), func(to *store.Store) (fika.Offer, error) { return to.ChangeOffer(ctx, n, fn) },
		func(*store.Repeated) (fika.Offer, error) { return o.c.store.Offer(ctx, n) })
}

// Apply fast-forwards the working tree that has the branch checked out to what has landed.
// Error kinds: NotFound if nothing has landed; Conflict, with the paths, if the person has
// changed the same ones; Denied.
func (o *Offers) Apply(ctx context.Context) (worktree.Applied, error) {
	if err := o.c.may("offer.apply"); err != nil {
		return worktree.Applied{}, err
	}
	t, _, err := o.target()
	if err != nil {
		return worktree.Applied{}, err
	}
	return t.Apply(ctx)
}

// Await waits until an offer has landed or has come back, or the queue has stopped at it.
func (o *Offers) Await(ctx context.Context, n fika.OfferNumber) (fika.Offer, error) {
	for {
		f, err := outlasting(ctx, o.c, nil, func(ctx context.Context) (fika.Offer, error) { return o.Find(ctx, n) })
		if err != nil || f.State.Ended() || f.State == fika.OfferWaiting && f.Reason != "" {
			return f, err
		}
		if err := sleep.For(ctx, pollEvery); err != nil {
			return f, fika.Errorf(fika.Detached, "", "offer %d continues: %s says how it stands", n, hint.LandShow.With(n))
		}
	}
}

// Target returns the branch on which work lands. It fails with Invalid without a project.
func (o *Offers) Target() (worktree.Target, error) {
	t, _, err := o.target()
	return t, err
}
