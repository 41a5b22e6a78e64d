package term

import (
	"slices"
	"strings"

	"fika/internal/text/safetext"
)

// Border is how a table is drawn.
type Border int

// The borders.
const (
	Plain Border = iota // columns separated by two spaces
	Box                 // lines around every cell
)

// TableOptions says how a table looks. Width is the number of columns it may take; 0
// means that nothing is cut.
type TableOptions struct {
	Border Border
	Width  int
	Style  Style // for the headers
}

// minColumn is the minimum width of a column when a table is cut.
const minColumn = 4

// FormatTable formats headers and rows as a table that ends in a newline. Rows may be
// shorter than the headers; extra cells are left out. Cells are cleaned (styles stay) and
// put on one line. If the table is too wide, the widest columns are cut first; a plain
// table that would become illegible is written as a list. Without headers it returns "".
func FormatTable(o TableOptions, headers []string, rows [][]string) string {
	if len(headers) == 0 {
		return ""
	}
	cells := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{headers}, rows...) {
		line := make([]string, len(headers))
		for i := range min(len(row), len(line)) {
			line[i] = safetext.OneLine(CleanStyled(row[i]))
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(headers))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	frame := 2 * (len(widths) - 1)
	if o.Border == Box {
		frame = 3*len(widths) + 1
	}
	if o.Width > 0 {
		wide := slices.Clone(widths)
		shrinkColumns(widths, o.Width-frame)
		if o.Border == Plain && tooNarrow(widths, wide, o.Width-frame) {
			return writeRecords(o, cells)
		}
	}
	t := table{TableOptions: o, widths: widths}
	return t.drawTable(cells)
}

// shrinkColumns narrows the widest columns until all fit into room, or until each has the
// minimum width.
func shrinkColumns(widths []int, room int) {
	total := 0
	for _, w := range widths {
		total += w
	}
	for total > room {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			return
		}
		widths[widest]--
		total--
	}
}

// tooNarrow reports whether columns do not fit, or are cut so short that they become
// illegible.
func tooNarrow(widths, wide []int, room int) bool {
	total, cut := 0, 0
	for i, w := range widths {
		total += w
		if w < wide[i] && w < minLegible {
			cut++
		}
	}
	return total > room || cut > 0
}

// minLegible is the minimum width of a cut column that is still legible.
const minLegible = 8

// writeRecords formats a table that is too wide as a list: a line for each non-empty
// cell, with its header, and an empty line between rows.
func writeRecords(o TableOptions, cells [][]string) string {
	label := 0
	for _, h := range cells[0] {
		label = max(label, Width(h))
	}
	var b strings.Builder
	for n, row := range cells[1:] {
		if n > 0 {
			b.WriteString("\n")
		}
		for i, cell := range row {
			if cell == "" {
				continue
			}
			head := cells[0][i] + strings.Repeat(" ", label-Width(cells[0][i]))
			b.WriteString(strings.TrimRight(o.Style.Bold(head)+"  "+Truncate(cell, max(minLegible, o.Width-label-2)), " ") + "\n")
		}
	}
	return b.String()
}

type table struct {
	TableOptions
	widths []int
	b      strings.Builder
}

func (t *table) drawTable(cells [][]string) string {
	if t.Border == Box {
		t.drawRule("┌", "┬", "┐")
	}
	for i, row := range cells {
		style := Style{}
		if i == 0 {
			style = t.Style
		}
		t.drawRow(row, style)
		if i == 0 && t.Border == Box {
			t.drawRule("├", "┼", "┤")
		}
	}
	if t.Border == Box {
		t.drawRule("└", "┴", "┘")
	}
	return t.b.String()
}

func (t *table) drawRule(left, mid, right string) {
	for i, w := range t.widths {
		if i == 0 {
			t.b.WriteString(left)
		} else {
			t.b.WriteString(mid)
		}
		t.b.WriteString(strings.Repeat("─", w+2))
	}
	t.b.WriteString(right + "\n")
}

func (t *table) drawRow(row []string, style Style) {
	open, between, end := "", "  ", ""
	if t.Border == Box {
		open, between, end = "│ ", " │ ", " │"
	}
	var line strings.Builder
	line.WriteString(open)
	for i, cell := range row {
		if i > 0 {
			line.WriteString(between)
		}
		if Width(cell) > t.widths[i] {
			cell = Truncate(cell, t.widths[i])
		}
		line.WriteString(style.Bold(cell))
		line.WriteString(strings.Repeat(" ", max(0, t.widths[i]-Width(cell))))
	}
	line.WriteString(end)
	t.b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
