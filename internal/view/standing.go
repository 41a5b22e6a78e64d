package view

import (
	"fmt"
	"strings"
	"time"

	"fika/internal/term"
)

// Worker is somebody who is at work, or not.
type Worker struct {
	Name  string
	Doing string    // "thinking", "bash go test ./...", "waits for @bob"; empty: idle
	Since time.Time // since when; zero: not known
}

// Standing is how things stand: what the status line says.
type Standing struct {
	Workers   []Worker
	Tokens    int64
	Cost      int64  // micro-dollars
	Unpriced  bool   // it is not known what some of the tokens have cost
	Budget    string // that is nearly spent, in a few words
	Approvals []string
	Note      string // anything else that a person should know now
}

// Line gives the status in at most width columns; "" when there is nothing to
// tell. When there is not enough room, money and tokens go first, then who is
// idle; what asks the person for something stays.
func (s Standing) Line(now time.Time, width int) string {
	var asks []string
	if n := len(s.Approvals); n > 0 {
		word := "approvals"
		if n == 1 {
			word = "approval"
		}
		asks = append(asks, fmt.Sprintf("%d %s: /approve %s", n, word, s.Approvals[0]))
	}
	if s.Note != "" {
		asks = append(asks, s.Note)
	}
	var busy, all []string
	for _, w := range s.Workers {
		text := w.words(now)
		all = append(all, text)
		if w.Doing != "" {
			busy = append(busy, text)
		}
	}
	var spent []string
	if s.Tokens > 0 {
		spent = append(spent, term.ShortCount(s.Tokens)+" tokens")
	}
	switch {
	case s.Cost > 0:
		spent = append(spent, term.Cost(s.Cost, s.Unpriced))
	case s.Unpriced:
		spent = append(spent, "cost "+term.Cost(0, true))
	}
	if s.Budget != "" {
		asks = append(asks, s.Budget)
	}
	line := ""
	for _, parts := range [][][]string{{all, spent, asks}, {all, asks}, {busy, asks}, {asks, busy}} {
		var flat []string
		for _, p := range parts {
			flat = append(flat, p...)
		}
		if line = strings.Join(flat, " · "); term.Width(line) <= width {
			break
		}
	}
	return term.Truncate(term.CleanLine(line), width)
}

func (w Worker) words(now time.Time) string {
	if w.Doing == "" {
		return w.Name + " idle"
	}
	text := w.Name + " " + w.Doing
	if d := now.Sub(w.Since); !w.Since.IsZero() && d >= time.Second {
		text += " " + term.Duration(d.Truncate(time.Second))
	}
	return strings.TrimSpace(text)
}
