package api

import (
	"context"
	"time"
)

// Accountant says what was spent, and limits what may be.
type Accountant interface {
	// Spending adds up what was spent since a time: by agent, model, chat, workflow or
	// day, or by agent and model if by is empty. The most expensive comes first; days are
	// in order. It fails with [Invalid] for another key.
	Spending(ctx context.Context, since time.Time, by string) (Spending, error)
	// SetBudget sets a budget in place of the one of the same scope and time, or removes that.
	// Only Scope, Per, Money and Tokens of b count.
	SetBudget(ctx context.Context, b BudgetInfo, remove bool, w Write) error
}

// Spending is what was spent, with the budgets that hold.
type Spending struct {
	Lines   []Spent      `json:"lines"`
	Total   Spent        `json:"total"`
	Budgets []BudgetInfo `json:"budgets"` // as they stand now
}

// Spent is what was spent under one key. The fields of the other keys are empty.
type Spent struct {
	Agent     string `json:"agent,omitempty"`
	Model     string `json:"model,omitempty"`
	Chat      string `json:"chat,omitempty"`
	Workflow  string `json:"workflow,omitempty"`
	Day       string `json:"day,omitempty"` // 2026-11-22, by the clock of the service's machine
	Requests  int    `json:"requests"`      // each is counted once
	Input     int64  `json:"input"`         // tokens
	Cached    int64  `json:"cached"`        // of those
	Output    int64  `json:"output"`
	Cost      int64  `json:"cost"`      // in millionths of a dollar
	Unpriced  bool   `json:"unpriced"`  // some of it has no known price
	Estimated bool   `json:"estimated"` // some of it was estimated
	// Subscription says that a subscription pays for some of it.
	Subscription bool `json:"subscription,omitempty"`
}

// BudgetInfo is a budget and how much of it is used. A limit of 0 is none.
type BudgetInfo struct {
	Scope      string    `json:"scope"`
	Holder     string    `json:"holder,omitempty"` // the user or chain of a budget for each of them
	Per        string    `json:"per"`
	Money      int64     `json:"money"` // in millionths of a dollar
	MoneySpent int64     `json:"money_spent"`
	Tokens     int64     `json:"tokens"`
	TokenSpent int64     `json:"tokens_spent"`
	Ends       time.Time `json:"ends,omitzero"` // when it begins anew
}
