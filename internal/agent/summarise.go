package agent

import (
	"context"
	"fmt"

	"fika"
	"fika/internal/message"
)

// Summarise sums up what the agent has in its window, and changes nothing. Turns
// go on meanwhile.
type Summarise func(context.Context, message.Control) (message.Summarised, error)

// maxSummaries is how many may be asked for at once: each is paid for.
const maxSummaries = 4

// summaries are those that were asked for.
type summaries struct {
	due    []controlled               // not begun
	ending map[int]context.CancelFunc // of those that are being written
	begun  int                        // so far
}

// noteSummary notes that somebody wants a summary, which is written beside the
// turns that run.
func (p *Process) noteSummary(c controlled) {
	name := p.opts.Agent.Name
	switch {
	case p.stopping:
		c.answer(message.ControlReply{Error: fmt.Sprintf("@%s is just leaving; fika agent summarise %s needs no process", name, name)})
	case len(p.summaries.due)+len(p.summaries.ending) >= maxSummaries:
		c.answer(message.ControlReply{Error: fmt.Sprintf("@%s is writing %d summaries already; ask again when they are there", name, maxSummaries), ErrorKind: string(fika.Locked)})
	default:
		p.summaries.due = append(p.summaries.due, c)
	}
}

// beginSummaries writes the summaries that are due.
func (p *Process) beginSummaries(ctx context.Context) {
	for _, c := range p.summaries.due {
		ctx, cancel := context.WithCancel(ctx)
		p.summaries.begun++
		n := p.summaries.begun
		p.summaries.ending[n] = cancel
		p.turns.Add(1)
		go func() { // joined by loop
			defer p.turns.Done()
			defer cancel()
			done, err := p.opts.Summarise(ctx, c.ask)
			// Before the answer: who has it may ask for another at once.
			p.postTask(func() { delete(p.summaries.ending, n) })
			c.answer(replyWith(done, err))
		}()
	}
	p.summaries.due = nil
}

// endSummaries ends those that are being written: nothing of them is stored.
func (p *Process) endSummaries() {
	for _, cancel := range p.summaries.ending {
		cancel()
	}
}
