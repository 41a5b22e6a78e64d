package service

import (
	"context"

	"fika/internal/llm/modelcheck"
)

// CheckModel finds out what works with a model, named by its id or nickname: all of
// [modelcheck.Names], or what only names. It costs money, which the ledger records.
// Error kinds: Invalid for an unknown model or one without a key, Limit if the home's
// budget is used up, Provider if it cannot be asked.
func (c *Service) CheckModel(ctx context.Context, name string, only []string) (modelcheck.Report, error) {
	if err := c.may("file.call"); err != nil {
		return modelcheck.Report{}, err
	}
	m, err := c.app.PaidModel(ctx, c.store, name, "model-check")
	if err != nil {
		return modelcheck.Report{}, err
	}
	return modelcheck.Run(ctx, m, only)
}
