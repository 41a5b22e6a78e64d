package daemon

import (
	"context"
	"strings"

	"fika"
	"fika/internal/repository/landing"
	"fika/internal/repository/worktree"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
	"fika/internal/worker"
)

// keepLanding works the queue of offers of the project until ctx ends. It logs each trouble
// once. A home that is no project's has no queue.
func (h hubHome) keepLanding(ctx context.Context) {
	p := h.app.Project()
	if p == nil {
		return
	}
	id, err := h.home.ID()
	if err != nil {
		h.app.Log().Warn("nothing lands", "err", err)
		return
	}
	q := h.landingOf(p.Main, string(id))
	trees := taskTrees{h, map[fika.TaskNumber]int64{}}
	h.stepOn(ctx, "landing waits", func() (bool, error) {
		did, err := q.Step(ctx)
		if err == nil && !did {
			err = trees.clear(ctx, p.Home, p.Main)
		}
		return did, err
	})
}

// offersHere returns the offers that this hub works: all, or of those of several hosts its own.
func (h hubHome) offersHere(project string) store.OfferQueue {
	q := store.OfferQueue{Offers: h.store.Offers}
	if h.host != nil {
		q.Host, q.Holds = h.host.session.Host, worktree.Target{Project: project}.Holds
	}
	return q
}

// stepOn calls step again and again until ctx ends: at once while it does something, else
// after a pause. Why it cannot go on is logged as waits, once.
func (h hubHome) stepOn(ctx context.Context, waits string, step func() (did bool, err error)) {
	said := ""
	for {
		did, err := step()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			said = ""
		case fika.IsKind(err, fika.Conflict): // a person has changed the offer meanwhile
		case err.Error() != said:
			said = err.Error()
			h.app.Log().Warn(waits, "err", err)
		}
		if did && err == nil {
			continue
		}
		if sleep.For(ctx, crash.Pace(pollTime)) != nil {
			return
		}
	}
}

// landingOf returns the queue of offers for the repository of a project. The processes of
// its checks carry the id of the home, because other homes number their offers, too.
func (h hubHome) landingOf(project, home string) *landing.Queue {
	a := h.app
	checks := worker.Checks{App: a, Warn: func(text string) { a.Log().Warn(text) }}
	at := func(into string) worktree.Target { return worktree.Target{Project: project, Into: into} }
	return landing.New(landing.Options{
		Store: h.offersHere(project), Now: h.store.Now, Clean: func(mark string) { checks.Clean(home + "-" + mark) },
		Repository: func(into string) landing.Repository { return at(into) },
		Settings: func() (landing.Settings, error) {
			c, err := a.Config()
			if err == nil && c.Landing.Check == "" {
				err = fika.Errorf(fika.Invalid, "", "no check is set in [landing]")
			}
			if err != nil {
				return landing.Settings{}, err
			}
			set := landing.Settings{Check: c.Landing.Check, How: c.Landing.Strategy, Rounds: c.Landing.MaxRounds}
			for _, text := range c.Landing.Reviewers {
				name, err := fika.ParseAgentName(strings.TrimPrefix(text, "@"))
				if err != nil {
					return set, fika.Errorf(fika.Invalid, "", "[landing] reviewers: %v", err)
				}
				set.Reviewers = append(set.Reviewers, name)
			}
			return set, nil
		},
		Check: func(ctx context.Context, commit, command, mark string) (v landing.Verdict, err error) {
			c, err := a.Config()
			if err != nil {
				return v, err
			}
			v.Green, v.Output, err = checks.Run(ctx, at(""), commit, command, home+"-"+mark, c.Landing.Timeout)
			return v, err
		},
	})
}

// landing reports whether any offer is in the queue; true if that cannot be found out.
func (h hubHome) landing(ctx context.Context) bool {
	list, err := h.store.ListOffers(ctx, store.OfferFilter{Going: true, Limit: 1})
	return len(list) > 0 || err != nil
}

// keepPushing pushes what has landed, where the settings say so, until ctx ends. It has a
// loop of its own, because a remote that does not answer must keep nothing from landing.
func (h hubHome) keepPushing(ctx context.Context) {
	p := h.app.Project()
	if p == nil {
		return
	}
	id, err := h.home.ID()
	if err != nil {
		h.app.Log().Warn("nothing is pushed", "err", err)
		return
	}
	q := h.pusherOf(p.Main, string(id))
	h.stepOn(ctx, "pushing waits", func() (bool, error) { return q.Step(ctx) })
}

// pusherOf returns what pushes what has landed in the repository of a project.
func (h hubHome) pusherOf(project, home string) *landing.Pusher {
	a := h.app
	by := worker.Pushes{App: a, Project: project, Mark: home + "-push/1"}
	return landing.NewPusher(landing.PusherOptions{
		Store: h.offersHere(project), Now: h.store.Now, Push: by.Push, After: by.After,
		Repository: func(into string) landing.PushRepository { return worktree.Target{Project: project, Into: into} },
		Settings: func() (landing.PushSettings, error) {
			c, err := a.Config()
			if err != nil {
				return landing.PushSettings{}, err
			}
			return landing.PushSettings{On: c.Landing.Mode == config.PushRemote, Into: c.Landing.Into, Remote: c.Landing.Remote, After: c.Landing.After}, nil
		},
	})
}
