package agent

import (
	"time"
	"unicode/utf8"

	"fika/internal/message"
)

// The pace of streamed text on the bus.
const (
	// streamRate is how many streaming statuses of a turn are published in a
	// second at most, after the first, which goes out at once.
	streamRate = 30
	// pieceLimit is how many bytes of text one streaming status carries. A
	// character takes up to six bytes in JSON, and a message up to 1 MiB.
	pieceLimit = 128 << 10
)

// chunkKey says which streamed texts may be joined: those of one round that
// are both reasoning, or both not.
type chunkKey struct {
	round     int
	reasoning bool
}

// pacer joins the deltas of a model into pieces, so that a program that
// listens is told at most streamRate times a second and still gets every byte.
// The first delta after a rest is published without delay; what comes within
// the pause after it is collected and published when the pause is over, or
// when flush is called. A text that needs several pieces lengthens the pause.
// The caller holds the mutex of the turn's statuses
// during every call; after hands the pacer a function that takes it again.
type pacer struct {
	now   func() time.Time
	after func(time.Duration, func()) stopper
	send  func(message.StatusData)

	next    time.Time // before it, nothing is published by itself
	timer   stopper   // nil: nothing is due
	order   []chunkKey
	pending map[chunkKey][]byte
	offsets map[chunkKey]int // bytes of that text that have been published
}

// stopper is a timer.
type stopper interface{ Stop() bool }

// addDelta takes one delta.
func (p *pacer) addDelta(key chunkKey, text string) {
	if _, ok := p.pending[key]; !ok {
		p.order = append(p.order, key)
	}
	p.pending[key] = append(p.pending[key], text...)
	if wait := p.next.Sub(p.now()); wait > 0 {
		if p.timer == nil {
			p.timer = p.after(wait, p.flushDeltas)
		}
		return
	}
	p.flushDeltas()
}

// flushDeltas publishes what has been collected.
func (p *pacer) flushDeltas() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	sent := 0
	for _, key := range p.order {
		for text := p.pending[key]; len(text) > 0; sent++ {
			n := pieceOf(text)
			d := message.StatusData{Chunk: string(text[:n]), Step: key.round, Reasoning: key.reasoning}
			if !key.reasoning {
				d.Offset = p.offsets[key]
			}
			p.offsets[key] += n
			p.send(d)
			text = text[n:]
		}
		delete(p.pending, key)
	}
	p.order = p.order[:0]
	if now := p.now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(sent) * time.Second / streamRate)
}

// restartRound says that the text of a round is void: what comes next is placed
// from its beginning again. The caller has called flush.
func (p *pacer) restartRound(round int) {
	delete(p.offsets, chunkKey{round, false})
	delete(p.offsets, chunkKey{round, true})
}

// pieceOf returns how many bytes of text the next status takes: it does not
// end within a character.
func pieceOf(text []byte) int {
	if len(text) <= pieceLimit {
		return len(text)
	}
	for n := pieceLimit; n > pieceLimit-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return pieceLimit
}
