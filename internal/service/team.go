package service

import (
	"context"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// StartTeam starts a run in which a team works the prompt of a line: the agents of a
// stage work at the same time, each stage gets the output of the one before, and the
// combining agent gets all output of the last stage. Error kinds: NotFound for an
// unknown agent, with the names that exist; Denied inside a tool, and for an agent that
// people may not call.
func (s *Runs) StartTeam(ctx context.Context, l workflow.Line) (Run, *workflow.Definition, error) {
	d, err := s.team(ctx, l)
	if err != nil {
		return Run{}, nil, err
	}
	r, err := s.StartDefinition(ctx, d, map[string]string{"prompt": l.Prompt}, l.Title())
	return r, d, err
}

// StartTeamIn starts the run of a line that a person posted in a chat. The line stands
// in the chat, where it mentions nobody, and so does its result.
func (s *Runs) StartTeamIn(ctx context.Context, conv fika.Conversation, text string, l workflow.Line, as Alias) (Run, error) {
	d, err := s.team(ctx, l)
	if err != nil {
		return Run{}, err
	}
	said, err := s.c.personSays(text, as.Name)
	if err != nil {
		return Run{}, err
	}
	if err := s.c.app.MayBeCalled(ctx, said.From, said.Username); err != nil {
		return Run{}, err
	}
	r, err := s.start(ctx, "run.team", d, map[string]string{"prompt": l.Prompt}, store.NewRun{
		Title: l.Title(), From: said.From, In: &store.RunLine{Chat: conv.ID, Text: said.Text, By: said.Username, TTL: said.TTL},
	})
	if err != nil {
		return r, err
	}
	if e, err := s.c.store.EntryByID(ctx, conv.ID, store.RunLineID(r.ID)); err == nil {
		s.c.waker.Show(conv, e)
	}
	return s.advanced(ctx, r.ID)
}

// team returns the workflow of a line, if its agents exist and may be called.
func (s *Runs) team(ctx context.Context, l workflow.Line) (*workflow.Definition, error) {
	if err := s.c.may("run.team"); err != nil {
		return nil, err
	}
	for _, n := range l.Agents() {
		if _, err := s.c.Agents.Find(ctx, string(n)); err != nil {
			return nil, err
		}
		if err := s.c.app.MayCall(ctx, nil, n); err != nil {
			return nil, err
		}
	}
	return l.Definition(), nil
}

// InChat returns the unfinished runs that report their result in a chat, oldest first.
func (s *Runs) InChat(ctx context.Context, conv fika.Conversation) ([]Run, error) {
	if err := s.c.mayConversation(ctx, "run.list", conv.ID); err != nil {
		return nil, err
	}
	return s.c.store.InChat(ctx, conv.ID)
}

// OfRun reports whether a request stands for a run of a workflow. Such a request has an
// agent of its own that never works.
func OfRun(r RequestInfo) bool { return store.StandsForRun(r.Request) }
