package console

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"fika/internal/system/term"
)

const (
	maxInputRows = 12 // for the line being edited; a longer one scrolls
	maxMenuRows  = 6
	maxLiveRows  = 8
	maxAskRows   = 28
	minAbove     = 4 // rows above a question, or it is not set apart
	tabWidth     = 4
)

// view is everything that the block at the bottom shows.
type view struct {
	live           []string // rows that still change; the last ones are shown
	prompt, status string
	text           string
	pos            int // byte offset of the cursor in text
	reading        bool
	menu           []string
	chosen         int // of the menu; -1 none
	width, height  int
	style          term.Style

	question func(width, height int) []string // nil: nothing is asked
	aside    bool                             // the line is put aside while the keys answer
}

// block is a view laid out: rows narrower than the terminal, and where the cursor rests.
// With top it rests, hidden, at the beginning of the first row, and the row being typed
// in shows a drawn cursor; otherwise it is in the given row, after the text before.
type block struct {
	rows   []string
	top    bool
	row    int
	before string
}

// row is a piece of the text that fits on one row of the terminal.
type row struct {
	from, to int
	shown    string
}

// layout lays out v: rows that still change, the line being typed, the status, the
// completions. Every row leaves the last column free, so that the cursor has a place
// after it, and there are never more rows than the terminal has.
func layout(v view) block {
	width := max(2, v.width) - 1
	height := max(2, v.height) - 1
	var b block
	var status []string
	if v.status != "" && (height > 1 || !v.reading) {
		status = []string{v.style.Dim(term.Truncate(v.status, width))}
	}
	switch {
	case v.aside:
		b = asideRow(v, width)
	case v.reading:
		b = inputRows(v, width, height-len(status))
	default:
		b.row = len(status) // nothing is being typed: the cursor waits below
	}
	b.rows = append(b.rows, status...)
	if left := height - len(b.rows); left > 0 && len(v.menu) > 0 {
		b.rows = append(b.rows, menuRows(v, width, min(left, maxMenuRows))...)
	}
	var asked []string
	if v.question != nil {
		asked = v.question(width, max(1, min(maxAskRows, height-len(b.rows))))
		asked = asked[max(0, len(asked)-max(0, height-len(b.rows))):] // the keys are its last row
		if height-len(b.rows)-len(asked) > minAbove {
			asked = append([]string{""}, asked...) // apart from what was said
		}
	}
	live := v.live[max(0, len(v.live)-max(0, min(maxLiveRows, height/2, height-len(b.rows)-len(asked)))):]
	if len(live)+len(asked) == 0 {
		return b
	}
	rows := make([]string, 0, len(live)+len(asked)+len(b.rows))
	for _, r := range slices.Concat(live, asked) {
		rows = append(rows, truncate(oneRow(r), width))
	}
	b.rows, b.row, b.top = append(rows, b.rows...), 0, true
	return b
}

// inputRows lays out the line being typed in at most room rows.
func inputRows(v view, width, room int) (b block) {
	prompt := v.prompt
	if most := max(0, width-min(20, width/2)); term.Width(prompt) > most {
		prompt = term.Truncate(prompt, most)
	}
	indent := term.Width(prompt)
	rows := wrap(v.text, max(2, width-indent))
	cursor := cursorRow(rows, v.pos)

	room = max(1, min(maxInputRows, room))
	first := 0
	if len(rows) > room {
		first = min(max(0, cursor-room/2), len(rows)-room)
	}
	last := min(len(rows), first+room)
	for i := first; i < last; i++ {
		lead := strings.Repeat(" ", indent)
		switch {
		case i == 0:
			lead = prompt
		case i == first:
			lead = v.style.Dim(marker("↑", first, indent))
		case i == last-1 && last < len(rows):
			lead = v.style.Dim(marker("↓", len(rows)-last, indent))
		}
		line := rows[i].shown
		if i == cursor {
			b.row = len(b.rows)
			b.before = lead + shown(v.text[rows[i].from:v.pos], width-indent)
			if len(v.live) > 0 || v.question != nil {
				line = drawnCursor(v.text, rows[i], v.pos, width-indent)
			}
		}
		b.rows = append(b.rows, lead+line)
	}
	return b
}

// asideRow is shown in place of a line that is put aside.
func asideRow(v view, width int) block {
	text := "a key above answers"
	if v.text != "" {
		text += "; your line is kept: " + strings.Join(strings.Fields(plain(v.text)), " ")
	}
	return block{rows: []string{v.style.Dim(term.Truncate(text, width))}}
}

// drawnCursor returns a row of the text with the place at pos marked, as a terminal would
// show its cursor there. A chip, which is already reversed, is underlined.
func drawnCursor(text string, r row, pos, width int) string {
	under, rest := "\x1b[7m \x1b[27m", ""
	if pos < r.to {
		n := clusterLen(text[pos:])
		under, rest = shown(text[pos:pos+n], width), shown(text[pos+n:r.to], width)
		if chipLen(text[pos:]) > 0 {
			under = "\x1b[4m" + under + "\x1b[24m"
		} else {
			under = "\x1b[7m" + under + "\x1b[27m"
		}
	}
	return shown(text[r.from:pos], width) + under + rest
}

// truncate cuts a row to width columns, as counted by a terminal that joins no
// characters: such a terminal shows a family of three as three people.
func truncate(row string, width int) string {
	for most := width; most > 0 && apart(row) > width; {
		most -= max(1, apart(row)-width)
		row = term.Truncate(row, most)
	}
	return row
}

// apart returns the width of a row, counting each character separately.
func apart(row string) (n int) {
	row = ansi.Strip(row)
	for _, r := range row {
		if r < utf8.RuneSelf {
			n++
			continue
		}
		n += ansi.StringWidth(string(r))
	}
	return max(n, ansi.StringWidth(row))
}

// marker says how many rows are out of sight, if there is room for the number.
func marker(arrow string, n, width int) string {
	s := fmt.Sprintf("%s%d", arrow, n)
	if term.Width(s) > width {
		s = arrow
	}
	return fit(s, width)
}

// fit makes s exactly width columns wide.
func fit(s string, width int) string {
	s = term.Truncate(s, width)
	return s + strings.Repeat(" ", max(0, width-term.Width(s)))
}

// shown returns text of one line as it is displayed: tabs become spaces, chips are
// reversed, and neither takes more than width columns.
func shown(text string, width int) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, chipStart)
		if at < 0 {
			break
		}
		b.WriteString(text[:at] + chipShown(text[at:], width))
		text = text[at+chipLen(text[at:]):]
	}
	b.WriteString(text)
	return strings.ReplaceAll(b.String(), "\t", strings.Repeat(" ", min(tabWidth, width)))
}

// wrap cuts text into rows of at most width columns. There is always at least one row.
func wrap(text string, width int) []row {
	var rows []row
	from, used := 0, 0
	cut := func(at, next int) {
		rows = append(rows, row{from, at, shown(text[from:at], width)})
		from, used = next, 0
	}
	for at := 0; at < len(text); {
		if text[at] == '\n' {
			cut(at, at+1)
			at++
			continue
		}
		n, w := measure(text[at:], width)
		if used+w > width && used > 0 {
			cut(at, at)
		}
		used += w
		at += n
	}
	cut(len(text), len(text))
	return rows
}

// measure returns the length and the columns of the first cluster of s; a chip or a tab
// takes at most most columns.
func measure(s string, most int) (n, width int) {
	if n = chipLen(s); n > 0 {
		return n, min(most, term.Width(s[1:n-1]))
	}
	if s[0] == '\t' {
		return 1, min(tabWidth, most)
	}
	n = clusterLen(s)
	if n == 1 {
		return 1, 1
	}
	_, width = ansi.FirstGraphemeCluster(s[:n], ansi.GraphemeWidth)
	return n, width
}

// cursorRow returns the row that contains pos; at a border, the later one.
func cursorRow(rows []row, pos int) int {
	for i := len(rows) - 1; i > 0; i-- {
		if pos >= rows[i].from {
			return i
		}
	}
	return 0
}

// menuRows sets the completions in as many columns as fit; the last row counts those that
// do not fit.
func menuRows(v view, width, most int) []string {
	cell := 0
	for _, m := range v.menu {
		cell = max(cell, term.Width(m)+2)
	}
	cell = min(max(cell, 3), width)
	columns := max(1, width/cell)
	start := 0
	if page := columns * most; v.chosen >= page {
		start = v.chosen / page * page
	}
	var rows []string
	for at := start; at < len(v.menu) && len(rows) < most; at += columns {
		var line strings.Builder
		for i := at; i < min(at+columns, len(v.menu)); i++ {
			text := fit(v.menu[i], cell-1)
			if i == v.chosen {
				text = "\x1b[7m" + text + "\x1b[27m"
			}
			line.WriteString(text + " ")
		}
		rows = append(rows, strings.TrimRight(line.String(), " "))
	}
	if end := start + columns*most; end < len(v.menu) {
		rows[len(rows)-1] = v.style.Dim(term.Truncate(fmt.Sprintf("… and %d more", len(v.menu)-end+columns), width))
	}
	return rows
}
