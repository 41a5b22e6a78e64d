package command

import "fika"

// CostUSD is what was paid, in US dollars; nil, which is null in JSON, when no price
// is known of the model.
func (e *Env) CostUSD(model string, u fika.Usage) *float64 {
	usd := float64(u.Cost) / 1e6
	if c, err := e.App().Config(); usd == 0 && (err != nil || !c.CostKnown(model, u)) {
		return nil
	}
	return &usd
}

// ChargedUSD is what a sum over several models came to, in US dollars; nil, which is null
// in JSON, when tokens were used and nothing was charged: of none of them is a price known.
func ChargedUSD(usd float64, tokens int64) *float64 {
	if usd == 0 && tokens > 0 {
		return nil
	}
	return &usd
}
