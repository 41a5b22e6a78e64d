package main

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Measures of a monospaced font, in pixels.
const (
	charWidth  = 8
	lineHeight = 19
	margin     = 18
)

// style is a sequence of colours and weights.
var style = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// ground is a terminal's ground with its colours, by the number of the sequence that begins
// them.
type ground struct {
	paper, ink, typed string
	colours           map[string]string
	cube              func(part int) int // how bright a part, 0 to 5, of a colour of the cube is
}

func dark() ground {
	return ground{"#16181d", "#d7dae0", "#ffffff", map[string]string{"1": "#ffffff", "2": "#7d828c", "31": "#f28b82", "32": "#8fd18f", "33": "#e8c66a", "35": "#d0a0e0", "36": "#7fc8d8", "0": "", "": "", "22": "", "39": ""},
		func(part int) int { return min(255, 85+part*40) }}
}

func bright() ground {
	return ground{"#fbfbf8", "#24272c", "#000000", map[string]string{"1": "#000000", "2": "#84878d", "31": "#b3261e", "32": "#1d7a34", "33": "#8a6100", "35": "#7b3a96", "36": "#0b6e84", "0": "", "": "", "22": "", "39": ""},
		func(part int) int { return part * 51 }}
}

// draw makes a terminal of lines, wrapped at the width of the terminal.
func (g ground) draw(lines []string) []byte {
	var rows []string
	for _, l := range lines {
		rows = append(rows, wrap(l)...)
	}
	var b bytes.Buffer
	width, height := columns*charWidth+2*margin, len(rows)*lineHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="13.3">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="%s"/>`+"\n", width, height, g.paper)
	for i, row := range g.texts(rows) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s" xml:space="preserve">%s</text>`+"\n", margin, margin+(i+1)*lineHeight-5, g.ink, row)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// texts turns the rows of a screen into what text elements hold.
func (g ground) texts(rows []string) []string {
	out, fill := make([]string, len(rows)), "" // a colour goes on from row to row
	for i, row := range rows {
		out[i] = g.spans(row, &fill)
	}
	return out
}

// wrap breaks a line between words; what follows is indented as its start.
func wrap(line string) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var rows []string
	row := ""
	for word := range strings.SplitAfterSeq(line, " ") {
		if visible(row)+visible(strings.TrimRight(word, " ")) > columns && strings.TrimSpace(row) != "" {
			rows = append(rows, row)
			row = indent
		}
		row += word
	}
	return append(rows, row)
}

func visible(s string) int { return utf8.RuneCountInString(style.ReplaceAllString(s, "")) }

// spans turns colours into tspans. A command a person types is bright.
func (g ground) spans(row string, fill *string) string {
	if strings.HasPrefix(row, "$ ") {
		return `<tspan fill="` + g.colours["32"] + `">$</tspan><tspan fill="` + g.typed + `" font-weight="bold">` + html.EscapeString(row[1:]) + `</tspan>`
	}
	var b strings.Builder
	at := 0
	emit := func(text string) {
		switch {
		case text == "":
		case *fill == "":
			b.WriteString(html.EscapeString(text))
		default:
			fmt.Fprintf(&b, `<tspan fill="%s">%s</tspan>`, *fill, html.EscapeString(text))
		}
	}
	for _, m := range style.FindAllStringSubmatchIndex(row, -1) {
		emit(row[at:m[0]])
		at = m[1]
		*fill = g.fillOf(row[m[2]:m[3]], *fill)
	}
	emit(row[at:])
	return b.String()
}

// fillOf is the colour after a sequence, where it was before.
func (g ground) fillOf(codes, before string) string {
	if n := 0; strings.Contains(codes, "38;5;") {
		_, _ = fmt.Sscanf(codes[strings.Index(codes, "38;5;"):], "38;5;%d", &n)
		return g.colour(n)
	}
	for code := range strings.SplitSeq(codes, ";") {
		if fill, known := g.colours[code]; known {
			before = fill
		}
	}
	return before
}

// colour is one of the 216 colours of the cube in xterm's 256, so that it can be read on the
// ground.
func (g ground) colour(n int) string {
	if n < 16 || n > 231 {
		return g.ink
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", g.cube(n/36), g.cube(n/6%6), g.cube(n%6))
}
