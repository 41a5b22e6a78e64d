package app

import (
	"fika/internal/config"
	"fika/internal/store"
)

// Limits are the limits of chains and agents as the store takes them.
func Limits(c config.Limits) store.Limits {
	return store.Limits{
		MaxDepth: c.MaxDepth, MaxTurns: c.MaxTurnsPerChain, MaxTokens: c.MaxTokensPerChain,
		MaxCost: int64(c.MaxCostPerChain), MaxAge: c.MaxChainAge, MaxEcho: c.MaxEcho,
		HourTurns: c.MaxTurnsPerHour, HourTokens: c.MaxTokensPerHour,
	}
}
