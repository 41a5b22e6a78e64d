package app

import (
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/settings/config"
)

// TestDearestModelIsReserved: a budget sets aside what a call of the dearest of an
// agent's models may cost, each kind by itself, and a model without a price is named.
func TestDearestModelIsReserved(t *testing.T) {
	small := config.ModelUse{Model: config.Model{ID: "small", Prices: config.Prices{Input: 1, Output: 1}, Priced: "here", Reserve: &config.Reserve{Input: 50_000, Output: 1000}}}
	large := config.ModelUse{Model: config.Model{ID: "large", Prices: config.Prices{Input: 10, Output: 20}, Priced: "here", Reserve: &config.Reserve{Input: 10_000, Output: 1000}}}
	s := config.Settings{Agent: "coder", ModelUse: small, Choice: config.ModelChoice{Models: []config.ModelUse{small, large}}}
	r := New(Options{Root: t.TempDir(), Now: time.Now, Getenv: func(string) string { return "" }}).Resolver
	got, err := r.TurnLimits(s).Budgets.Call("", true)
	if want := (limit.Amount{Money: 120_000, Tokens: 51_000}); err != nil || got != want {
		t.Errorf("%+v is set aside, %v; want %+v", got, err, want)
	}
	large.Model.Priced = ""
	s.Choice.Models[1] = large
	if _, err := r.TurnLimits(s).Budgets.Call("", true); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), `"large"`) {
		t.Errorf("without a price: %v", err)
	}
	if _, err := r.TurnLimits(s).Budgets.Call("", false); err != nil {
		t.Errorf("where money is not limited: %v", err)
	}
}
