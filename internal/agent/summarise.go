package agent

import (
	"context"
	"fmt"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/text/hint"
)

// Summarise summarises the agent's window, and changes nothing. Turns go on meanwhile.
type Summarise func(context.Context, message.Control) (message.Summarised, error)

// maxSummaries is how many summaries may be requested at once, because each costs
// money.
const maxSummaries = 4

// summaries are the summaries that were requested.
type summaries struct {
	due    []controlled               // not begun
	ending map[int]context.CancelFunc // cancel those being written
	begun  int                        // number begun so far
}

// noteSummary queues a summary, which is written beside the running turns.
func (p *Process) noteSummary(c controlled) {
	name := p.opts.Agent.Name
	switch {
	case p.stopping:
		c.answer(message.ControlReply{Error: fmt.Sprintf("@%s is just leaving; %s needs no process", name, hint.AgentSummarise.With(name))})
	case len(p.summaries.due)+len(p.summaries.ending) >= maxSummaries:
		c.answer(message.ControlReply{Error: fmt.Sprintf("@%s is writing %d summaries already; ask again when they are there", name, maxSummaries), ErrorKind: string(fika.Locked)})
	default:
		p.summaries.due = append(p.summaries.due, c)
	}
}

// beginSummaries starts writing the summaries that are due.
func (p *Process) beginSummaries(ctx context.Context) {
	for _, c := range p.summaries.due {
		ctx, cancel := context.WithCancel(ctx)
		p.summaries.begun++
		n := p.summaries.begun
		p.summaries.ending[n] = cancel
		p.turns.Add(1)
		go func() { // joined by ownerLoop
			defer p.turns.Done()
			defer cancel()
			done, err := p.opts.Summarise(ctx, c.ask)
			// Before the answer, because its receiver may ask for another summary at
			// once.
			p.postTask(func() { delete(p.summaries.ending, n) })
			c.answer(replyWith(done, err))
		}()
	}
	p.summaries.due = nil
}

// endSummaries cancels the summaries that are being written: nothing of them is stored.
func (p *Process) endSummaries() {
	for _, cancel := range p.summaries.ending {
		cancel()
	}
}
