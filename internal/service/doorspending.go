package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/settings/config"
)

func (d door) Spending(ctx context.Context, since time.Time, by string) (out api.Spending, err error) {
	if by != "" && !slices.Contains(SpendingKeys(), by) {
		return out, d.fails(fika.Errorf(fika.Invalid, "", "spending is added up by %s, not by %.40q", strings.Join(SpendingKeys(), ", "), by))
	}
	lines, total, err := d.c.Spending(ctx, since, by)
	if err != nil {
		return out, d.fails(err)
	}
	out = api.Spending{Lines: []api.Spent{}, Total: spent(total), Budgets: []api.BudgetInfo{}}
	for _, s := range lines {
		out.Lines = append(out.Lines, spent(s))
	}
	budgets, err := d.c.Budgets().List(ctx)
	for _, b := range budgets {
		out.Budgets = append(out.Budgets, api.BudgetInfo{
			Scope: b.Scope, Holder: b.Holder, Per: string(b.Budget.Per), Money: b.Money, MoneySpent: b.Spent.Money, Tokens: b.Tokens, TokenSpent: b.Spent.Tokens, Ends: b.Window.Ends,
		})
	}
	return out, d.fails(err)
}

func (d door) SetBudget(ctx context.Context, b api.BudgetInfo, remove bool, w api.Write) error {
	_, err := d.write(w).Budgets().Set(ctx, config.Budget{Scope: b.Scope, Per: b.Per, Money: config.MicroDollars(b.Money), Tokens: b.Tokens}, remove)
	return d.fails(err)
}

func spent(s Spent) api.Spent {
	return api.Spent{
		Agent: string(s.Agent), Model: s.Model, Chat: string(s.Chat), Workflow: s.Workflow, Day: s.Day, Requests: s.Requests,
		Input: s.Usage.Input, Cached: s.Usage.Cached, Output: s.Usage.Output, Cost: s.Usage.Cost, Unpriced: s.Unpriced, Estimated: s.Usage.Estimated, Subscription: s.Usage.Subscription,
	}
}
