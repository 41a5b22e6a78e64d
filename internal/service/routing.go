package service

import (
	"context"
	"strings"

	"fika"
	"fika/internal/chat/route"
	"fika/internal/text/hint"
)

// Match is how well an agent fits a prompt.
type Match = route.Match

// Auto stands in place of an agent's name when the agent is to be chosen from the
// prompt.
const Auto = "auto"

// Routing chooses the agent for a prompt.
type Routing struct{ c *Service }

// Rank orders the agents by how well they fit a prompt of the caller, the best first.
// Agents that cannot be chosen come last, with the reason.
func (s *Routing) Rank(ctx context.Context, prompt string) ([]Match, error) {
	who, _, err := s.c.speaker(ctx, Alias{})
	if err != nil {
		return nil, err
	}
	return s.c.app.Route(ctx, s.c.store, who, prompt, nil)
}

// RankJudged is [Routing.Rank], except that the routing model of the settings, if there
// is one, decides if the ranking is not sure and a person asks. warn is told why the
// model has not chosen.
func (s *Routing) RankJudged(ctx context.Context, prompt string, warn func(string)) ([]Match, error) {
	who, _, err := s.c.speaker(ctx, Alias{})
	if err != nil {
		return nil, err
	}
	if who != nil { // an agent does not spend a person's money on this
		return s.c.app.Route(ctx, s.c.store, who, prompt, nil)
	}
	return s.c.app.Assign(ctx, s.c.store, prompt, warn)
}

// Choose returns the agent for a prompt if the ranking alone is sure. Error kinds:
// NotFound if the prompt fits no agent that can be chosen, Invalid if the ranking is
// not sure.
func (s *Routing) Choose(ctx context.Context, prompt string) (fika.Agent, Match, error) {
	list, err := s.Rank(ctx, prompt)
	if err != nil {
		return fika.Agent{}, Match{}, err
	}
	return s.sureOf(ctx, list)
}

// ChooseJudged is [Routing.Choose] based on [Routing.RankJudged].
func (s *Routing) ChooseJudged(ctx context.Context, prompt string, warn func(string)) (fika.Agent, Match, error) {
	list, err := s.RankJudged(ctx, prompt, warn)
	if err != nil {
		return fika.Agent{}, Match{}, err
	}
	return s.sureOf(ctx, list)
}

// sureOf returns the agent that a ranking is sure of.
func (s *Routing) sureOf(ctx context.Context, list []Match) (_ fika.Agent, _ Match, err error) {
	const op = "choose an agent"
	var fit, barred []string
	best := 0.0 // among those that cannot be chosen
	for _, m := range list {
		switch {
		case m.Sure:
			row, err := s.c.Agents.Find(ctx, string(m.Agent))
			return row, m, err
		case m.Score > 0 && m.Barred != "" && len(barred) < mostNamed:
			best = max(best, m.Score)
			barred = append(barred, "@"+string(m.Agent)+": "+m.Barred)
		case m.Score > 0 && m.Barred == "" && len(fit) < mostNamed:
			fit = append(fit, "@"+string(m.Agent))
		}
	}
	switch {
	case len(list) == 0:
		err = fika.WithHint(fika.Errorf(fika.NotFound, op, "no agents"), hint.Init.With())
	case best > list[0].Score || len(fit) == 0 && len(barred) > 0:
		err = fika.Errorf(fika.NotFound, op, "the best match cannot take work now: %s", strings.Join(barred, "; "))
	case len(fit) > 0:
		err = fika.WithHint(fika.Errorf(fika.Invalid, op, "no clear match: %s; name one", strings.Join(fit, " or ")), hint.Route.With())
	default:
		err = fika.Errorf(fika.NotFound, op, "this fits no agent; name one (%s), or give agents a description, capabilities or examples", hint.AgentList.With())
	}
	return fika.Agent{}, Match{}, err
}

// mostNamed is the most agents that an error names.
const mostNamed = 3
