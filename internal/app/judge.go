package app

import (
	"context"
	"time"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/limit"
	"fika/internal/llm"
	"fika/internal/route"
	"fika/internal/store"
)

// judgeTime is how long the routing model may take, because a person waits to see who
// gets the prompt.
const judgeTime = 20 * time.Second

// routingSpender is the name under which the ledger records calls of the routing model.
const routingSpender = "routing"

// Assign is [App.Route] for a person, except that the routing model decides if the
// ranking is not sure. It chooses among the agents that can be chosen. warn is told why
// it has not chosen; then only the ranking counts.
func (a *App) Assign(ctx context.Context, s *store.Store, prompt string, warn func(string)) ([]route.Match, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	agents, err := a.candidates(ctx, s, nil, nil)
	if err != nil {
		return nil, err
	}
	list := route.Rank(agents, prompt)
	name := c.Routing.Model
	if name == "" || len(list) == 0 || list[0].Sure {
		return list, nil
	}
	chosen, err := a.askJudge(ctx, s, c, route.Question(agents, prompt))
	switch {
	case ctx.Err() != nil:
		return nil, fika.Wrap(fika.Interrupted, "", ctx.Err())
	case err != nil:
		warn("the routing model " + name + " was not heard, so ranking alone counts: " + err.Error())
		return list, nil
	}
	judged, why := route.Judge(list, chosen, name)
	if why != "" {
		warn(why)
	}
	return judged, nil
}

// askJudge calls the routing model, and records its usage in the ledger.
func (a *App) askJudge(ctx context.Context, s *store.Store, c *config.Config, q llm.Request) (string, error) {
	settings, err := a.Settings(folder.DefaultContext, map[string]string{"model": c.Routing.Model}, true)
	if err != nil {
		return "", err
	}
	if err := a.mayJudge(ctx, s, c, settings); err != nil {
		return "", err
	}
	model, err := a.Model(settings)
	if err != nil {
		return "", err
	}
	within, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	q.MaxTokens = settings.MaxTokens
	resp, err := model.Generate(within, q, func(llm.Event) error { return nil })
	if within.Err() != nil && ctx.Err() == nil {
		err = fika.Errorf(fika.Provider, "", "it did not answer within %s", judgeTime)
	}
	if resp.Usage != (fika.Usage{}) {
		if bookErr := a.bookJudge(ctx, s, settings.Model.ID, resp.Usage); err == nil {
			err = bookErr
		}
	}
	return resp.Text, err
}

func (a *App) bookJudge(ctx context.Context, s *store.Store, model string, u fika.Usage) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	id, err := h.ID()
	if err != nil {
		return err
	}
	return s.BookSummary(context.WithoutCancel(ctx), fika.Agent{ID: routingSpender, HomeID: id}, model, u)
}

// mayJudge refuses a call that does not fit into a budget of the home.
func (a *App) mayJudge(ctx context.Context, s *store.Store, c *config.Config, settings config.Settings) error {
	spent, err := a.balances(ctx, s, c)
	if err != nil {
		return err
	}
	for _, b := range spent {
		if b.Scope != limit.ScopeHome {
			continue
		}
		need, err := dearestCall(settings.All(), b.Money > 0)
		if err != nil {
			return err
		}
		if b.Verdict(b.Balance, need) != nil {
			return fika.Errorf(fika.Limit, "", "over budget: %s", b.StandingLine(b.Balance))
		}
	}
	return nil
}
