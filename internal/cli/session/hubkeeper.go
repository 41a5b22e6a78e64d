package session

import (
	"context"
	"time"

	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/screen"
	"fika/internal/service"
	"fika/internal/system/sleep"
)

// hubKeeper makes sure that a hub runs while a person is at a terminal. It starts the
// hub in the background, so that the person does not wait for it.
type hubKeeper struct {
	env     *command.Env
	conn    *connection
	screen  *screen.Screen
	session *session      // nil: the chat is not a session
	wanted  chan struct{} // capacity 1: something was said that needs a hub
}

// hubLook is the interval at which a terminal checks for its hub, and hubRetry the wait
// after a failed start before the next attempt.
const (
	hubLook  = 300 * time.Millisecond
	hubRetry = 10 * time.Second
)

// want records that something was said that needs a hub.
func (k *hubKeeper) want() {
	select {
	case k.wanted <- struct{}{}:
	default:
	}
	k.conn.setTended(true)
}

// run starts a hub at first, and again if it was killed, until ctx ends. A hub that
// somebody stopped stays down until something is said.
func (k *hubKeeper) run(ctx context.Context, hub *service.Hub) {
	wanted := true
	var failed time.Time
	k.conn.setTended(true)
	k.env.App().FollowConfig(func(text string) { k.screen.Note("— " + text) })
	for {
		if k.session != nil {
			k.session.takeConfig(k.env, k.screen)
		}
		p, up, err := hub.Process()
		killed := err == nil && !up && hub.WasKilled()
		switch {
		case err != nil:
			k.conn.setTrouble(err.Error())
		case up:
			stuck := service.HubStuck(p)
			k.conn.setTrouble(k.env.Words(stuck))
			if !stuck.IsClear() {
				k.screen.NoteOnce(k.env.Words(stuck)) // the status line may be too short for the remedy
			}
			if now, _ := k.conn.now(); !now.Connected() && now.BusTrouble().IsClear() {
				k.connect(ctx, false)
			}
			failed = time.Time{}
		case (wanted || killed) && time.Since(failed) > hubRetry:
			k.conn.setTended(true)
			if !k.connect(ctx, killed && !wanted) {
				failed = time.Now()
			}
		case len(k.wanted) == 0:
			k.conn.setTended(false)
		}
		wanted = false
		k.screen.Refresh()
		select {
		case <-k.wanted:
			wanted, failed = true, time.Time{}
		default:
			if sleep.For(ctx, hubLook) != nil {
				return
			}
		}
	}
}

// connect starts a hub if there is none, and connects to it. again says that the last
// hub was killed. It returns false if there still is no connection.
func (k *hubKeeper) connect(ctx context.Context, again bool) bool {
	own := k.env.App().CloneUnopened()
	own.FollowConfig(func(string) {}) // run reports it
	began := time.Now()
	last, _ := k.conn.now()
	next, err := service.Open(ctx, own, last.Principal())
	var notes []api.Status
	if err == nil {
		notes, err = next.EnsureHub(ctx, func(doing string) { k.conn.setTrouble(doing); k.screen.Refresh() })
	}
	for _, n := range notes {
		k.screen.NoteOnce(k.env.Words(n))
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		k.conn.setTrouble("no hub: fika up")
		k.screen.NoteOnce(err.Error())
	case !next.Connected():
		k.conn.setTrouble("no hub: fika up")
	default:
		k.conn.setTrouble("")
		if again {
			k.screen.Note("— the hub had stopped; restarted it (" + time.Since(began).Round(time.Millisecond).String() + ")")
		}
		k.conn.replace(ctx, next, own)
		return true
	}
	_ = own.Close()
	return false
}
