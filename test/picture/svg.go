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

// draw makes a terminal of lines, wrapped at the width of the terminal.
func draw(lines []string) []byte {
	var rows []string
	for _, l := range lines {
		rows = append(rows, wrap(l)...)
	}
	var b bytes.Buffer
	width, height := columns*charWidth+2*margin, len(rows)*lineHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="13.3">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#16181d"/>`+"\n", width, height)
	for i, row := range rows {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#d7dae0" xml:space="preserve">%s</text>`+"\n", margin, margin+(i+1)*lineHeight-5, spans(row))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
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
func spans(row string) string {
	if strings.HasPrefix(row, "$ ") {
		return `<tspan fill="#8fd18f">$</tspan><tspan fill="#ffffff" font-weight="bold">` + html.EscapeString(row[1:]) + `</tspan>`
	}
	var b strings.Builder
	at, fill := 0, ""
	emit := func(text string) {
		switch {
		case text == "":
		case fill == "":
			b.WriteString(html.EscapeString(text))
		default:
			fmt.Fprintf(&b, `<tspan fill="%s">%s</tspan>`, fill, html.EscapeString(text))
		}
	}
	for _, m := range style.FindAllStringSubmatchIndex(row, -1) {
		emit(row[at:m[0]])
		at = m[1]
		fill = fillOf(row[m[2]:m[3]], fill)
	}
	emit(row[at:])
	return b.String()
}

// fillOf is the colour after a sequence, where it was before.
func fillOf(codes, before string) string {
	if n := 0; strings.Contains(codes, "38;5;") {
		_, _ = fmt.Sscanf(codes[strings.Index(codes, "38;5;"):], "38;5;%d", &n)
		return colour(n)
	}
	named := map[string]string{"1": "#ffffff", "2": "#7d828c", "31": "#f28b82", "32": "#8fd18f", "33": "#e8c66a", "36": "#7fc8d8", "0": "", "": "", "22": "", "39": ""}
	for code := range strings.SplitSeq(codes, ";") {
		if fill, known := named[code]; known {
			before = fill
		}
	}
	return before
}

// colour is one of the 216 colours of the cube in xterm's 256, a little
// brighter, so that it can be read on a dark ground.
func colour(n int) string {
	if n < 16 || n > 231 {
		return "#d7dae0"
	}
	part := func(v int) int { return min(255, 85+v*40) }
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", part(n/36), part(n/6%6), part(n%6))
}
