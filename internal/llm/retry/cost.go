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
	for _, u := range []*fika.Usage{&res.Usage, &res.Wasted} {
		if u.Cost > 0 || *u == (fika.Usage{}) {
			continue
		}
		micro, known := c.cost(*u)
		u.Cost, u.Unpriced = micro, !known
	}
	return res, err
}
