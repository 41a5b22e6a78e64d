package landing

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"fika"
	"fika/internal/repository/worktree"
	"fika/internal/system/crash"
)

// PushStore keeps what became of pushes; [store.Offers] is one.
type PushStore interface {
	Landed(ctx context.Context, into string) ([]fika.Offer, error)
	SaidYes(ctx context.Context, command string) (by string, err error)
	ChangePush(ctx context.Context, was []fika.Offer, fn func(*fika.Offer)) ([]fika.Offer, error)
}

// PushRepository is what is pushed from; [worktree.Target] is one.
type PushRepository interface {
	Landed(ctx context.Context) (string, error)
	HasRemote(ctx context.Context, remote string) (bool, error)
	Upstream(ctx context.Context, remote, landed string) (string, error)
	PushHook(ctx context.Context) (bool, error)
	PushBranch() string
	PushByHand(remote string) string
}

// PushSettings say whether and where what has landed is pushed.
type PushSettings struct {
	On     bool
	Into   string // the branch on which work lands
	Remote string // the name of the remote
	After  string // a command that runs after a push; empty: none
}

// PusherOptions say how a pusher works.
type PusherOptions struct {
	Store      PushStore
	Repository func(into string) PushRepository
	Settings   func() (PushSettings, error)
	// Push pushes with the person's own git, and After runs their command. Neither asks for
	// anything, and both end in bounded time. An error means that nothing is known.
	Push  func(ctx context.Context, p worktree.Push) (worktree.Pushed, error)
	After func(ctx context.Context, p worktree.Push, command string) (worktree.Pushed, error)
	Now   func() time.Time
}

// Pusher brings what has landed to a remote. It knows from the rows and the repository how
// far that is, so after a crash it goes on: a push that was made is not made again, and a
// command that may have run is not run again. It is for one goroutine.
type Pusher struct{ o PusherOptions }

// NewPusher returns a pusher. It owns nothing.
func NewPusher(o PusherOptions) *Pusher { return &Pusher{o} }

// Step takes what has landed last as far as it can be taken now. did reports whether it did
// anything.
func (q *Pusher) Step(ctx context.Context) (did bool, err error) {
	set, err := q.o.Settings()
	if err != nil || !set.On {
		return false, err
	}
	list, err := q.o.Store.Landed(ctx, set.Into)
	if err != nil || len(list) == 0 {
		return false, err
	}
	switch last := list[0].Push; {
	case last.State == fika.PushDone, last.State == fika.PushWaiting && q.o.Now().Before(last.Next):
		return false, nil
	case last.State == fika.PushPushed:
		return q.after(ctx, list, set)
	}
	return q.push(ctx, list, set)
}

// push pushes what has landed, unless the remote has it.
func (q *Pusher) push(ctx context.Context, list []fika.Offer, set PushSettings) (bool, error) {
	r := q.o.Repository(set.Into)
	landed, err := r.Landed(ctx)
	if err != nil || landed == "" {
		return false, err
	}
	group := list[:0:0]
	p := worktree.Push{Remote: set.Remote, Branch: r.PushBranch(), Into: set.Into, Commit: landed}
	for _, o := range list {
		if o.Push.State != fika.PushDone {
			group, p.Offers = append(group, o), append(p.Offers, o.Number)
		}
	}
	said, state, err := q.bring(ctx, r, p)
	if err != nil {
		return false, err
	}
	crash.Point("offer-pushed")
	now := q.o.Now()
	_, err = q.o.Store.ChangePush(ctx, group, func(o *fika.Offer) {
		tries := o.Push.Tries
		o.Push = fika.OfferPush{State: state, Remote: p.Remote, Branch: p.Branch, Commit: p.Commit, Reason: said.Reason, Output: said.Output}
		if state == fika.PushWaiting {
			o.Push.Tries, o.Push.Next = tries+1, now.Add(pause(tries))
		} else {
			o.Push.At = now
		}
	})
	return err == nil, err
}

// bring finds out whether the remote has what has landed, and pushes it if not.
func (q *Pusher) bring(ctx context.Context, r PushRepository, p worktree.Push) (worktree.Pushed, fika.PushState, error) {
	has, err := r.HasRemote(ctx, p.Remote)
	if err != nil || !has {
		return worktree.Pushed{Reason: "the repository has no remote " + strconv.Quote(p.Remote) + " ([landing] remote)"}, fika.PushWaiting, err
	}
	switch at, err := r.Upstream(ctx, p.Remote, p.Commit); {
	case err != nil:
		return worktree.Pushed{}, "", err
	case at == p.Remote+"/"+p.Branch:
		return worktree.Pushed{OK: true}, fika.PushPushed, nil
	case at != "":
		return worktree.Pushed{OK: true, Reason: at + " has it already"}, fika.PushDone, nil
	}
	if hook, err := r.PushHook(ctx); err != nil || hook {
		return worktree.Pushed{Reason: "your hook pre-push takes part, and fika runs none; say: " + r.PushByHand(p.Remote)}, fika.PushWaiting, err
	}
	said, err := q.o.Push(ctx, p)
	if err != nil || said.OK {
		return said, fika.PushPushed, err
	}
	return said, fika.PushWaiting, nil
}

// pause is how long a push waits that has failed, after so many that failed before.
func pause(tries int) time.Duration {
	return min(30*time.Second<<min(tries, 5), 15*time.Minute)
}

// after runs the command after a push, once a person has said yes to it. It is not known to
// have run if fika was ended meanwhile, and is not run again then: a person may say so.
func (q *Pusher) after(ctx context.Context, list []fika.Offer, set PushSettings) (bool, error) {
	last := list[0].Push
	group := list[:0:0]
	p := worktree.Push{Remote: last.Remote, Branch: last.Branch, Into: set.Into, Commit: last.Commit}
	for _, o := range list {
		if o.Push.State == fika.PushPushed && o.Push.Commit == last.Commit {
			group, p.Offers = append(group, o), append(p.Offers, o.Number)
		}
	}
	// The one that landed last tells of the command; the others are done when it is.
	change := func(fn func(*fika.OfferPush)) (err error) {
		first, state := group[0].Number, fika.PushPushed
		group, err = q.o.Store.ChangePush(ctx, group, func(o *fika.Offer) {
			if o.Number == first {
				fn(&o.Push)
				state = o.Push.State
			}
			o.Push.State = state
		})
		return err
	}
	done := func(after fika.AfterState, said worktree.Pushed) (bool, error) {
		err := change(func(p *fika.OfferPush) {
			p.State, p.After, p.Reason, p.Output = fika.PushDone, after, said.Reason, said.Output
		})
		return err == nil, err
	}
	switch {
	case last.After == fika.AfterRunning:
		return done(fika.AfterUnknown, worktree.Pushed{Reason: fmt.Sprintf("fika was ended while %s ran: whether it has done its work is not known", last.Command)})
	case set.After == "":
		return done(fika.AfterNone, worktree.Pushed{})
	}
	by, err := q.o.Store.SaidYes(ctx, set.After)
	switch {
	case err != nil, by == "" && last.After == fika.AfterAsks && last.Command == set.After:
		return false, err
	case by == "":
		err := change(func(p *fika.OfferPush) { p.After, p.Command, p.By = fika.AfterAsks, set.After, "" })
		return err == nil, err
	}
	if err := change(func(p *fika.OfferPush) { p.After, p.Command, p.By = fika.AfterRunning, set.After, by }); err != nil {
		return false, err
	}
	said, err := q.o.After(ctx, p, set.After)
	if err != nil {
		return false, err
	}
	crash.Point("offer-after")
	if !said.OK {
		return done(fika.AfterFailed, worktree.Pushed{Reason: set.After + " " + said.Reason, Output: said.Output})
	}
	return done(fika.AfterDone, worktree.Pushed{Output: said.Output})
}
