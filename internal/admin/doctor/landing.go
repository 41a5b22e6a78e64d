package doctor

import (
	"context"
	"fmt"

	"fika/internal/app"
	"fika/internal/repository/worktree"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// pushTrouble returns what keeps what has landed from being pushed as [landing] says, a line
// each. It asks no remote.
func pushTrouble(ctx context.Context, a *app.App, l config.Landing) []string {
	if l.Mode != config.PushRemote {
		if l.After != "" {
			return []string{`[landing] after does nothing without mode = "push"`}
		}
		return nil
	}
	p := a.Project()
	if p == nil {
		return []string{`[landing] mode = "push" does nothing: this home is no project's`}
	}
	t := worktree.Target{Project: p.Main, Into: l.Into}
	var out []string
	if has, err := t.HasRemote(ctx, l.Remote); err != nil {
		out = append(out, fmt.Sprintf("[landing] mode = \"push\": %v", err))
	} else if !has {
		out = append(out, fmt.Sprintf("[landing] mode = \"push\" pushes nothing: %s has no remote %q (git remote add, or remote in [landing])", p.Main, l.Remote))
	}
	if hook, err := t.PushHook(ctx); err == nil && hook {
		out = append(out, "[landing] mode = \"push\" pushes nothing by itself: the repository has a hook pre-push, which is yours to run: "+t.PushByHand(l.Remote))
	}
	if l.Check == "" {
		out = append(out, `[landing] mode = "push" pushes nothing: nothing lands until check is set`)
	}
	return out
}

// checkPushing reports what keeps what has landed from the remote.
func (d *examination) checkPushing(ctx context.Context) {
	c, err := d.app.Config()
	if err != nil {
		return
	}
	found := pushTrouble(ctx, d.app, c.Landing)
	for _, text := range found {
		d.add("landing", Note, "", "%s", text)
	}
	if len(found) == 0 && c.Landing.Mode == config.PushRemote {
		d.add("landing", Fine, "", "what has landed is pushed to fika/landing/%s of %s", c.Landing.Into, c.Landing.Remote)
	}
}

// checkPushes reports what has landed and could not be pushed.
func (d *examination) checkPushes(ctx context.Context) {
	c, err := d.app.Config()
	if err != nil || c.Landing.Mode != config.PushRemote {
		return
	}
	s, err := d.app.Store(ctx)
	if err != nil {
		return
	}
	home, err := d.home.ID()
	if err != nil {
		return
	}
	none := func(context.Context, string) (bool, error) { return false, nil }
	list, err := store.OfferQueue{Offers: s.Offers, Host: home, Holds: none}.Landed(ctx, c.Landing.Into)
	if err != nil || len(list) == 0 || list[0].Unpushed() == "" {
		return
	}
	d.add("landing", Note, hint.LandShow.With(list[0].Number), "offer %d has landed; %s", list[0].Number, list[0].Unpushed())
}

// checkOffers warns of offers that wait for a host that is down.
func (d *examination) checkOffers(ctx context.Context) {
	c, err := service.Open(ctx, d.app, d.who)
	if err != nil {
		return // checkStore has said so
	}
	list, err := c.Offers().Away(ctx)
	if err != nil {
		d.add("landing", Problem, "", "%v", err)
	}
	for _, o := range list {
		d.add("landing", Note, "start "+o.On+", or offer it where else its commits are", "offer %d %s", o.Number, o.Waits)
	}
}
