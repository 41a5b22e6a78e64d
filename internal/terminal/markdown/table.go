package markdown

import (
	"strings"
)

// alignment is the alignment of a column.
type alignment byte

const (
	left alignment = iota
	right
	centre
)

const (
	maxColumns = 32
	minColumn  = 6 // columns of the terminal; a narrower column is not squeezed
)

// findTable returns the index of the header row of a table in the lines of a paragraph,
// and the alignment of its columns; -1 if there is no table.
func findTable(lines []string) (at int, columns []alignment) {
	for i := 1; i < len(lines); i++ {
		if columns := readDelimiters(lines[i]); columns != nil && len(splitCells(lines[i-1])) == len(columns) {
			return i - 1, columns
		}
	}
	return -1, nil
}

// readDelimiters parses the row below the header; it returns nil if line is not such a
// row.
func readDelimiters(line string) []alignment {
	if !strings.Contains(line, "|") || strings.Trim(line, " \t|:-") != "" {
		return nil
	}
	parts := splitCells(line)
	if len(parts) > maxColumns {
		return nil
	}
	columns := make([]alignment, len(parts))
	for i, p := range parts {
		dashes, l := strings.CutPrefix(p, ":")
		dashes, r := strings.CutSuffix(dashes, ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil
		}
		switch {
		case l && r:
			columns[i] = centre
		case r:
			columns[i] = right
		}
	}
	return columns
}

// splitCells splits a row at its bars; a bar after a backslash is text.
func splitCells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var out []string
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			i++
			cell.WriteByte('|')
		case line[i] == '\\' && i+1 < len(line):
			cell.WriteByte('\\')
			i++
			cell.WriteByte(line[i])
		case line[i] == '|':
			out = append(out, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(line[i])
		}
	}
	if rest := strings.TrimSpace(cell.String()); rest != "" || len(out) == 0 {
		out = append(out, rest)
	}
	return out
}

// grid is a table with its cells as spans.
type grid struct {
	columns []alignment
	rows    [][][]span // the first is the header
	widths  []int
}

// writeTable writes a table that begins with its header row and the delimiter row. If its
// columns do not fit side by side, each row becomes several lines.
func (r *renderer) writeTable(lines []string, columns []alignment) {
	g := grid{columns: columns, widths: make([]int, len(columns))}
	for i, line := range lines {
		if i == 1 {
			continue
		}
		texts := splitCells(line)
		rowSpans := make([][]span, len(columns))
		for c := range columns {
			if c < len(texts) {
				rowSpans[c] = r.cellSpans(texts[c], i == 0)
			}
			g.widths[c] = max(g.widths[c], widestWord(rowSpans[c]))
		}
		g.rows = append(g.rows, rowSpans)
	}
	room := r.o.width() - r.indent.rowWidth() - 3*(len(columns)-1) - 1
	if !g.squeezeColumns(room) {
		r.writeRecords(g)
		return
	}
	r.writeGrid(g)
}

func (r *renderer) cellSpans(text string, header bool) []span {
	spans := r.inlineSpans([]byte(text))
	if header {
		for i := range spans {
			spans[i].look |= bold
		}
	}
	return spans
}

func widestWord(spans []span) (n int) {
	for _, w := range wrapSpans(spans, 1<<20) {
		n = max(n, w.rowWidth())
	}
	return n
}

// squeezeColumns narrows the widest columns until all fit; it returns false if they
// cannot.
func (g *grid) squeezeColumns(room int) bool {
	total := 0
	for _, w := range g.widths {
		total += w
	}
	for total > room {
		widest, second := 0, 0
		for i, w := range g.widths {
			if w > g.widths[widest] {
				widest = i
			}
		}
		for i, w := range g.widths {
			if i != widest {
				second = max(second, w)
			}
		}
		if g.widths[widest] <= minColumn {
			return false
		}
		less := max(1, min(total-room, g.widths[widest]-max(second, minColumn)))
		g.widths[widest] -= less
		total -= less
	}
	return true
}

// writeGrid writes the table with its columns side by side.
func (r *renderer) writeGrid(g grid) {
	tall := false
	wrapped := make([][][]row, len(g.rows))
	for i, cells := range g.rows {
		wrapped[i] = make([][]row, len(cells))
		for c, spans := range cells {
			wrapped[i][c] = wrapSpans(spans, max(1, g.widths[c]))
			tall = tall || len(wrapped[i][c]) > 1 && i > 0
		}
	}
	for i, cells := range wrapped {
		height := 1
		for _, c := range cells {
			height = max(height, len(c))
		}
		for h := range height {
			r.writeLine(g.tableRow(cells, h))
		}
		if i == 0 || tall && i < len(wrapped)-1 {
			r.writeLine(g.ruleRow(i == 0))
		}
	}
}

// tableRow returns the h-th terminal row of one row of the table.
func (g grid) tableRow(cells [][]row, h int) (out row) {
	for c, lines := range cells {
		if c > 0 {
			out = append(out, span{text: " │ ", look: faint})
		}
		var content row
		if h < len(lines) {
			content = lines[h]
		}
		space := max(0, g.widths[c]-content.rowWidth())
		before := 0
		switch g.columns[c] {
		case right:
			before = space
		case centre:
			before = space / 2
		}
		out = append(out, span{text: strings.Repeat(" ", before)})
		out = append(out, content...)
		out = append(out, span{text: strings.Repeat(" ", space-before)})
	}
	return out
}

func (g grid) ruleRow(header bool) row {
	dash, cross := "─", "─┼─"
	if !header {
		dash, cross = "┄", "┄┼┄"
	}
	parts := make([]string, len(g.widths))
	for i, w := range g.widths {
		parts[i] = strings.Repeat(dash, w)
	}
	return row{{text: strings.Join(parts, cross), look: faint}}
}

// writeRecords writes each row as lines of "header: cell".
func (r *renderer) writeRecords(g grid) {
	for i, cells := range g.rows[1:] {
		if i > 0 {
			r.writeLine(row{{text: "─", look: faint}})
		}
		for c, spans := range cells {
			if len(spans) == 0 {
				continue
			}
			head := append(append([]span{}, g.rows[0][c]...), span{text: ": "})
			r.writeText(append(head, spans...))
		}
	}
	if len(g.rows) == 1 {
		for _, spans := range g.rows[0] {
			r.writeText(spans)
		}
	}
}
