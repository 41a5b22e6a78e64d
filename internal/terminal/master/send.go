package master

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/words"
	"fika/internal/workflow"
)

// sendPlain sends text that names no agent.
func (m *Master) sendPlain(ctx context.Context, text string) {
	switch {
	case m.o.Default != "":
		m.sendRequest(ctx, string(m.o.Default), fika.AskRequest, text)
	case m.o.Configured && m.propose(ctx, text):
	case m.o.Configured:
		m.showTrouble(fika.Errorf(fika.Invalid, "", "no agent given; start the line with @NAME:, or set default_agent under [master] (/agents list)"))
	default:
		m.workHere(ctx, text)
	}
}

// sendRequest commits a request. Its id is saved first, so that a console that is killed
// in between loses nothing.
func (m *Master) sendRequest(ctx context.Context, name string, kind fika.RequestKind, prompt string) {
	row, err := m.findAgent(ctx, name, prompt)
	if err != nil {
		m.showTrouble(err)
		return
	}
	e := &pendingRequest{id: m.o.NewID(), agent: row.Name, kind: kind, prompt: prompt, from: m.o.Now()}
	m.addPending(e)
	if _, err := m.o.Requests.Submit(ctx, row, service.Ask{ID: e.id, Kind: kind, Prompt: prompt, Sender: "master"}); err != nil {
		m.dropPending(e)
		m.showTrouble(err)
		return
	}
	what := "Sent"
	if kind == fika.TaskRequest {
		what = "Sent task"
	}
	if !m.o.Quiet {
		m.out.printLine("→ %s to @%s%s", what, row.Name, m.o.Style.Dim("  "+shortID(e.id)))
	}
	if never := m.neverAnswers(ctx, row); !never.IsClear() {
		m.out.printWarning(term.Clean(words.Say(api.Stands(api.WaitingUntilThen).With(never), m.o.Now())))
	}
	m.reviveHub(ctx, false)
}

// findAgent finds the agent of a line. For auto it is the agent that the prompt is for,
// and the person is told why.
func (m *Master) findAgent(ctx context.Context, name, prompt string) (fika.Agent, error) {
	if !strings.EqualFold(name, service.Auto) {
		return m.o.Directory.Find(ctx, name)
	}
	row, match, err := m.o.Routing.ChooseJudged(ctx, prompt, m.out.printWarning)
	if err == nil && !m.o.Quiet {
		m.out.printNote("@" + string(row.Name) + ": " + match.Why)
	}
	return row, err
}

// neverAnswers says why an agent will not get to its work by itself; clear if it will, once
// the console has started the hub.
func (m *Master) neverAnswers(ctx context.Context, row fika.Agent) api.Status {
	if m.o.Revives != nil && m.o.Revives() {
		return api.Status{}
	}
	return m.o.Availability.NeverAnswers(ctx, row)
}

// sendTeam starts the work of a team. The run goes on without this console, which shows
// its outcome like that of any request.
func (m *Master) sendTeam(ctx context.Context, l workflow.Line) {
	r, _, err := m.o.Teams.StartTeam(ctx, l)
	if err != nil {
		m.showTrouble(err)
		return
	}
	e := &pendingRequest{id: r.Request, run: r.ID, agent: teamAgent, team: l.AddressText(), kind: "team", prompt: l.Prompt, from: m.o.Now()}
	m.addPending(e)
	if !m.o.Quiet {
		m.out.printLine("→ Sent to %s%s", l.AddressText(), m.o.Style.Dim("  "+shortID(e.id)))
	}
	m.reviveHub(ctx, false)
}

// workHere works a prompt in this process, one at a time.
func (m *Master) workHere(ctx context.Context, prompt string) {
	ctx, cancel := context.WithCancel(ctx)
	e := &pendingRequest{prompt: prompt, from: m.o.Now(), cancel: cancel}
	m.addPending(e)
	m.runBeside(func() func() {
		defer cancel()
		select {
		case m.here <- struct{}{}:
		case <-ctx.Done():
			return func() { m.dropPending(e); m.out.printFailure("cancelled%s", ofRequest(prompt)) }
		}
		info, err := m.o.Here(ctx, prompt)
		<-m.here
		return func() {
			m.dropPending(e)
			if err != nil {
				m.showTrouble(err)
				return
			}
			m.showOutcome(e, info)
		}
	})
}

// proposal is an agent that was proposed for a line that names none.
type proposal struct {
	agent  fika.AgentName
	prompt string
}

// propose asks whether the agent that a prompt is for should get it. It asks only at a
// terminal, and only if the choice is sure; it returns false if it did not ask.
func (m *Master) propose(ctx context.Context, prompt string) bool {
	if !m.o.Screen.Interactive() {
		return false
	}
	row, match, err := m.o.Routing.Choose(ctx, prompt)
	if err != nil {
		return false
	}
	work := "work"
	if match.Work != "" {
		work = match.Work
	}
	m.offered = &proposal{row.Name, prompt}
	m.out.printWarning(fmt.Sprintf("This looks like %s. Use @%s? [Y/n]", work, row.Name))
	return true
}

// answerProposal treats a line as the answer to a proposal, if there is one. Anything but
// yes and no is a line of its own, and the proposal is dropped.
func (m *Master) answerProposal(ctx context.Context, line string) bool {
	p := m.offered
	if p == nil {
		return false
	}
	m.offered = nil
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "", "y", "yes":
		m.sendRequest(ctx, string(p.agent), fika.AskRequest, p.prompt)
		return true
	case "n", "no":
		m.out.printNote("not sent: start the line with @NAME: (/agents list)")
		return true
	}
	m.out.printNote("not sent" + ofRequest(p.prompt))
	return false
}
