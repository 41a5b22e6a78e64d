package landing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/crash"
	"fika/internal/sleep"
	"fika/internal/store"
	"fika/internal/worktree"
)

// Store keeps the offers; [store.Offers] is one.
type Store interface {
	NextOffer(ctx context.Context) (o fika.Offer, found bool, err error)
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

// Queue works offers, one at a time. It is for one goroutine.
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
		return q.stop(ctx, o, g.Commit, reasonOf(err), "")
	case fika.IsKind(err, fika.Invalid):
		return true, q.end(ctx, o, fika.OfferRefused, reasonOf(err), "")
	case err != nil:
		return false, err
	}
	if o.State == fika.OfferWaiting && strings.HasPrefix(o.Reason, stopped) && o.Base == g.Commit {
		return false, nil
	}
	set, err := q.o.Settings()
	if fika.IsKind(err, fika.Invalid) {
		return q.stop(ctx, o, g.Commit, reasonOf(err), "")
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

// reasonOf returns what an error says.
func reasonOf(err error) string {
	if e, ok := err.(*fika.Error); ok && e.Msg != "" {
		return e.Msg
	}
	return err.Error()
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

// try puts an offer on the ground, has it checked, and moves the branch.
func (q *Queue) try(ctx context.Context, r Repository, o fika.Offer, g worktree.Ground, set Settings) error {
	o, err := q.change(ctx, o, func(o *fika.Offer) {
		o.State, o.Reason, o.Base, o.Old, o.New, o.Output, o.Asks = fika.OfferTrying, "", g.Commit, g.Old, "", "", nil
	})
	if err != nil {
		return err
	}
	landed, err := q.o.Store.LandedTips(ctx, o)
	if err != nil {
		return err
	}
	p, err := r.Put(ctx, g.Commit, worktree.Work{Offer: o.Number, Agent: o.Agent, Source: o.Source, Tip: o.Tip, How: set.How, Landed: landed})
	asks := slices.DeleteFunc(p.Asks, func(a worktree.Risk) bool { return slices.Contains(o.Accepted, a.Path) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return q.end(ctx, o, fika.OfferRefused, reasonOf(err), "")
	case len(p.Conflicts) > 0:
		return q.back(ctx, o, set, "it conflicts with "+o.Into+" in "+strings.Join(p.Conflicts, ", "), p.Text, merging(g.Commit))
	case p.Nothing && g.Again == "":
		return q.landed(ctx, r, o, o.Into+" has all of it already")
	case len(asks) > 0:
		_, err := q.change(ctx, o, func(o *fika.Offer) {
			o.State, o.Reason = fika.OfferAsks, "it changes what needs a person's yes"
			for _, a := range asks {
				o.Asks = append(o.Asks, fika.PathRisk(a))
			}
		})
		return err
	}
	if err := r.Keep(ctx, o.Number, "new", p.Commit); err != nil {
		return err
	}
	v, err := q.check(ctx, o, p.Commit, set.Check)
	if err != nil {
		return err
	}
	if !v.Green {
		return q.red(ctx, o, g, set, v)
	}
	if o, err = q.change(ctx, o, func(o *fika.Offer) {
		o.State, o.New, o.Check, o.Checked, o.Output = fika.OfferMoving, p.Commit, set.Check, q.o.Now(), v.Output
	}); err != nil {
		return err
	}
	return q.recover(ctx, r, o)
}

// red sends back an offer whose check has failed. If the check fails on what it was put on as
// well, that is at fault, and the queue stops.
func (q *Queue) red(ctx context.Context, o fika.Offer, g worktree.Ground, set Settings, v Verdict) error {
	bare, err := q.check(ctx, o, g.Commit, set.Check)
	if err != nil {
		return err
	}
	if !bare.Green {
		_, err := q.stop(ctx, o, g.Commit, fmt.Sprintf("%s fails on %s itself, at %.12s", set.Check, o.Into, g.Commit), bare.Output)
		return err
	}
	return q.back(ctx, o, set, set.Check+" fails", v.Output, "")
}

// check checks a commit for an offer. It ends at once, with Conflict, if the offer is
// changed meanwhile: a person has cancelled it, or its agent has offered something newer.
func (q *Queue) check(ctx context.Context, o fika.Offer, commit, command string) (Verdict, error) {
	ctx, end := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for sleep.For(ctx, cmp.Or(q.o.Poll, time.Second)) == nil {
			if now, err := q.o.Store.Offer(ctx, o.Number); err == nil && now.Version != o.Version {
				end(errChanged(now))
			}
		}
	}()
	v, err := q.o.Check(ctx, commit, command, Mark(o.Number))
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
	return q.landed(ctx, r, o, "")
}

// landed ends an offer that the branch has. Its commits are kept by the branch now.
func (q *Queue) landed(ctx context.Context, r Repository, o fika.Offer, why string) error {
	if err := r.Forget(ctx, o.Number); err != nil {
		return err
	}
	return q.end(ctx, o, fika.OfferLanded, why, o.Output)
}
