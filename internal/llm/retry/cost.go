package retry

import (
	"context"

	"fika"
	"fika/internal/llm"
)

type coster struct {
	inner llm.Model
	cost  func(fika.Usage) (micro int64, known bool)
}

// FillCost fills in the cost of a call, in micro-dollars, if the provider did not state it.
// A call whose cost is not known is marked as unpriced: it never counts as free.
func FillCost(m llm.Model, cost func(fika.Usage) (micro int64, known bool)) llm.Model {
	return &coster{m, cost}
}

// Generate implements [llm.Model].
func (c *coster) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	res, err := c.inner.Generate(ctx, r, emit)
	if err != nil || res.Usage.Cost > 0 {
		return res, err
	}
	micro, known := c.cost(res.Usage)
	res.Usage.Cost, res.Usage.Unpriced = micro, !known
	return res, nil
}
