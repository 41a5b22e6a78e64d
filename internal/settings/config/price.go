package config

import (
	"strings"

	"fika"
)

// fromConfig is the source of prices that a person has written.
const fromConfig = "config"

// fillKnown fills in what the table of known models says of a model that does not say it
// itself: its context window, the most that it can write and, if it is reached at its own
// maker, its prices, because others may charge something else.
func (c *Config) fillKnown(m Model) Model {
	known, ok := c.known.Find(m.WireModel)
	if !ok {
		return m
	}
	m.ContextWindow = firstSet(m.ContextWindow, known.Window)
	m.MaxOutput = known.MaxTokens
	m.Known = known.Source + ", copy read " + known.Read
	if m.Priced == "" && known.Prices != nil && withinDomain(m.BaseURL, known.Host) {
		m.Prices, m.Priced = *known.Prices, m.Known
	}
	return m
}

// How long Claude caches, as settings say it.
const (
	CacheMinutes = "5m"
	CacheHour    = "1h"
)

// What writing to Anthropic's cache for five minutes, and for an hour, costs in prices of
// input: https://platform.claude.com/docs/en/about-claude/pricing
const (
	cacheWriteFactor     = 1.25
	longCacheWriteFactor = 2
)

// Cost returns what a call of the model costs in micro-dollars, and whether that is known.
func (m Model) Cost(u fika.Usage) (micro int64, known bool) {
	if !m.PriceKnown() {
		return 0, u.Input+u.Output == 0
	}
	p := m.withCacheWrite(m.Prices)
	if p.Long != nil {
		long := m.withCacheWrite(*p.Long)
		p.Long = &long
	}
	return p.Cost(u), true
}

// withCacheWrite returns prices with that of writing to Claude's cache, unless a person has
// set it.
func (m Model) withCacheWrite(p Prices) Prices {
	switch {
	case m.Priced == fromConfig && p.CacheWrite > 0:
	case m.CacheFor == CacheHour && (m.Provider == Anthropic || m.CacheControl):
		p.CacheWrite = longCacheWriteFactor * p.Input
	case m.Provider == Anthropic && p.CacheWrite == 0:
		p.CacheWrite = cacheWriteFactor * p.Input
	}
	return p
}

// PriceKnown reports whether the cost of a call of the model is known.
func (m Model) PriceKnown() bool { return m.Priced != "" }

// CostKnown reports whether the cost of usage u of a model, named as in reports, is known.
// What had no price when it was used keeps none: prices that are set later say nothing about
// it. Only a model that is free now can have used tokens and cost nothing.
// What a guest cost is known if it is something, or if something else than money pays.
func (c *Config) CostKnown(model string, u fika.Usage) bool {
	if strings.HasPrefix(model, fika.GuestModels) {
		free := strings.HasSuffix(model, fika.BySubscription) || strings.HasSuffix(model, fika.FreeOfCharge)
		return free || !u.Unpriced && (u.Cost > 0 || u.Input+u.Output == 0)
	}
	if u.Input+u.Output == 0 || u.Cost > 0 && !u.Unpriced {
		return true
	}
	m, err := c.FindModel(model, nil)
	return err == nil && m.PriceKnown() && m.Prices == (Prices{})
}

// PriceKnown reports whether a model, named as in reports, has a price now.
func (c *Config) PriceKnown(model string) bool {
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
