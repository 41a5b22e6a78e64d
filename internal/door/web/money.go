package web

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika/internal/api"
)

// accounts is what was spent in a time, added up by one key.
type accounts struct {
	api.Spending
	By, Since string
	Bars      []bar // by day
	Most      int64 // spent in one of them
	Keys      []string
	Times     []string
}

// bar is a bar of a chart: its place and size in hundredths.
type bar struct {
	Label      string
	X, Y, W, H float64
	Cost       int64
}

// times are the spans of time that can be chosen.
func times() []string { return []string{"today", "7 days", "30 days", "all"} }

func since(word string, now time.Time) (time.Time, bool) {
	switch word {
	case "today":
		return today(now), true
	case "7 days":
		return today(now).AddDate(0, 0, -6), true
	case "30 days":
		return today(now).AddDate(0, 0, -29), true
	case "all":
		return time.Time{}, true
	}
	return time.Time{}, false
}

// spending shows what was spent, as fika usage adds it up.
func spending(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	x := accounts{By: r.FormValue("by"), Since: r.FormValue("since"), Keys: []string{"", "agent", "model", "chat", "workflow", "day"}, Times: times()}
	if x.Since == "" {
		x.Since = "7 days"
	}
	from, ok := since(x.Since, time.Now())
	if !ok || !slices.Contains(x.Keys, x.By) {
		return view{}, &api.Error{Code: api.Invalid, Detail: "since is one of today, 7 days, 30 days and all; by one of agent, model, chat, workflow and day"}
	}
	var err error
	if x.Spending, err = to.Spending(ctx, from, x.By); err != nil {
		return view{}, err
	}
	days, err := to.Spending(ctx, from, "day")
	x.Bars = barsOf(days.Lines)
	for _, b := range x.Bars {
		x.Most = max(x.Most, b.Cost)
	}
	return view{
		Title: "Money", Nav: "money", Live: "/live/money?" + r.URL.RawQuery, every: 2 * time.Second, Parts: []part{{"money", "money", x}, {"budgeting", "setbudget", nil}},
	}, err
}

// mostMoney is the largest limit of a budget in dollars.
const mostMoney = 1e9

// setBudget sets the budget of a form, or removes it.
func setBudget(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	b := api.BudgetInfo{Scope: strings.TrimSpace(r.PostFormValue("scope")), Per: r.PostFormValue("per")}
	if r.PostFormValue("do") == "remove" {
		return "The budget is gone.", to.SetBudget(ctx, b, true, w)
	}
	if text := strings.TrimSpace(r.PostFormValue("money")); text != "" {
		money, err := strconv.ParseFloat(text, 64)
		if err != nil || !(money >= 0.000001 && money <= mostMoney) {
			return "", &api.Error{Code: api.Invalid, Field: "money", Detail: "Money must be between 0.000001 and 1e9 dollars."}
		}
		b.Money = int64(math.Round(money * 1e6))
	}
	if text := strings.TrimSpace(r.PostFormValue("tokens")); text != "" {
		var err error
		if b.Tokens, err = strconv.ParseInt(text, 10, 64); err != nil || b.Tokens < 1 {
			return "", &api.Error{Code: api.Invalid, Field: "tokens", Detail: "Tokens are a whole number, more than 0."}
		}
	}
	return "The budget is set.", to.SetBudget(ctx, b, false, w)
}

// barsOf returns a chart of the days, at most the last sixty.
func barsOf(days []api.Spent) []bar {
	days = days[max(0, len(days)-60):]
	var most int64
	for _, d := range days {
		most = max(most, d.Cost)
	}
	out := make([]bar, len(days))
	for i, d := range days {
		w := min(7, 100/float64(len(days)))
		out[i] = bar{Label: d.Day, X: float64(i) * w, W: w * .8, Cost: d.Cost}
		if most > 0 {
			out[i].H = 100 * float64(d.Cost) / float64(most)
		}
		out[i].Y = 100 - out[i].H
	}
	return out
}

// Name returns the key of a line, as the commands show it.
func (accounts) Name(s api.Spent) string {
	name := s.Agent + s.Chat + s.Workflow + s.Day
	if name != "" && s.Model != "" {
		return name + " · " + s.Model
	}
	if name += s.Model; name == "" {
		return "(none)"
	}
	return name
}
