package config

import (
	"fmt"
	"time"
)

// Keep says how long the database has what is over; 0: for ever.
type Keep struct {
	Chats    time.Duration // what was said in chats
	Contexts time.Duration // what is out of the window of a context
	Requests time.Duration // ended requests, and the conversations of tasks
	Usage    time.Duration // what model calls have cost
}

const (
	minKeep = 24 * time.Hour
	// minKeepUsage is longer than the longest window of a budget.
	minKeepUsage = 62 * 24 * time.Hour
)

func keepKeys() []key[Keep] {
	const after = "; older ones are written into archive/ in the home and then removed from the database. 0 is for ever."
	return []key[Keep]{
		{name: "chats", at: func(k *Keep) any { return &k.Chats }, check: checkKeep(minKeep), example: `"1y"`,
			doc: "How long the database has messages of chats" + after + " Pinned messages, and those that somebody has yet to read, stay."},
		{name: "contexts", at: func(k *Keep) any { return &k.Contexts }, check: checkKeep(minKeep), example: `"1y"`,
			doc: "How long the database has entries that are out of the window of a context" + after},
		{name: "requests", at: func(k *Keep) any { return &k.Requests }, check: checkKeep(minKeep), example: `"1y"`,
			doc: "How long the database has requests that have ended, with their steps, and the conversations of tasks" + after + " Those that were given up, and runs of workflows, stay."},
		{name: "usage", at: func(k *Keep) any { return &k.Usage }, check: checkKeep(minKeepUsage), example: `"5y"`,
			doc: "How long the database has the costs of model calls" + after + " At least 62d, because budgets count by the month."},
	}
}

// checkKeep refuses times, other than 0, that are shorter than least.
func checkKeep(least time.Duration) func(value, any) string {
	return func(_ value, at any) string {
		if d := *at.(*time.Duration); d > 0 && d < least {
			return fmt.Sprintf("shorter than %dd", least/(24*time.Hour))
		}
		return ""
	}
}
