package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"fika/internal/client"
	"fika/internal/sleep"
)

// connection is the client of a person at a terminal. It has no bus while the
// hub starts behind the prompt; a client that has one takes its place then.
type connection struct {
	mu     sync.Mutex
	client *client.Client
	ctx    context.Context // ends when another client takes the place of this one
	retire context.CancelFunc
	opened []io.Closer // of clients that took the place of the first; closed by close
	note   string      // what is being done about the hub, or what is wrong with it
}

func newConnection(ctx context.Context, c *client.Client) *connection {
	conn := &connection{client: c}
	conn.ctx, conn.retire = context.WithCancel(ctx)
	return conn
}

// now gives the client, and a context that ends when there is a better one.
func (c *connection) now() (*client.Client, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client, c.ctx
}

// replace puts a client in place of the one before. outer is the context that
// both live in.
func (c *connection) replace(outer context.Context, next *client.Client, opened io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retire()
	c.client = next
	c.ctx, c.retire = context.WithCancel(outer)
	c.opened = append(c.opened, opened)
}

// trouble says what is being done about the hub, or what is wrong with it; ""
// when it works.
func (c *connection) trouble() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.note
}

func (c *connection) setTrouble(note string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note = note
}

// close closes what was opened behind the prompt.
func (c *connection) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retire()
	var errs []error
	for _, a := range c.opened {
		errs = append(errs, a.Close())
	}
	c.opened = nil
	return errors.Join(errs...)
}

// hubLook is how often a terminal looks whether its hub is there, and hubRetry
// how long after a start that failed it waits for the next.
const (
	hubLook  = 300 * time.Millisecond
	hubRetry = 10 * time.Second
)

// keepHub sees to it that a hub runs while a person is here: one is started
// behind the prompt, and again when it was killed. One that somebody ended
// stays down until something is said.
func (j *joined) keepHub(ctx context.Context, hub *client.Hub) {
	wanted := true
	var failed time.Time
	j.App().FollowConfig(func(text string) { j.note("— " + text) })
	for {
		j.takeConfig()
		p, up, err := hub.Process()
		killed := err == nil && !up && hub.WasKilled()
		switch {
		case err != nil:
			j.conn.setTrouble(err.Error())
		case up:
			stuck := client.HubStuck(p)
			j.conn.setTrouble(stuck)
			if stuck != "" {
				j.noteOnce(stuck) // the status line may be too short for what helps
			}
			if now, _ := j.conn.now(); !now.Connected() && now.BusTrouble() == "" {
				j.openHub(ctx, false)
			}
			failed = time.Time{}
		case (wanted || killed) && time.Since(failed) > hubRetry:
			if !j.openHub(ctx, killed && !wanted) {
				failed = time.Now()
			}
		}
		wanted = false
		j.feed.Refresh()
		select {
		case <-j.spoken:
			wanted, failed = true, time.Time{}
		default:
			if sleep.For(ctx, hubLook) != nil {
				return
			}
		}
	}
}

// takeConfig takes over who is in the config now. What is wrong with it is told.
func (j *joined) takeConfig() {
	conf, err := j.App().Config()
	if err != nil || j.session == nil {
		return
	}
	if gone, now := j.session.takeAgents(conf); gone != "" {
		j.note(fmt.Sprintf("— @%s is not in the config any more: text without a name goes to @%s", gone, now))
	}
}

// openHub starts a hub if there is none, and connects to it. again says that one
// was there and was killed. It returns false when there still is none.
func (j *joined) openHub(ctx context.Context, again bool) bool {
	own := j.App().CloneUnopened()
	own.FollowConfig(func(string) {}) // keepHub tells
	began := time.Now()
	next, err := client.Open(ctx, own)
	var notes []string
	if err == nil {
		notes, err = next.EnsureHub(ctx, func() { j.conn.setTrouble("starting the hub"); j.feed.Refresh() })
	}
	for _, n := range notes {
		j.noteOnce(n)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		j.conn.setTrouble("no hub: fika up")
		j.noteOnce(err.Error())
	case !next.Connected():
		j.conn.setTrouble("no hub: fika up")
	default:
		j.conn.setTrouble("")
		if again {
			j.note("— the hub was gone; started it again (" + time.Since(began).Round(time.Millisecond).String() + ")")
		}
		j.conn.replace(ctx, next, own)
		return true
	}
	_ = own.Close()
	return false
}
