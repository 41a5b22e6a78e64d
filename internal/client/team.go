package client

import (
	"context"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// StartTeam begins a run in which a team works a prompt: the agents of a stage at
// the same time, each stage with what the one before gave. With combine (empty:
// nobody) that agent makes one answer of it. Error kinds: NotFound for an agent
// that there is not, with those there are; Denied inside a tool.
func (s *Runs) StartTeam(ctx context.Context, a workflow.Address, combine fika.AgentName, prompt string) (Run, *workflow.Definition, error) {
	for _, n := range a.Agents(combine) {
		if _, err := s.c.Agents.Find(ctx, string(n)); err != nil {
			return Run{}, nil, err
		}
	}
	d := a.Definition(combine)
	r, err := s.StartDefinition(ctx, d, map[string]string{"prompt": prompt}, a.Title(prompt))
	return r, d, err
}

// OfRun reports whether a request stands for a run of a workflow, which has an
// agent of its own that never works.
func OfRun(r RequestInfo) bool { return store.StandsForRun(r.Request) }
