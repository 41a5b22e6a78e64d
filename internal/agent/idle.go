package agent

import (
	"encoding/json"
	"time"

	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/system/process"
)

// While an agent is idle, its hub may look at the store for it, and renew its lease. What the
// hub says goes to [Process.ownerLoop], which then puts off its own next look.

// hearIdle passes on what the hub says, unless that before is still to be read.
func (p *Process) hearIdle(m bus.Msg) {
	var said message.Idle
	if json.Unmarshal(m.Data, &said) != nil {
		return
	}
	select {
	case p.told <- said:
	default:
	}
}

// sparedBy reports whether what the hub said spares this process its next look, because it
// is idle and the hub has just looked, for this lease, and how long ago that was.
func (p *Process) sparedBy(said message.Idle) (since time.Duration, ok bool) {
	since = process.Boottime() - time.Duration(said.LookedAt)
	if said.Lease != string(p.opts.Lease.ID) || since < 0 || since > p.opts.Poll || p.stopping || p.woken || len(p.running) > 0 || p.isCompacting() {
		return 0, false
	}
	p.lookedFor = true
	if said.LeaseUntil > 0 {
		p.opts.Renewed(time.Duration(said.LeaseUntil))
	}
	return since, true
}
