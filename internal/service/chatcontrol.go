package service

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/store"
)

// ChatControl pauses, resumes and stops the work in chats.
type ChatControl struct{ c *Service }

// Pause lets running steps of a chat finish and nothing new begin. It also pauses the
// runs that were begun in the chat.
func (s *ChatControl) Pause(ctx context.Context, conv fika.Conversation) error {
	if err := s.c.may("conversation.pause"); err != nil {
		return err
	}
	if err := s.setPaused(ctx, conv, true); err != nil {
		return err
	}
	_, err := s.eachRun(ctx, conv, func(runs *Runs, r Run) error {
		_, err := runs.Pause(ctx, r.ID)
		return err
	})
	return err
}

// Resume ends a pause, including one that is held by a [PauseLease].
func (s *ChatControl) Resume(ctx context.Context, conv fika.Conversation) error {
	if err := s.c.may("conversation.resume"); err != nil {
		return err
	}
	if err := s.setPaused(ctx, conv, false); err != nil {
		return err
	}
	_, err := s.eachRun(ctx, conv, func(runs *Runs, r Run) error {
		_, err := runs.Continue(ctx, r.ID)
		return err
	})
	return err
}

func (s *ChatControl) setPaused(ctx context.Context, conv fika.Conversation, paused bool) error {
	agents, err := s.c.store.SetPaused(ctx, conv.ID, paused)
	if err == nil {
		s.c.wake(ctx, agents...)
	}
	return err
}

// PauseAll pauses everything, including chats that do not exist yet.
func (s *ChatControl) PauseAll(ctx context.Context) error { return s.setAllPaused(ctx, true) }

// ResumeAll ends the effect of PauseAll. Chats that are paused themselves stay paused.
func (s *ChatControl) ResumeAll(ctx context.Context) error { return s.setAllPaused(ctx, false) }

func (s *ChatControl) setAllPaused(ctx context.Context, paused bool) error {
	if err := s.c.may("home.pause"); err != nil {
		return err
	}
	agents, err := s.c.store.SetAllPaused(ctx, paused)
	if err == nil {
		s.c.wake(ctx, agents...)
	}
	return err
}

// AllPaused reports whether everything is paused.
func (s *ChatControl) AllPaused(ctx context.Context) (bool, error) { return s.c.store.AllPaused(ctx) }

// Stop drops the waiting work of a chat and asks its running work to end, including the
// runs that were begun in the chat.
func (s *ChatControl) Stop(ctx context.Context, conv fika.Conversation) (d Dropped, err error) {
	if err := s.c.may("conversation.stop"); err != nil {
		return d, err
	}
	return once(ctx, s.c, "conversation.stop", []any{conv.ID}, func(to *store.Store) (Dropped, error) { return s.stop(ctx, to, conv) },
		func(done *store.Repeated) (d Dropped, err error) {
			for _, r := range done.All(store.RequestEvent) {
				d.Requests = append(d.Requests, r.Request)
			}
			return d, nil
		})
}

// stop ends the runs of a chat, which bears repeating, and then all else in one
// transaction of a store.
func (s *ChatControl) stop(ctx context.Context, to *store.Store, conv fika.Conversation) (d Dropped, err error) {
	d.Runs, err = s.eachRun(ctx, conv, func(runs *Runs, r Run) error {
		_, err := runs.Cancel(ctx, r.ID, "the chat was stopped")
		return err
	})
	if err != nil {
		return d, err
	}
	if d.Dropped, err = to.StopChat(ctx, conv.ID, s.c.interruption("")); err != nil {
		return d, err
	}
	for _, id := range d.Requests {
		s.c.Requests.wakeStopped(ctx, id)
	}
	s.c.wake(ctx, d.Jobs...)
	return d, nil
}

// Continue resumes the work in a chat that a limit has stopped, with fresh counters,
// and returns the agents that go on. It returns NotFound if no limit has stopped
// anything.
func (s *ChatControl) Continue(ctx context.Context, conv fika.Conversation) ([]fika.AgentName, error) {
	if err := s.c.may("conversation.continue"); err != nil {
		return nil, err
	}
	agents, err := once(ctx, s.c, "conversation.continue", []any{conv.ID}, func(to *store.Store) ([]fika.AgentName, error) {
		return to.ContinueChain(ctx, conv.ID)
	}, func(done *store.Repeated) ([]fika.AgentName, error) { return s.c.namesIn(ctx, done) })
	if fika.IsKind(err, fika.NotFound) {
		return nil, fika.Errorf(fika.NotFound, "", "no limit has stopped anything in %q", conv.Name)
	}
	if err != nil {
		return nil, err
	}
	s.c.wake(ctx, agents...)
	return agents, nil
}

// namesIn returns the names of the agents that a write was about.
func (c *Service) namesIn(ctx context.Context, done *store.Repeated) (names []fika.AgentName, err error) {
	rows, err := c.store.ListAgents(ctx)
	for _, r := range rows {
		if slices.ContainsFunc(done.All(store.AgentEvent), func(x store.Result) bool { return x.Agent == r.ID }) {
			names = append(names, r.Name)
		}
	}
	return names, err
}

const (
	// leaseTime is how long a chat stays paused if the holder of the lease does not
	// renew it.
	leaseTime = 15 * time.Second
	// renewEvery is how often the holder renews the lease.
	renewEvery = 5 * time.Second
)

// PauseLease keeps a chat paused for as long as this process renews it. A nil lease
// does nothing. It is safe for concurrent use.
type PauseLease struct {
	// First reports whether the chat was not paused before.
	First bool

	c     *Service
	conv  fika.Conversation
	owner string

	mu      sync.Mutex
	renewed time.Time // zero: it has ended
}

// HoldPaused pauses a chat until the lease is released, or is not renewed for 15
// seconds.
func (s *ChatControl) HoldPaused(ctx context.Context, conv fika.Conversation, who string) (*PauseLease, error) {
	if err := s.c.may("conversation.hold"); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	l := &PauseLease{c: s.c, conv: conv, owner: fmt.Sprintf("%s (pid %d on %s)", who, os.Getpid(), host), renewed: time.Now()}
	l.First, err = s.c.store.LeasePause(ctx, conv.ID, l.owner, leaseTime)
	return l, err
}

// Renew renews the lease if that is due. It returns an error only once, when the lease
// has been lost; then the lease has ended.
func (l *PauseLease) Renew(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() || time.Since(l.renewed) < renewEvery {
		return nil
	}
	err := l.c.store.RenewPause(ctx, l.conv.ID, l.owner, leaseTime)
	switch {
	case err == nil:
		l.renewed = time.Now()
	case fika.IsKind(err, fika.Lost):
		l.renewed = time.Time{}
		return err
	}
	return nil // the store is busy, or the person is leaving: the next call tries again
}

// Forget ends the lease without resuming the chat, because somebody has resumed it on
// purpose.
func (l *PauseLease) Forget() {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.renewed = time.Time{}
	}
}

// Release ends the lease and reports whether this resumed the chat.
func (l *PauseLease) Release() (resumed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return false, nil
	}
	l.renewed = time.Time{}
	ctx, cancel := context.WithTimeout(context.Background(), leaseTime) // the command's own context may have ended
	defer cancel()
	agents, err := l.c.store.ReleasePause(ctx, l.conv.ID, l.owner)
	if err != nil {
		return false, err
	}
	l.c.wake(ctx, agents...)
	conv, err := l.c.store.ConversationByID(ctx, l.conv.ID)
	return !conv.Paused, err
}
