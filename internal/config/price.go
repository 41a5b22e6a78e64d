package config

import (
	"strings"

	"fika"
)

// listed is the price of a model at its own provider, from a copy of the provider's
// public page that was read on that day. The copy has no date and may be older, so
// everybody who sees a price is told that it is from a copy.
type listed struct {
	prices Prices
	source string
	day    string
}

// listedPrices returns the prices that have a source. None is inferred by analogy: a
// missing model has no known price.
func listedPrices() map[string]listed {
	const page, day = "https://platform.claude.com/docs/en/about-claude/pricing", "2026-11-22"
	opus := listed{Prices{Input: 5, Cached: 0.5, Output: 25}, page, day}
	return map[string]listed{
		"claude-opus-5": opus, "claude-opus-4-8": opus, "claude-opus-4-7": opus, "claude-opus-4-6": opus, "claude-opus-4-5": opus,
		"claude-fable-5":    {Prices{Input: 10, Cached: 1, Output: 50}, page, day},
		"claude-sonnet-4-6": {Prices{Input: 3, Cached: 0.3, Output: 15}, page, day},
		"claude-haiku-4-5":  {Prices{Input: 1, Cached: 0.1, Output: 5}, page, day},
	}
}

// fromConfig is the source of prices that a person has written.
const fromConfig = "config"

// undated returns an id without the date at its end that names an edition of a model.
func undated(id string) string {
	i := strings.LastIndex(id, "-20")
	if i < 0 || len(id)-i != len("-20251001") || strings.Trim(id[i+1:], "0123456789") != "" {
		return id
	}
	return id[:i]
}

// priced fills in the listed price of a model without its own, if it is reached at its
// own provider: others may charge something else.
func (m Model) priced() Model {
	if m.Priced != "" || !withinDomain(m.BaseURL, "anthropic.com") {
		return m
	}
	if l, ok := listedPrices()[undated(m.WireModel)]; ok {
		m.Prices, m.Priced = l.prices, l.source+", copy read "+l.day
	}
	return m
}

// PriceKnown reports whether the cost of a call of the model is known.
func (m Model) PriceKnown() bool { return m.Priced != "" }

// CostKnown reports whether the cost of usage u of a model, named as in reports, is
// known. A usage that contains its cost is known, whatever the settings say now.
func (c *Config) CostKnown(model string, u fika.Usage) bool {
	if u.Cost > 0 || u.Input+u.Output == 0 {
		return true
	}
	m, err := c.FindModel(model, nil)
	return err == nil && m.PriceKnown()
}

// DefaultReserve returns what is set aside for a call of a model without its own
// reserve.
func DefaultReserve() Reserve { return Reserve{Input: 20_000, Output: 4_000} }

func reserveKeys() []key[Reserve] {
	return []key[Reserve]{
		{name: "input", at: func(r *Reserve) any { return &r.Input }, example: "20000", doc: "For what the model reads."},
		{name: "output", at: func(r *Reserve) any { return &r.Output }, example: "4000", doc: "For what the model writes."},
	}
}
