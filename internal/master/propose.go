package master

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/client"
)

// proposal is an agent that was proposed for a line without one.
type proposal struct {
	agent  fika.AgentName
	prompt string
}

// propose asks whether the agent that a prompt is for shall have it. It asks only
// at a terminal, and only when that is sure; false: it asked nothing.
func (m *Master) propose(ctx context.Context, prompt string) bool {
	if !m.o.Screen.Interactive() {
		return false
	}
	row, match, err := m.o.Directory.Choose(ctx, prompt)
	if err != nil {
		return false
	}
	what := "work"
	if match.Work != "" {
		what = match.Work
	}
	m.offered = &proposal{row.Name, prompt}
	m.printLine("%s", m.o.Style.Yellow(fmt.Sprintf("This looks like %s. Use @%s? [Y/n]", what, row.Name)))
	return true
}

// answerProposal takes a line for the answer to what was proposed, if it is one.
// Anything but yes and no is a line of its own, and the proposal is dropped.
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
		m.printLine("%s", m.o.Style.Dim("not sent; write @name: before it, /agents list shows who there is"))
		return true
	}
	m.printLine("%s", m.o.Style.Dim("not sent"+ofRequest(p.prompt)))
	return false
}

// findAgent finds the agent of a line: auto is the one that the prompt is for, of
// which the person is told why.
func (m *Master) findAgent(ctx context.Context, name, prompt string) (fika.Agent, error) {
	if !strings.EqualFold(name, client.Auto) {
		return m.o.Directory.Find(ctx, name)
	}
	row, match, err := m.o.Directory.ChooseJudged(ctx, prompt, func(text string) { m.printLine("%s", m.o.Style.Yellow(text)) })
	if err == nil && !m.o.Quiet {
		m.printLine("%s", m.o.Style.Dim("@"+string(row.Name)+": "+match.Why))
	}
	return row, err
}
