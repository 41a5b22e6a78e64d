package guest

import (
	"sync"
	"time"
)

// Pool keeps the session of an agent between two turns, so that the next turn of the same
// conversation finds its program running. It keeps one at a time: each holds some hundred
// megabytes. Its methods are safe for concurrent use.
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
	timer *time.Timer
}

// NewPool returns a pool without sessions. The caller must close it.
func NewPool() *Pool { return &Pool{kept: map[string]*kept{}} }

// Take returns the session that was left at a place, which from then on is the caller's; nil:
// there is none. It is the one with this id, whose program runs and was started under the same
// conditions. If there is none, the caller starts a program: any that is kept is ended first,
// because programs lock files of the home that they share.
func (p *Pool) Take(place, alike, id string) *Session {
	p.mu.Lock()
	k := p.kept[place]
	if k != nil && k.timer.Stop() && k.alike == alike && k.ID() == id && k.canStay() {
		delete(p.kept, place)
		p.mu.Unlock()
		k.known = true
		return k.Session
	}
	p.endAll()
	p.mu.Unlock()
	p.ending.Wait()
	return nil
}

// Leave gives a session back after a turn, to be kept at a place for a time. It is ended
// instead, with what [Session.Close] returns, if it cannot work another turn. One that is kept
// for another turn makes room for it.
func (p *Pool) Leave(place, alike string, stay time.Duration, s *Session) []string {
	p.mu.Lock()
	if p.closed || stay <= 0 || !s.canStay() {
		p.mu.Unlock()
		return s.Close()
	}
	defer p.mu.Unlock()
	p.endAll()
	k := &kept{Session: s, alike: alike}
	k.timer = time.AfterFunc(stay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.kept[place] == k {
			p.end(place)
		}
	})
	p.kept[place] = k
	return nil
}

// endAll ends what is kept beside the caller, who holds mu.
func (p *Pool) endAll() {
	for place, k := range p.kept {
		k.timer.Stop()
		p.end(place)
	}
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
	p.endAll()
	p.mu.Unlock()
	p.ending.Wait()
}
