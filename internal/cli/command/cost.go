package command

import "fika"

// CostUSD returns the cost of a usage in US dollars; nil, which is null in JSON, if the
// price of the model is not known.
func (e *Env) CostUSD(model string, u fika.Usage) *float64 {
	usd := float64(u.Cost) / 1e6
	if c, err := e.App().Config(); usd == 0 && (err != nil || !c.CostKnown(model, u)) {
		return nil
	}
	return &usd
}

// ChargedUSD returns a sum over several models in US dollars; nil, which is null in
// JSON, if tokens were used and nothing was charged: no price is known of any of them.
func ChargedUSD(usd float64, tokens int64) *float64 {
	if usd == 0 && tokens > 0 {
		return nil
	}
	return &usd
}
