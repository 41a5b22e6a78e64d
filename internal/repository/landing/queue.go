package landing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/repository/worktree"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
)

// Store keeps the offers; [store.Offers] is one.
type Store interface {
	NextOffer(ctx context.Context) (o fika.Offer, found bool, err error)
	ChangeOffers(ctx context.Context, was []fika.Offer, fn func(*fika.Offer)) ([]fika.Offer, error)
	Behind(ctx context.Context, o fika.Offer, limit int) ([]fika.Offer, error)
	ChangeOffer(ctx context.Context, n fika.OfferNumber, fn func(*fika.Offer) error) (fika.Offer, error)
	NextAbandoned(ctx context.Context) (a store.Abandoned, found bool, err error)
	NextReviewed(ctx context.Context) (r store.Reviewed, found bool, err error)
	AskReviews(ctx context.Context, was fika.Offer, reviewers []fika.AgentName, text string) (fika.Offer, error)
	ReturnOffer(ctx context.Context, was fika.Offer, r store.Returned) (fika.Offer, error)
	Offer(ctx context.Context, n fika.OfferNumber) (fika.Offer, error)
	LandedTips(ctx context.Context, o fika.Offer) ([]string, error)
}

// Repository is where offers land; [worktree.Target] is one.
type Repository interface {
	Ground(ctx context.Context) (worktree.Ground, error)
	Diff(ctx context.Context, on, tip string) (string, error)
	Put(ctx context.Context, on string, w worktree.Work) (worktree.Put, error)
	Keep(ctx context.Context, n fika.OfferNumber, what, commit string) error
	Forget(ctx context.Context, n fika.OfferNumber) error
	Landed(ctx context.Context) (string, error)
	HasLanded(ctx context.Context, commit string) (bool, error)
	Move(ctx context.Context, old, new string) error
	Follow(ctx context.Context) (moved bool, err error)
}

// Verdict is what a check says of a commit.
type Verdict struct {
	Green  bool
	Output string // its end
}

// Settings say how work lands now.
type Settings struct {
	Check  string // the command that says whether work is good
	How    string // one of worktree's Land constants
	Rounds int    // how often an offer comes back to its agent
	// Reviewers look at what agents offer before it is tried.
	Reviewers []fika.AgentName
}

// Options say how a queue works.
type Options struct {
	Store Store
	// Repository returns where the offers for a branch land.
	Repository func(into string) Repository
	// Settings returns the settings as they are now. It fails with Invalid if nothing can
	// land with them.
	Settings func() (Settings, error)
	// Check checks a commit with a command, in a place that nothing else has written to.
	// mark names the processes that it starts, which have ended when it returns. An error
	// means that nothing is known.
	Check func(ctx context.Context, commit, command, mark string) (Verdict, error)
	// Clean removes what an interrupted check has left: its processes and its files.
	Clean func(mark string)
	Now   func() time.Time
	// Poll is how often a check looks whether its offer is still wanted; 0: once a second.
	Poll time.Duration
}

// Queue works offers: the first one, with those behind it that fit. It is for one goroutine.
type Queue struct{ o Options }

// New returns a queue. It owns nothing.
func New(o Options) *Queue { return &Queue{o} }

// Mark names the processes of the check of an offer.
func Mark(n fika.OfferNumber) string { return fmt.Sprintf("landing-%d/1", n) }

// stopped is what the reason of a waiting offer begins with while the queue stands still
// because of it.
const stopped = "the queue has stopped: "

// Step takes the first offer of the queue as far as it can be taken now. did reports whether
// it did anything. A queue that has stopped goes on when its branch has moved, or when a
// person tries the offer again.
func (q *Queue) Step(ctx context.Context) (did bool, err error) {
	if left, found, err := q.o.Store.NextAbandoned(ctx); err != nil || found {
		return found, orError(err, func() error { return q.end(ctx, left.Offer, fika.OfferHeld, abandoned(left), left.Output) })
	}
	if r, found, err := q.o.Store.NextReviewed(ctx); err != nil || found {
		return found, orError(err, func() error { return q.reviewed(ctx, r) })
	}
	o, found, err := q.o.Store.NextOffer(ctx)
	if err != nil || !found {
		return false, err
	}
	r := q.o.Repository(o.Into)
	switch o.State {
	case fika.OfferMoving:
		return true, q.recover(ctx, r, o)
	case fika.OfferTrying: // the process that did so is gone
		q.o.Clean(Mark(o.Number))
	}
	g, err := r.Ground(ctx)
	switch {
	case fika.IsKind(err, fika.Conflict):
		return q.stop(ctx, o, g.Commit, fika.ReasonOf(err), "")
	case fika.IsKind(err, fika.Invalid):
		return true, q.end(ctx, o, fika.OfferRefused, fika.ReasonOf(err), "")
	case err != nil:
		return false, err
	}
	if o.State == fika.OfferWaiting && strings.HasPrefix(o.Reason, stopped) && o.Base == g.Commit {
		return false, nil
	}
	set, err := q.o.Settings()
	if fika.IsKind(err, fika.Invalid) {
		return q.stop(ctx, o, g.Commit, fika.ReasonOf(err), "")
	}
	if err != nil {
		return false, err
	}
	if by := reviewersOf(o, set); len(by) > 0 {
		return true, q.review(ctx, r, o, g, by)
	}
	return true, q.try(ctx, r, o, g, set)
}

func orError(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// stop leaves an offer where it is, and says why the queue stands still. It reports whether
// that is new.
func (q *Queue) stop(ctx context.Context, o fika.Offer, base, why, output string) (bool, error) {
	why = stopped + why
	if o.State == fika.OfferWaiting && o.Reason == why && o.Base == base {
		return false, nil
	}
	_, err := q.change(ctx, o, func(o *fika.Offer) { o.State, o.Reason, o.Base, o.Output = fika.OfferWaiting, why, base, output })
	return err == nil, err
}

// change stores what fn makes of an offer that is as it was read. It fails with Conflict if
// a person has changed it meanwhile.
func (q *Queue) change(ctx context.Context, was fika.Offer, fn func(*fika.Offer)) (fika.Offer, error) {
	return q.o.Store.ChangeOffer(ctx, was.Number, func(o *fika.Offer) error {
		if o.Version != was.Version {
			return errChanged(*o)
		}
		fn(o)
		return nil
	})
}

func errChanged(now fika.Offer) error {
	return fika.Errorf(fika.Conflict, "", "offer %d was changed meanwhile: it is %s", now.Number, now.State)
}

// end ends an offer.
func (q *Queue) end(ctx context.Context, o fika.Offer, state fika.OfferState, why, output string) error {
	_, err := q.change(ctx, o, func(o *fika.Offer) { o.State, o.Reason, o.Output = state, why, output })
	return err
}

// try puts an offer on the ground, those behind it that fit on top of it, has the last commit
// checked, and moves the branch there: every value that the branch ever has was checked. If
// the check fails, the first half is checked alone.
func (q *Queue) try(ctx context.Context, r Repository, o fika.Offer, g worktree.Ground, set Settings) error {
	o, err := q.change(ctx, o, func(o *fika.Offer) { trying(o, g) })
	if err != nil {
		return err
	}
	p, err := q.put(ctx, r, g.Commit, o, set)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return q.end(ctx, o, fika.OfferRefused, fika.ReasonOf(err), "")
	case len(p.Conflicts) > 0:
		return q.back(ctx, o, set, "it conflicts with "+o.Into+" in "+strings.Join(p.Conflicts, ", "), p.Text, merging(g.Commit))
	case p.Nothing && g.Again == "":
		return q.landed(ctx, r, o, o.Into+" has all of it already")
	case len(p.Asks) > 0:
		_, err := q.change(ctx, o, func(o *fika.Offer) {
			o.State, o.Reason = fika.OfferAsks, "it changes what needs a person's yes"
			for _, a := range p.Asks {
				o.Asks = append(o.Asks, fika.PathRisk(a))
			}
		})
		return err
	}
	batch, commits, err := q.behind(ctx, r, o, p.Commit, g, set)
	if err != nil {
		return err
	}
	for {
		last := commits[len(batch)-1]
		if err := r.Keep(ctx, o.Number, "new", last); err != nil {
			return err
		}
		v, err := q.check(ctx, batch, last, set.Check)
		switch {
		case err != nil:
			return err
		case v.Green:
			return q.move(ctx, r, batch, last, set, v)
		case len(batch) == 1:
			return q.red(ctx, batch[0], g, set, v)
		}
		half := len(batch) / 2
		if _, err := q.o.Store.ChangeOffers(ctx, batch[half:], func(o *fika.Offer) { o.State = fika.OfferWaiting }); err != nil {
			return err
		}
		batch = batch[:half]
	}
}

// trying says that an offer is put on the ground.
func trying(o *fika.Offer, g worktree.Ground) {
	o.State, o.Reason, o.Base, o.Old, o.New, o.Output, o.Asks = fika.OfferTrying, "", g.Commit, g.Old, "", "", nil
}

// put puts an offer on a commit. What it asks is what nobody has accepted yet.
func (q *Queue) put(ctx context.Context, r Repository, on string, o fika.Offer, set Settings) (worktree.Put, error) {
	landed, err := q.o.Store.LandedTips(ctx, o)
	if err != nil {
		return worktree.Put{}, err
	}
	p, err := r.Put(ctx, on, worktree.Work{Offer: o.Number, Agent: o.Agent, Source: o.Source, Tip: o.Tip, How: set.How, Landed: landed})
	p.Asks = slices.DeleteFunc(p.Asks, func(a worktree.Risk) bool { return slices.Contains(o.Accepted, a.Path) })
	return p, err
}

// maxBatch is how many offers are checked together at most.
const maxBatch = 8

// behind returns an offer, which is put on the ground as a commit, with those that wait behind
// it and fit on top of that, and what each is on top of the ones before. What does not fit
// waits for a try of its own.
func (q *Queue) behind(ctx context.Context, r Repository, o fika.Offer, commit string, g worktree.Ground, set Settings) (batch []fika.Offer, commits []string, err error) {
	batch, commits = []fika.Offer{o}, []string{commit}
	list, err := q.o.Store.Behind(ctx, o, maxBatch-1)
	if err != nil {
		return nil, nil, err
	}
	for _, next := range list {
		if len(reviewersOf(next, set)) > 0 {
			continue
		}
		p, err := q.put(ctx, r, commits[len(commits)-1], next, set)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err == nil && len(p.Conflicts) == 0 && len(p.Asks) == 0 && !p.Nothing {
			batch, commits = append(batch, next), append(commits, p.Commit)
		}
	}
	if len(batch) == 1 {
		return batch, commits, nil
	}
	also, err := q.o.Store.ChangeOffers(ctx, batch[1:], func(o *fika.Offer) { trying(o, g) })
	return append(batch[:1], also...), commits, err
}

// move moves the branch to a commit that was checked, with all offers that are in it.
func (q *Queue) move(ctx context.Context, r Repository, batch []fika.Offer, commit string, set Settings, v Verdict) error {
	batch, err := q.o.Store.ChangeOffers(ctx, batch, func(o *fika.Offer) {
		o.State, o.New, o.Check, o.Checked, o.Output, o.Reason = fika.OfferMoving, commit, set.Check, q.o.Now(), v.Output, together(*o, batch)
	})
	for _, o := range batch {
		if err == nil {
			err = q.recover(ctx, r, o)
		}
	}
	return err
}

// together names the other offers that an offer was checked with; "": there are none.
func together(o fika.Offer, batch []fika.Offer) string {
	var others []string
	for _, b := range batch {
		if b.Number != o.Number {
			others = append(others, fmt.Sprintf("offer %d", b.Number))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "checked together with " + strings.Join(others, ", ")
}

// red sends back an offer whose check has failed. If the check fails on what it was put on as
// well, that is at fault, and the queue stops.
func (q *Queue) red(ctx context.Context, o fika.Offer, g worktree.Ground, set Settings, v Verdict) error {
	bare, err := q.check(ctx, []fika.Offer{o}, g.Commit, set.Check)
	if err != nil {
		return err
	}
	if !bare.Green {
		_, err := q.stop(ctx, o, g.Commit, fmt.Sprintf("%s fails on %s itself, at %.12s", set.Check, o.Into, g.Commit), bare.Output)
		return err
	}
	return q.back(ctx, o, set, set.Check+" fails", v.Output, "")
}

// check checks a commit for offers. It ends at once, with Conflict, if one of them is
// changed meanwhile: a person has cancelled it, or its agent has offered something newer.
func (q *Queue) check(ctx context.Context, batch []fika.Offer, commit, command string) (Verdict, error) {
	ctx, end := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for sleep.For(ctx, cmp.Or(q.o.Poll, time.Second)) == nil {
			for _, o := range batch {
				if now, err := q.o.Store.Offer(ctx, o.Number); err == nil && now.Version != o.Version {
					end(errChanged(now))
				}
			}
		}
	}()
	v, err := q.o.Check(ctx, commit, command, Mark(batch[0].Number))
	wanted := context.Cause(ctx)
	end(nil)
	<-watched
	if fika.IsKind(wanted, fika.Conflict) {
		return Verdict{}, wanted
	}
	return v, err
}

// recover moves the branch for an offer that is being moved, whatever was done of it before:
// if the branch has it, it has landed; if the branch is as it was, it is moved; else the
// offer is tried again on what the branch is now.
func (q *Queue) recover(ctx context.Context, r Repository, o fika.Offer) error {
	has, err := r.HasLanded(ctx, o.New)
	if err != nil {
		return err
	}
	if !has {
		err := r.Move(ctx, o.Old, o.New)
		if fika.IsKind(err, fika.Conflict) {
			_, err := q.change(ctx, o, func(o *fika.Offer) { o.State = fika.OfferWaiting })
			return err
		}
		if err != nil {
			return err
		}
	}
	crash.Point("offer-moved")
	if _, err = r.Follow(ctx); err != nil {
		return err
	}
	return q.landed(ctx, r, o, o.Reason)
}

// landed ends an offer that the branch has. Its commits are kept by the branch now.
func (q *Queue) landed(ctx context.Context, r Repository, o fika.Offer, why string) error {
	if err := r.Forget(ctx, o.Number); err != nil {
		return err
	}
	return q.end(ctx, o, fika.OfferLanded, why, o.Output)
}
