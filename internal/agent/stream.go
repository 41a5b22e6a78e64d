package agent

import (
	"time"
	"unicode/utf8"

	"fika/internal/bus/message"
)

// The pace of streamed text on the bus.
const (
	// streamRate is the most streaming statuses of a turn that are published per
	// second, after the first, which is published at once.
	streamRate = 30
	// pieceLimit is the most bytes of text that one streaming status carries. A
	// character takes up to six bytes in JSON, and a message may have up to 1 MiB.
	pieceLimit = 128 << 10
)

// chunkKey identifies streamed texts that may be joined: those of one round that are
// all reasoning, or all not.
type chunkKey struct {
	round     int
	reasoning bool
}

// pacer joins the deltas of a model into pieces, so that listening programs receive at
// most streamRate statuses a second and still every byte. The first delta after a pause
// is published without delay; deltas that arrive within the following pause are
// collected and published when the pause is over, or when flushDeltas is called. A text
// that needs several pieces lengthens the pause. The caller must hold the mutex of the
// turn's statuses during every call; after calls its function with it held.
type pacer struct {
	now   func() time.Time
	after func(time.Duration, func()) stopper
	send  func(message.StatusData)

	next    time.Time // before this time, nothing is published by itself
	timer   stopper   // nil: nothing is due
	order   []chunkKey
	pending map[chunkKey][]byte
	offsets map[chunkKey]int // bytes of each text that have been published
}

// stopper is a timer.
type stopper interface{ Stop() bool }

// addDelta adds one delta.
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

// flushDeltas publishes the collected text.
func (p *pacer) flushDeltas() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	sent := 0
	for _, key := range p.order {
		for text := p.pending[key]; len(text) > 0; sent++ {
			n := pieceOf(text)
			d := message.StatusData{Chunk: string(text[:n]), Step: key.round, Round: key.round, Reasoning: key.reasoning}
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

// restartRound says that the text of a round is void: the following text starts again
// at offset 0. The caller must have called flushDeltas.
func (p *pacer) restartRound(round int) {
	delete(p.offsets, chunkKey{round, false})
	delete(p.offsets, chunkKey{round, true})
}

// pieceOf returns how many bytes of text the next status takes. It never splits a
// character.
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
