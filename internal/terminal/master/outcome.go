package master

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/hint"
)

// addPending adds a request to the pending ones.
func (m *Master) addPending(e *pendingRequest) { m.showError(m.pending.add(e)) }

// dropPending removes a request from the pending ones.
func (m *Master) dropPending(e *pendingRequest) { m.showError(m.pending.drop(e)) }

// showOutcome shows how a request ended, and counts it if it did not end well.
func (m *Master) showOutcome(e *pendingRequest, info service.RequestInfo) {
	if info.State != fika.Done {
		m.failed++
	}
	m.out.showOutcome(e, info)
}

// takeUpPending takes over the pending requests of an earlier console. A piped console
// waits only for its own lines, and leaves the others to the next console.
func (m *Master) takeUpPending(ctx context.Context) error {
	ids, err := m.o.Memory.Load()
	if err != nil {
		m.showTrouble(err)
		return nil
	}
	if !m.o.Screen.Interactive() {
		m.pending.earlier = ids
		return nil
	}
	for _, id := range ids {
		info, err := m.o.Requests.Request(ctx, id)
		if fika.IsKind(err, fika.NotFound) {
			continue // it was never committed, or has been deleted
		}
		if err != nil {
			return err
		}
		e := &pendingRequest{id: info.ID, agent: info.AskedName(), kind: info.Kind, prompt: info.Payload.Prompt, from: info.CreatedAt}
		if info.AgentName == teamAgent {
			e.run, e.kind = info.ID, "team"
		}
		m.pending.requests = append(m.pending.requests, e)
	}
	if n := len(m.pending.requests); n > 0 {
		m.out.printNote(fmt.Sprintf("%d of the last time:", n))
	}
	m.readOutcomes(ctx)
	m.showError(m.pending.keep())
	return nil
}

// readOutcomes reads the outcomes that are available by now.
func (m *Master) readOutcomes(ctx context.Context) {
	for _, e := range m.pending.stored() {
		info, err := m.o.Requests.Request(ctx, e.id)
		switch {
		case fika.IsKind(err, fika.NotFound):
			m.dropPending(e)
			m.showTrouble(fika.Errorf(fika.NotFound, "", "request %s of @%s has been deleted", shortID(e.id), e.agent))
		case err != nil:
			if ctx.Err() == nil && m.said != err.Error() { // once, not at every poll
				m.said = err.Error()
				m.out.printWarning(term.Clean(err.Error()))
			}
			return
		case info.State.Terminal():
			m.showOutcome(e, info)
			m.dropPending(e) // after it was shown
		}
	}
	m.said = ""
}

// cancelByID runs /cancel [ID]: it cancels the request whose id begins with ID, or the
// newest one if no id is given.
func (m *Master) cancelByID(ctx context.Context, args []string) error {
	if len(args) == 0 {
		newest := m.pending.newest()
		if newest == nil {
			return fika.Errorf(fika.NotFound, "", "nothing is waited for")
		}
		m.cancelRequest(ctx, newest)
		return nil
	}
	id := args[0]
	switch found := m.pending.startingWith(id); len(found) {
	case 1:
		m.cancelRequest(ctx, found[0])
	case 0: // a request that this console is not waiting for
		r, err := m.o.Requests.Cancel(ctx, fika.RequestID(id), "")
		if err != nil {
			return err
		}
		m.out.printLine("request %s: %s", shortID(r.ID), cancelWord(r))
	default:
		return fika.Errorf(fika.Invalid, "", "%d requests begin with %q; /queue shows them", len(found), id)
	}
	return nil
}

func cancelWord(r fika.Request) string {
	if r.State.Terminal() {
		return string(r.State)
	}
	return "asked to stop"
}

// cancelRequest asks for a request to end; its outcome is shown like any other.
func (m *Master) cancelRequest(ctx context.Context, e *pendingRequest) {
	switch {
	case e.cancel != nil:
		e.cancel()
		return
	case e.agent == teamAgent:
		if _, err := m.o.Teams.Cancel(ctx, e.run, "cancelled from the master console"); err != nil {
			m.showTrouble(err)
			return
		}
	default:
		r, err := m.o.Requests.Cancel(ctx, e.id, "")
		if err != nil {
			m.showTrouble(err)
		} else if !r.State.Terminal() {
			m.out.printNote(fmt.Sprintf("asked @%s to stop%s", e.agent, ofRequest(e.prompt)))
		}
	}
	m.readOutcomes(ctx)
}

// giveUp ends the wait for answers to piped input. Its error is of kind Detached.
func (m *Master) giveUp() error {
	var left []string
	for _, e := range m.pending.stored() {
		left = append(left, fmt.Sprintf("@%s (%s)", e.agent, e.id))
	}
	if len(left) == 0 {
		return fika.Errorf(fika.Detached, "", "you stopped waiting")
	}
	return fika.Errorf(fika.Detached, "", "you stopped waiting for %s; the work continues, and %s ID gets an answer", strings.Join(left, ", "), hint.RequestWait.With())
}

// sayFarewell says what goes on without the console.
func (m *Master) sayFarewell() {
	m.o.Screen.Status("")
	n := 0
	for _, e := range m.pending.requests {
		if e.cancel != nil {
			e.cancel()
		} else {
			n++
		}
	}
	if n > 0 {
		m.out.printNote(fmt.Sprintf("%d still at work; the next console shows what comes of it (or %s)", n, hint.RequestList))
	}
}
