package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/service"
	"fika/internal/system/term"
)

const (
	narrowest = 18 // columns that a card needs to be readable
	widest    = 48
	between   = 2  // columns between cards
	titleRows = 3  // of a card
	mostCards = 20 // in a column
)

// column is the tasks in one state.
type column struct {
	state fika.TaskState
	tasks []service.TaskCard
	more  int // that are not shown
}

// kanban draws the tasks, which are sorted by state, in a column for each state that there
// is, or one state below the other if the terminal is too narrow for that. Of a state that has
// more tasks than the list it says how many more.
func kanban(list []service.TaskCard, counts map[fika.TaskState]int, now time.Time, width, ended int, style term.Style) string {
	var columns []column
	for _, t := range list {
		if len(columns) == 0 || columns[len(columns)-1].state != t.State {
			columns = append(columns, column{state: t.State})
		}
		c := &columns[len(columns)-1]
		most := mostCards
		if t.State.Ended() {
			most = min(most, ended)
		}
		if len(c.tasks) < most {
			c.tasks = append(c.tasks, t)
		}
		c.more = max(0, counts[t.State]-len(c.tasks))
	}
	if width == 0 {
		width = 80
	}
	room := (width - between*(len(columns)-1)) / max(1, len(columns))
	if room < narrowest {
		return stacked(columns, now, width, style)
	}
	return beside(columns, now, min(room, widest), style)
}

// beside draws the columns next to each other.
func beside(columns []column, now time.Time, width int, style term.Style) string {
	var cells [][]string
	height := 0
	for _, c := range columns {
		lines := []string{style.Bold(fit(heading(c), width)), style.Dim(strings.Repeat("─", width))}
		for _, t := range c.tasks {
			lines = append(append(lines, card(t, now, width, style)...), "")
		}
		if c.more > 0 {
			lines = append(lines, style.Dim(fit(fmt.Sprintf("and %d more", c.more), width)))
		}
		cells = append(cells, lines)
		height = max(height, len(lines))
	}
	var b strings.Builder
	for i := range height {
		var line strings.Builder
		for k, lines := range cells {
			text := ""
			if i < len(lines) {
				text = lines[i]
			}
			line.WriteString(text)
			if k < len(cells)-1 {
				line.WriteString(strings.Repeat(" ", width-term.Width(text)+between))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// stacked draws the columns one below the other, a line for each task.
func stacked(columns []column, now time.Time, width int, style term.Style) string {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(style.Bold(heading(c)) + "\n")
		for _, t := range c.tasks {
			line := fmt.Sprintf("%4d  %s", t.Number, term.CleanLine(t.Title))
			if about := about(t, now); about != "" {
				line += "  " + style.Dim(about)
			}
			b.WriteString(term.Truncate(line, width) + "\n")
		}
		if c.more > 0 {
			b.WriteString(style.Dim(fmt.Sprintf("      and %d more", c.more)) + "\n")
		}
	}
	return b.String()
}

func heading(c column) string {
	return fmt.Sprintf("%s %d", strings.ToUpper(string(c.state)), len(c.tasks)+c.more)
}

// card draws one task: its number and title, and what else there is to know.
func card(t service.TaskCard, now time.Time, width int, style term.Style) []string {
	title := strings.Split(term.Wrap(digits(t.Number)+" "+term.CleanLine(t.Title), width), "\n")
	if len(title) > titleRows {
		title = title[:titleRows]
		title[titleRows-1] = term.Truncate(title[titleRows-1], width-1) + "…"
	}
	for i, line := range title {
		title[i] = fit(line, width)
	}
	if about := about(t, now); about != "" {
		for line := range strings.SplitSeq(term.Wrap(about, width), "\n") {
			title = append(title, style.Dim(fit(line, width)))
		}
	}
	return title
}

func fit(text string, width int) string { return term.Truncate(text, width) }

// offered says where what was offered of a task stands, and who has to do something about it;
// empty: nothing was.
func offered(t service.TaskCard) string {
	o := t.Offer
	because := ""
	if o.Reason != "" {
		because = ": " + o.Reason
	}
	offer := fmt.Sprintf("offer %d ", o.Number)
	switch {
	case o.Number == 0:
		return ""
	case waitsForYou(o.State):
		return offer + "waits for you" + because
	}
	switch o.State {
	case fika.OfferWaiting:
		return offer + "waits its turn" + because
	case fika.OfferReviewed:
		return offer + "is being reviewed"
	case fika.OfferTrying:
		return offer + "is being checked"
	case fika.OfferMoving:
		return offer + "lands"
	case fika.OfferRework:
		return offer + "came back" + because
	}
	return offer + string(o.State) + because
}

// waitsForYou reports whether nothing becomes of an offer of an agent until a person does
// something.
func waitsForYou(s fika.OfferState) bool {
	return s == fika.OfferHeld || s == fika.OfferAsks || s == fika.OfferBack
}

// about says on a card what is unusual about a task: who has it and since when, its priority,
// what it waits for.
func about(t service.TaskCard, now time.Time) string {
	var out []string
	if t.Priority != fika.DefaultPriority && !t.State.Ended() {
		out = append(out, fmt.Sprintf("P%d", t.Priority))
	}
	if w := who(t); w != "" {
		out = append(out, w)
	}
	if t.State == fika.TaskClaimed || t.State == fika.TaskReview {
		out = append(out, term.Duration(now.Sub(t.Since).Truncate(time.Second)))
	}
	if t.State == fika.TaskHeld {
		out = append(out, term.CleanLine(t.HeldReason))
	}
	if o := offered(t); o != "" {
		out = append(out, term.CleanLine(o))
	}
	if needs := unmet(t); needs != "" && !t.State.Ended() {
		out = append(out, "needs "+needs)
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), " · ")
}
