package client

import (
	"context"
	"fmt"
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/limit"
)

// Budgets tells how the budgets of the home stand; nothing when it has none.
func (c *Client) Budgets(ctx context.Context) ([]BudgetBalance, error) {
	return c.balances(ctx, c.config().Budgets)
}

func (c *Client) balances(ctx context.Context, budgets []config.Budget) ([]BudgetBalance, error) {
	list := app.LimitBudgets(budgets)
	if len(list) == 0 {
		return nil, nil
	}
	id, err := c.home.ID()
	if err != nil {
		return nil, err
	}
	return c.store.Balances(ctx, id, limit.Budgets{List: list})
}

// SetBudget writes a budget into the home's config.toml, or takes it out of there, and lets
// what waits for it look again. It returns how the budget stands. Error kind
// Invalid for one that could not act, NotFound for one to be removed that is not
// there.
func (c *Client) SetBudget(ctx context.Context, b config.Budget, remove bool) ([]BudgetBalance, error) {
	if !remove {
		if err := c.config().CheckBudget(b); err != nil {
			return nil, err
		}
		if err := c.priced(b); err != nil {
			return nil, err
		}
	}
	if err := config.SetBudget(c.home.ConfigFile(), b, remove); err != nil {
		return nil, err
	}
	if err := c.store.LookAgain(ctx); err != nil || remove {
		return nil, err
	}
	return c.balances(ctx, []config.Budget{b})
}

// priced refuses to limit the money of contexts whose model, chosen by the
// environment, has no price.
func (c *Client) priced(b config.Budget) error {
	if b.Money <= 0 || len(c.config().Models) > 0 || c.config().Model != "" {
		return nil // it was looked at
	}
	m, err := c.app.PlainModel()
	if err == nil && !m.PriceKnown() {
		return fika.Errorf(fika.Invalid, "", "%s", config.UnpricedWarning(m.ID, ""))
	}
	return nil
}

// CostKnown is that of the settings ([config.Config.CostKnown]).
func (c *Client) CostKnown(model string, u fika.Usage) bool { return c.config().CostKnown(model, u) }

// RequestUnpriced reports whether it is not known what a request, or a part of it, has
// cost.
func (c *Client) RequestUnpriced(r RequestInfo) bool {
	for _, m := range r.Outcome.Models {
		if !c.CostKnown(m.Model, fika.Usage{Input: 1}) {
			return true
		}
	}
	return !c.CostKnown(r.Outcome.Model, r.Outcome.Usage)
}

// ScarceBudgets are those of the home of which four fifths and more are spent.
func (c *Client) ScarceBudgets(ctx context.Context) ([]BudgetBalance, error) {
	all, err := c.Budgets(ctx)
	return slices.DeleteFunc(all, func(b BudgetBalance) bool { return !b.CrossesWarning(limit.Amount{}, b.Spent) }), err
}

// BudgetLine is a budget in one line, for a person.
func BudgetLine(b BudgetBalance) string {
	text := b.StandingLine(b.Balance)
	if b.Holder != "" {
		text = fmt.Sprintf("%s: %s", b.Holder, text)
	}
	return text
}
