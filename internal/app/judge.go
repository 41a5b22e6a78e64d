package app

import (
	"context"
	"time"

	"fika"
	"fika/internal/chat/route"
	"fika/internal/llm"
	"fika/internal/rights/limit"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
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
		warn("the routing model " + name + " did not answer, so ranking alone counts: " + err.Error())
		return list, nil
	}
	judged, why := route.Judge(list, chosen, name)
	if why != "" {
		warn(why)
	}
	return judged, nil
}

// askJudge calls the routing model.
func (a *App) askJudge(ctx context.Context, s *store.Store, c *config.Config, q llm.Request) (string, error) {
	model, err := a.PaidModel(ctx, s, c.Routing.Model, routingSpender)
	if err != nil {
		return "", err
	}
	within, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	resp, err := model.Generate(within, q, func(llm.Event) error { return nil })
	if within.Err() != nil && ctx.Err() == nil {
		err = fika.Errorf(fika.Provider, "", "it did not answer within %s", judgeTime)
	}
	return resp.Text, err
}

// PaidModel returns a model for calls outside of any request. It is refused if the
// home's budget does not allow a call, and so is each call; what it uses is recorded in the ledger under the
// name of the spender.
func (a *App) PaidModel(ctx context.Context, s *store.Store, name, spender string) (llm.Model, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	settings, err := a.Settings(folder.DefaultContext, map[string]string{"model": name}, true)
	if err != nil {
		return nil, err
	}
	if err := a.mayPay(ctx, s, c, settings); err != nil {
		return nil, err
	}
	model, err := a.Model(settings)
	if err != nil {
		return nil, err
	}
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	id, err := h.ID()
	if err != nil {
		return nil, err
	}
	may := func(ctx context.Context) error { return a.mayPay(ctx, s, c, settings) }
	return &paid{model, settings, s, fika.Agent{ID: fika.AgentID(spender), HomeID: id}, may}, nil
}

// paid is a model whose calls are recorded in the ledger.
type paid struct {
	model    llm.Model
	settings config.Settings
	store    *store.Store
	spender  fika.Agent
	may      func(context.Context) error
}

// Generate makes a call, as [llm.Model] says, and records what it used. It fails with kind
// Limit if what was spent meanwhile leaves no room for it in a budget of the home.
func (p *paid) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	if err := p.may(ctx); err != nil {
		return llm.Response{}, err
	}
	r.MaxTokens = p.settings.MaxTokens
	resp, err := p.model.Generate(ctx, r, emit)
	if u := resp.Usage.Add(resp.Wasted); u != (fika.Usage{}) {
		if bookErr := p.store.BookSummary(context.WithoutCancel(ctx), p.spender, p.settings.Model.ID, u); err == nil {
			err = bookErr
		}
	}
	return resp, err
}

// mayPay refuses a call that does not fit into a budget of the home.
func (a *App) mayPay(ctx context.Context, s *store.Store, c *config.Config, settings config.Settings) error {
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
