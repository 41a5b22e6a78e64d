package retry

import (
	"context"
	"math"

	"fika"
	"fika/internal/llm"
)

// Prices are in US dollars per million tokens. Cached is for input read from the
// provider's cache; 0 means that it costs what other input costs.
type Prices struct {
	Input  float64
	Output float64
	Cached float64
}

// Of returns the cost of a usage in micro-dollars, rounded to the nearest.
func (p Prices) Of(u fika.Usage) int64 {
	cached := p.Cached
	if cached <= 0 {
		cached = p.Input
	}
	n := float64(max(0, u.Input-u.Cached))*p.Input + float64(u.Cached)*cached + float64(u.Output)*p.Output
	if math.IsNaN(n) || n < 0 {
		return 0
	}
	return int64(math.Round(min(n, 1e18)))
}

type coster struct {
	inner  llm.Model
	prices Prices
}

// FillCost fills in the cost of a call if the provider did not state it.
func FillCost(m llm.Model, p Prices) llm.Model {
	if p == (Prices{}) {
		return m
	}
	return &coster{m, p}
}

// Generate implements [llm.Model].
func (c *coster) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	res, err := c.inner.Generate(ctx, r, emit)
	if err == nil && res.Usage.Cost == 0 {
		res.Usage.Cost = c.prices.Of(res.Usage)
	}
	return res, err
}
