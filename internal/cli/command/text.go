package command

import (
	"fmt"
	"strings"
	"time"

	"fika/internal/service"
	"fika/internal/system/term"
)

// UptimeSeconds returns the time since t in whole seconds.
func UptimeSeconds(t time.Time) string {
	return term.Duration(max(time.Since(t).Round(time.Second), time.Second))
}

// OrDash returns s for a table: - if it is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// JSONTime returns a time for JSON, in UTC; nil for the zero time.
func JSONTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC()
	return &u
}

// Plural returns a count with its noun: "2 mentions".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// JoinWords joins words with commas.
func JoinWords[T ~string](list []T) string {
	var words []string
	for _, w := range list {
		words = append(words, string(w))
	}
	return strings.Join(words, ", ")
}

// PromptOf returns what a request is about: its prompt, or the name of its conversation.
func PromptOf(r service.RequestInfo) string {
	if r.Payload.Prompt == "" {
		return "(" + string(r.ConversationName) + ")"
	}
	return r.Payload.Prompt
}

// WorkedBy returns @ and the name of the agent that works a request, and of the
// agent that was asked if that is another.
func WorkedBy(r service.RequestInfo) string {
	if r.AddressedName == "" {
		return "@" + string(r.AgentName)
	}
	return "@" + string(r.AgentName) + " for @" + string(r.AddressedName)
}

// ByteCount returns a number of bytes in a unit that a person would use.
func ByteCount(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
