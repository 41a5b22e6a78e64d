package agent

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/report/outcome"
	"fika/internal/store"
	"fika/internal/system/crash"
)

// Agents that were just mentioned begin at once; the rest is less urgent.
const (
	settle  = 25 * time.Millisecond  // from publishing an outcome to noting that it is published
	unasked = 250 * time.Millisecond // from the end of a turn in a chat, whose request id nobody has, to publishing its outcome
)

// announcer publishes outcomes beside the owner goroutine, so that the next claim never
// waits for the bus or the store. It is one goroutine, which closeAndWait ends and
// joins.
type announcer struct {
	p    *Process
	wake chan struct{} // capacity 1: one look finds everything
	soon chan struct{} // capacity 1: look after a while
	done chan struct{}
	sent []fika.RequestID // published, but not noted yet
}

func (p *Process) startAnnouncer() *announcer {
	a := &announcer{p: p, wake: make(chan struct{}, 1), soon: make(chan struct{}, 1), done: make(chan struct{})}
	go a.runLoop()
	return a
}

// lookNow makes the announcer read the store. It must not be called after closeAndWait.
func (a *announcer) lookNow() {
	select {
	case a.wake <- struct{}{}:
	default: // a look is already due
	}
}

// lookSoon makes the announcer read the store after a while.
func (a *announcer) lookSoon() {
	select {
	case a.soon <- struct{}{}:
	default:
	}
}

// closeAndWait lets the announcer finish what it was asked for, and waits for it.
func (a *announcer) closeAndWait() {
	close(a.wake)
	<-a.done
}

func (a *announcer) runLoop() {
	defer close(a.done)
	var due, late <-chan time.Time
	for {
		select {
		case _, more := <-a.wake:
			if !more {
				if late != nil || len(a.soon) > 0 {
					a.publishDue()
				}
				a.noteDue()
				return
			}
			late = nil
			a.publishDue()
		case <-a.soon:
			if late == nil {
				late = time.After(unasked)
			}
		case <-late:
			late = nil
			a.publishDue()
		case <-due:
			due = nil
			full := len(a.sent) >= outcome.Batch
			a.noteDue()
			if full { // there may be more, from a time without a bus
				a.publishDue()
			}
		}
		if due == nil && len(a.sent) > 0 {
			due = time.After(settle)
		}
	}
}

func (a *announcer) publishDue() {
	o := &a.p.opts // the owner goroutine changes its settings
	crash.Point("response.before")
	sent := outcome.Publish(context.Background(), o.Store.Outcomes, o.Bus, o.Subjects, o.Agent.ID, func(r store.RequestInfo) bool {
		return slices.Contains(a.sent, r.ID)
	})
	if len(sent) > 0 {
		crash.Point("response.after")
	}
	a.sent = append(a.sent, sent...)
}

func (a *announcer) noteDue() {
	outcome.NotePublished(context.Background(), a.p.opts.Store.Outcomes, a.sent)
	a.sent = nil
	select {
	case a.p.noted <- struct{}{}:
	default:
	}
}
