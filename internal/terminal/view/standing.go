package view

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/system/term"
)

// Worker is somebody who may be at work.
type Worker struct {
	Name  string
	Doing string    // "thinking", "bash go test ./...", "waits for @bob"; empty: idle
	Since time.Time // zero: unknown
	Next  bool      // Doing is about a request that comes after what the worker does elsewhere
	Asks  bool      // Doing is a question to the person, with which the worker's turn waits
}

// Standing is what the status line says.
type Standing struct {
	Workers   []Worker
	Context   string // how full the window of the agent spoken to is, as "34% of 200k"
	Spent     fika.Usage
	Unpriced  bool      // the cost of some of the tokens is unknown
	Since     time.Time // when the person came; zero: not shown
	Mode      string    // what agents may do by themselves, in a few words
	Budget    string    // a nearly spent budget, in a few words
	Jobs      string    // background commands, as "1 job /jobs"
	Approvals []string
	Note      string // anything else that a person should know now
	// Queued are rows, one for each text that waits for a turn, shown above the line.
	Queued []string
}

// Line returns the status in at most width columns, or "" if there is nothing to
// report. If there is not enough room, idle workers are dropped first, then figures;
// questions to the person always stay.
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
	var figures []string
	if s.Context != "" {
		figures = append(figures, s.Context)
	}
	switch {
	case s.Spent.Cost > 0:
		figures = append(figures, term.Money(s.Spent, s.Unpriced))
	case s.Unpriced:
		figures = append(figures, "cost "+term.Money(s.Spent, true))
	case s.Spent.Subscription:
		figures = append(figures, term.Money(s.Spent, false))
	}
	if d := now.Sub(s.Since); !s.Since.IsZero() && d >= time.Minute {
		figures = append(figures, term.Duration(d.Truncate(time.Minute)))
	}
	if s.Jobs != "" {
		figures = append(figures, s.Jobs)
	}
	if s.Budget != "" {
		asks = append(asks, s.Budget)
	}
	var mode []string
	if s.Mode != "" {
		mode = append(mode, s.Mode)
	}
	line := ""
	for _, parts := range [][][]string{{all, figures, mode, asks}, {busy, figures, mode, asks}, {busy, mode, asks}, {mode, asks, busy}} {
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
