package master

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/client"
	"fika/internal/term"
)

// pendingRequest is a request whose outcome is waited for.
type pendingRequest struct {
	id     fika.RequestID
	run    fika.RequestID // of a team's; empty: it is no run
	team   string         // who works at it
	agent  fika.AgentName // empty: worked here
	kind   fika.RequestKind
	prompt string
	from   time.Time
	cancel context.CancelFunc // of one that is worked here
}

// sendRequest commits a request. Its id is remembered first: a console that is killed
// in between loses nothing.
func (m *Master) sendRequest(ctx context.Context, name string, kind fika.RequestKind, prompt string) {
	row, err := m.findAgent(ctx, name, prompt)
	if err != nil {
		m.showTrouble(err)
		return
	}
	e := &pendingRequest{id: m.o.NewID(), agent: row.Name, kind: kind, prompt: prompt, from: m.o.Now()}
	m.waiting = append(m.waiting, e)
	m.keepPending()
	if _, err := m.o.Requests.Submit(ctx, row, client.Ask{ID: e.id, Kind: kind, Prompt: prompt, Sender: "master"}); err != nil {
		m.dropRequest(e)
		m.showTrouble(err)
		return
	}
	what := "Sent"
	if kind == fika.TaskRequest {
		what = "Sent task"
	}
	if !m.o.Quiet {
		m.printLine("→ %s to @%s%s", what, row.Name, m.o.Style.Dim("  "+shortID(e.id)))
	}
	if never := m.neverAnswers(ctx, row); never != "" {
		m.printLine("%s", m.o.Style.Yellow(term.Clean(never)+"; until then it waits"))
	}
	m.reviveHub(ctx, false)
}

// neverAnswers says why an agent will not come to what it was given by itself;
// "" when it will, once the console has started the hub.
func (m *Master) neverAnswers(ctx context.Context, row fika.Agent) string {
	if m.o.Revives != nil && m.o.Revives() {
		return ""
	}
	return m.o.Directory.NeverAnswers(ctx, row)
}

// workHere works a prompt in this process, one at a time.
func (m *Master) workHere(ctx context.Context, prompt string) {
	ctx, cancel := context.WithCancel(ctx)
	e := &pendingRequest{prompt: prompt, from: m.o.Now(), cancel: cancel}
	m.waiting = append(m.waiting, e)
	m.runBeside(func() func() {
		defer cancel()
		select {
		case m.here <- struct{}{}:
		case <-ctx.Done():
			return func() { m.dropRequest(e); m.printLine("%s cancelled%s", m.o.Style.Red("✗"), ofRequest(prompt)) }
		}
		info, err := m.o.Here(ctx, prompt)
		<-m.here
		return func() {
			m.dropRequest(e)
			if err != nil {
				m.showTrouble(err)
				return
			}
			m.showOutcome(e, info)
		}
	})
}

// takeUpPending takes up what an earlier console was waiting for. A piped one waits
// for its own lines only, and leaves the others to the next console.
func (m *Master) takeUpPending(ctx context.Context) error {
	ids, err := m.o.Memory.Load()
	if err != nil {
		m.showTrouble(err)
		return nil
	}
	if !m.o.Screen.Interactive() {
		m.earlier = ids
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
		m.waiting = append(m.waiting, e)
	}
	if len(m.waiting) > 0 {
		m.printLine("%s", m.o.Style.Dim(fmt.Sprintf("%d of the last time:", len(m.waiting))))
	}
	m.readOutcomes(ctx)
	m.keepPending()
	return nil
}

// keepPending stores what is waited for.
func (m *Master) keepPending() {
	ids := append([]fika.RequestID{}, m.earlier...)
	for _, e := range m.waiting {
		if e.id != "" {
			ids = append(ids, e.id)
		}
	}
	if err := m.o.Memory.Save(ids); err != nil {
		m.showTrouble(err)
	}
}

func (m *Master) dropRequest(e *pendingRequest) {
	m.waiting = slices.DeleteFunc(m.waiting, func(x *pendingRequest) bool { return x == e })
	if e.id != "" {
		m.keepPending()
	}
}

// readOutcomes reads the outcomes that are there by now.
func (m *Master) readOutcomes(ctx context.Context) {
	for _, e := range slices.Clone(m.waiting) {
		if e.id == "" {
			continue
		}
		info, err := m.o.Requests.Request(ctx, e.id)
		switch {
		case fika.IsKind(err, fika.NotFound):
			m.dropRequest(e)
			m.showTrouble(fika.Errorf(fika.NotFound, "", "request %s of @%s has been deleted", shortID(e.id), e.agent))
		case err != nil:
			if ctx.Err() == nil && m.said != err.Error() { // once, not at every look
				m.said = err.Error()
				m.printLine("%s", m.o.Style.Yellow(term.Clean(err.Error())))
			}
			return
		case info.State.Terminal():
			m.showOutcome(e, info)
			m.dropRequest(e) // after it was shown
		}
	}
	m.said = ""
}

// cancelRequest asks for a request to end; its outcome is shown as any other.
func (m *Master) cancelRequest(ctx context.Context, e *pendingRequest) {
	if e.cancel != nil {
		e.cancel()
		return
	}
	if e.agent == teamAgent {
		m.cancelTeam(ctx, e)
		return
	}
	r, err := m.o.Requests.Cancel(ctx, e.id, "cancelled from the master console")
	switch {
	case err != nil:
		m.showTrouble(err)
	case !r.State.Terminal():
		m.printLine("%s", m.o.Style.Dim(fmt.Sprintf("asked @%s to stop%s", e.agent, ofRequest(e.prompt))))
	}
	m.readOutcomes(ctx)
}

// shortID is the beginning of an id that tells it from others.
func shortID(id fika.RequestID) string { return string(id[:min(len(id), 13)]) }

// ofRequest names the request that an outcome belongs to.
func ofRequest(prompt string) string {
	return ": " + term.Truncate(term.CleanLine(strings.TrimSpace(prompt)), 60)
}
