package guest

import (
	"sync"
	"time"
)

// maxKept is how many programs one agent keeps between turns, each of which holds some
// hundred megabytes.
const maxKept = 2

// Pool keeps the sessions of one agent between two turns, so that the next turn of the same
// conversation finds its program running. Its methods are safe for concurrent use.
type Pool struct {
	mu     sync.Mutex
	kept   map[string]*kept // by place
	closed bool
	ending sync.WaitGroup
}

// kept is a session that nobody uses.
type kept struct {
	*Session
	alike string
	since time.Time
	timer *time.Timer
}

// NewPool returns a pool without sessions. The caller must close it.
func NewPool() *Pool { return &Pool{kept: map[string]*kept{}} }

// Take returns the session that was left at a place, which from then on is the caller's; nil:
// there is none. It is the one with this id, whose program runs and was started under the same
// conditions; any other is ended first, so that a place never has two.
func (p *Pool) Take(place, alike, id string) *Session {
	p.mu.Lock()
	k := p.kept[place]
	delete(p.kept, place)
	p.mu.Unlock()
	switch {
	case k == nil:
		return nil
	case !k.timer.Stop(), k.alike != alike, k.ID() != id, !k.canStay():
		k.Close()
		return nil
	}
	k.known = true
	return k.Session
}

// Leave gives a session back after a turn, to be kept at a place for a time. It is ended
// instead, with what [Session.Close] returns, if it cannot work another turn. The one that was
// left first makes room for it.
func (p *Pool) Leave(place, alike string, stay time.Duration, s *Session) []string {
	p.mu.Lock()
	if p.closed || stay <= 0 || p.kept[place] != nil || !s.canStay() {
		p.mu.Unlock()
		return s.Close()
	}
	if len(p.kept) >= maxKept {
		oldest := ""
		for name, k := range p.kept {
			if oldest == "" || k.since.Before(p.kept[oldest].since) {
				oldest = name
			}
		}
		p.kept[oldest].timer.Stop()
		p.end(oldest)
	}
	k := &kept{Session: s, alike: alike, since: time.Now()}
	k.timer = time.AfterFunc(stay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.kept[place] == k {
			p.end(place)
		}
	})
	p.kept[place] = k
	p.mu.Unlock()
	return nil
}

// end ends the session at a place beside the caller, who holds mu.
func (p *Pool) end(place string) {
	k := p.kept[place]
	delete(p.kept, place)
	p.ending.Go(func() { k.Close() })
}

// Close ends all sessions, and waits for their end. It may be called twice.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for place, k := range p.kept {
		k.timer.Stop()
		p.end(place)
	}
	p.mu.Unlock()
	p.ending.Wait()
}
