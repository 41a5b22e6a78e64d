package console

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"fika/internal/system/term"
)

// menu holds the completions shown under the line; it is empty if none are.
type menu struct {
	items  []Completion
	chosen int // item in the line now; -1: the common beginning
}

func (m *menu) labels() []string {
	labels := make([]string, len(m.items))
	for i, it := range m.items {
		labels[i] = it.Label
	}
	return labels
}

func (m *menu) clear() { m.items, m.chosen = nil, -1 }

// offer puts the common beginning of items into the line, and keeps the items to choose
// from if there are several. Items that do not fit the line are ignored; it reports
// whether any fit.
func (m *menu) offer(e *editor, items []Completion) bool {
	m.clear()
	var fit []Completion
	for _, it := range items {
		it.Start = e.pos - (len(plain(e.text[:e.pos])) - it.Start) // chips are longer in the editor
		if it.Start < 0 || it.Start > e.pos || (len(fit) > 0 && it.Start != fit[0].Start) || strings.IndexByte(e.text[it.Start:e.pos], chipEnd) >= 0 {
			continue
		}
		if it.Chip && (it.Text == "" || term.CleanLine(it.Text) != it.Text) {
			continue // a name that would control a terminal, or break the line
		}
		it.Text = typed(it.Text)
		if it.Label == "" {
			it.Label = strings.TrimSpace(it.Text)
		}
		it.Label = ansi.Strip(term.CleanLine(it.Label))
		fit = append(fit, it)
	}
	if len(fit) == 0 {
		return false
	}
	common := fit[0].Text
	for _, it := range fit[1:] {
		for !strings.HasPrefix(it.Text, common) {
			common = common[:len(common)-1]
		}
	}
	common = strings.ToValidUTF8(common, "")
	start := fit[0].Start
	switch {
	case len(fit) == 1:
		e.complete(start, fit[0].inserted())
	case len(common) > e.pos-start:
		e.complete(start, common)
	}
	if len(fit) > 1 {
		m.items = fit
	}
	return true
}

// choose puts the item steps further on into the line.
func (m *menu) choose(e *editor, steps int) {
	if m.chosen < 0 && steps < 0 {
		m.chosen = 0
	}
	m.chosen = (m.chosen + steps + len(m.items)) % len(m.items)
	it := m.items[m.chosen]
	e.complete(it.Start, it.inserted())
}

// inserted returns the text that replaces what was typed.
func (c Completion) inserted() string {
	if c.Chip {
		return asChip(c.Text) + " "
	}
	return c.Text
}
