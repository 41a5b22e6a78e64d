package agent

import (
	"context"
	"encoding/json"

	"fika"
	"fika/internal/bus/message"
)

// Compact compacts the agent's conversation, or reverts the last compaction. No turn
// runs meanwhile.
type Compact func(context.Context, message.Control) (message.Compacted, error)

// controlled is an operation that a control message asked for, and that is answered
// when it is done.
type controlled struct {
	ask    message.Control
	answer func(message.ControlReply)
}

// noteCompaction queues a compaction of the conversation: it runs once no turn runs,
// and no turn begins before it is done.
func (p *Process) noteCompaction(c controlled) {
	if p.stopping {
		c.answer(message.ControlReply{Error: "@" + string(p.opts.Agent.Name) + " is just leaving; try again in a moment"})
		return
	}
	p.compactions = append(p.compactions, c)
}

// isCompacting reports whether a compaction is due or under way. No work is claimed
// until it is done.
func (p *Process) isCompacting() bool { return len(p.compactions) > 0 || p.endCompaction != nil }

// beginCompaction starts the next compaction if no turn runs.
func (p *Process) beginCompaction(ctx context.Context) {
	if len(p.compactions) == 0 || p.endCompaction != nil || len(p.running) > 0 || p.stopping {
		return
	}
	next := p.compactions[0]
	p.compactions = p.compactions[1:]
	ctx, p.endCompaction = context.WithCancel(ctx)
	p.setState(fika.AgentBusy)
	p.turns.Add(1)
	go func() { // joined by ownerLoop
		defer p.turns.Done()
		done, err := p.opts.Compact(ctx, next.ask)
		next.answer(replyWith(done, err))
		p.postTask(p.compactionEnded)
	}()
}

func (p *Process) compactionEnded() {
	p.endCompaction()
	p.endCompaction, p.idleSince = nil, p.opts.Now()
	if len(p.running) == 0 {
		p.setState(fika.AgentIdle)
	}
}

// refuseCompactions answers the compactions that will not run because the process ends,
// and cancels the one under way and the summaries: nothing of them is stored yet.
func (p *Process) refuseCompactions() {
	for _, c := range p.compactions {
		c.answer(message.ControlReply{Error: "@" + string(p.opts.Agent.Name) + " stopped before it could compact"})
	}
	p.compactions = nil
	p.endSummaries()
	if p.endCompaction != nil {
		p.endCompaction()
	}
}

// replyWith returns the reply to a control message, given the result of its operation.
func replyWith(done any, err error) message.ControlReply {
	if err != nil {
		return message.ControlReply{Error: err.Error(), ErrorKind: string(fika.KindOf(err))}
	}
	data, err := json.Marshal(done)
	if err != nil {
		return message.ControlReply{Error: err.Error()}
	}
	return message.ControlReply{OK: true, Data: data}
}
