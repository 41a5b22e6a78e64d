package service

import (
	"context"
	"fmt"
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/rights/limit"
	"fika/internal/settings/config"
)

// Budgets is the interface to the budgets of a home.
type Budgets struct{ c *Service }

// Budgets returns the interface to the budgets of this home.
func (c *Service) Budgets() *Budgets { return &Budgets{c} }

// List returns the balances of the home's budgets; nil if it has none.
func (s *Budgets) List(ctx context.Context) ([]BudgetBalance, error) {
	if err := s.c.may("budget.list"); err != nil {
		return nil, err
	}
	return s.balances(ctx, s.c.config().Budgets)
}

func (s *Budgets) balances(ctx context.Context, budgets []config.Budget) ([]BudgetBalance, error) {
	list := app.LimitBudgets(budgets)
	if len(list) == 0 {
		return nil, nil
	}
	id, err := s.c.home.ID()
	if err != nil {
		return nil, err
	}
	return s.c.store.Balances(ctx, id, limit.Budgets{List: list})
}

// Set writes a budget into the home's config.toml, or removes it, and wakes the agents
// that wait for it. It returns the budget's balance. Error kinds: Invalid for a budget
// that could have no effect, NotFound if the budget to be removed does not exist.
func (s *Budgets) Set(ctx context.Context, b config.Budget, remove bool) ([]BudgetBalance, error) {
	verb, want := "budget.set", b
	if remove {
		verb, want.Money, want.Tokens = "budget.delete", 0, 0
	}
	if err := s.c.may(verb); err != nil {
		return nil, err
	}
	err := s.c.intent(ctx, verb, []any{b}, wish{
		want: want, state: func() (any, error) { return s.defined(b) }, do: func() error { return s.set(ctx, b, remove) },
	})
	if err != nil || remove {
		return nil, err
	}
	return s.balances(ctx, []config.Budget{b})
}

// defined returns the budget of b's scope and time in the settings; one without limits
// if there is none.
func (s *Budgets) defined(b config.Budget) (config.Budget, error) {
	conf, err := s.c.app.Config()
	now := config.Budget{Scope: b.Scope, Per: b.Per}
	if err != nil {
		return now, err
	}
	for _, d := range conf.Budgets {
		if d.Scope == b.Scope && d.Per == b.Per {
			now.Money, now.Tokens = d.Money, d.Tokens
		}
	}
	return now, nil
}

func (s *Budgets) set(ctx context.Context, b config.Budget, remove bool) error {
	if !remove {
		if err := s.c.config().CheckBudget(b); err != nil {
			return err
		}
		if err := s.refuseUnpriced(b); err != nil {
			return err
		}
	}
	if err := config.SetBudget(s.c.home.ConfigFile(), b, remove); err != nil {
		return err
	}
	id, err := s.c.home.ID()
	if err != nil {
		return err
	}
	now := limit.Budgets{}
	if !remove {
		now.List = app.LimitBudgets([]config.Budget{b})
	}
	return s.c.store.CatchUp(ctx, id, now)
}

// refuseUnpriced returns an error for a limit on money if the environment chooses the
// model and the model has no known price.
func (s *Budgets) refuseUnpriced(b config.Budget) error {
	if b.Money <= 0 || len(s.c.config().Models) > 0 || s.c.config().Model != "" {
		return nil // the configuration has been checked
	}
	m, err := s.c.app.PlainModel()
	if err == nil && !m.PriceKnown() {
		return fika.Errorf(fika.Invalid, "", "%s", config.UnpricedWarning(m.ID, ""))
	}
	return nil
}

// CostKnown is [config.Config.CostKnown] of the current settings.
func (c *Service) CostKnown(model string, u fika.Usage) bool { return c.config().CostKnown(model, u) }

// RequestUnpriced reports whether the cost of a request, or of a part of it, is
// unknown.
func (c *Service) RequestUnpriced(r RequestInfo) bool {
	for _, m := range r.Outcome.Models {
		if !c.config().PriceKnown(m.Model) {
			return true
		}
	}
	return !c.CostKnown(r.Outcome.Model, r.Outcome.Usage)
}

// Scarce returns the budgets of the home of which four fifths or more are spent.
func (s *Budgets) Scarce(ctx context.Context) ([]BudgetBalance, error) {
	all, err := s.List(ctx)
	return slices.DeleteFunc(all, func(b BudgetBalance) bool { return !b.CrossesWarning(limit.Amount{}, b.Spent) }), err
}

// BudgetLine describes a budget in one line, for a person.
func BudgetLine(b BudgetBalance) string {
	text := b.StandingLine(b.Balance)
	if b.Holder != "" {
		text = fmt.Sprintf("%s: %s", b.Holder, text)
	}
	return text
}
