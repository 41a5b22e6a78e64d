package markdown

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"

	"fika/internal/system/term"
	"fika/internal/terminal/syntax"
)

// Options says how a text is shown.
type Options struct {
	// Width is the number of columns; 0: 80. Prose takes at most 100.
	Width int

	// Style adds colour and weight; without them the marks of the source stay.
	Style term.Style

	// Links makes addresses clickable (OSC 8); it needs a terminal that at least ignores
	// sequences it does not know.
	Links bool

	// Indent is how many columns are left free before each row. With an indent, lines of
	// code that are too long are broken; without one they are left whole.
	Indent int

	// Person reports whether @name addresses somebody and should stand out; nil: no name
	// does.
	Person func(name string) bool
}

const (
	defaultWidth = 80
	maxProse     = 100
	minProse     = 10 // columns that indenting must leave
)

func (o Options) width() int {
	if o.Width <= 0 {
		return defaultWidth
	}
	return o.Width
}

// Render returns the whole text as it is shown, ending in a newline unless it is empty.
// It returns at once what a [Stream] returns in pieces.
func Render(text string, o Options) string {
	s := NewStream(o)
	return s.Add(text) + s.End()
}

// renderer writes blocks as rows.
type renderer struct {
	p      parsers
	o      Options
	out    []string
	indent row // before each row
	marker row // instead of indent, for the next row only; nil: none
}

// newRenderer returns a renderer of top-level blocks.
func newRenderer(p parsers, o Options) renderer {
	r := renderer{p: p, o: o}
	if o.Indent > 0 {
		r.indent = row{{text: strings.Repeat(" ", o.Indent)}}
	}
	return r
}

// writeLine writes one row, or an unwrapped line of code.
func (r *renderer) writeLine(content row) {
	lead := r.indent
	if r.marker != nil {
		lead, r.marker = r.marker, nil
	}
	all := append(append(row{}, lead...), content...)
	for len(all) > 0 {
		last := &all[len(all)-1]
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			break
		}
		all = all[:len(all)-1]
	}
	r.out = append(r.out, all.writeRow(r.o))
}

// writeText writes wrapped text.
func (r *renderer) writeText(spans []span) {
	for _, w := range wrapSpans(spans, r.roomLeft()) {
		r.writeLine(w)
	}
}

func (r *renderer) roomLeft() int {
	return max(1, min(maxProse+r.o.Indent, r.o.width())-r.indent.rowWidth())
}

// writeIndented calls f with an indent, or without one if that would leave too little
// room.
func (r *renderer) writeIndented(marker, indent row, f func()) {
	outer, lead := r.indent, r.indent
	if r.marker != nil {
		lead = r.marker
	}
	if marker != nil {
		r.marker = append(append(row{}, lead...), marker...)
	}
	if r.roomLeft()-indent.rowWidth() >= minProse {
		r.indent = append(append(row{}, outer...), indent...)
	}
	f()
	if r.marker != nil {
		r.writeLine(nil) // an empty item
	}
	r.indent = outer
}

// writeBlock writes one block.
func (r *renderer) writeBlock(n ast.Node, src []byte) {
	switch n := n.(type) {
	case *ast.Heading:
		marks := ""
		if !r.o.Style.IsOn() {
			marks = strings.Repeat("#", n.Level) + " "
		}
		look := bold
		if n.Level == 1 {
			look |= underlined
		}
		r.writeText(append([]span{{text: marks}}, r.spansOf(n, src, look)...))
	case *ast.ThematicBreak:
		r.writeLine(row{{text: strings.Repeat("─", min(40, r.roomLeft())), look: faint}})
	case *ast.CodeBlock:
		r.writeFence("")
		r.codeLines(n, src, "")
		r.writeFence("")
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Segment.Value(src))
		}
		r.writeFence(info)
		r.codeLines(n, src, info)
		r.writeFence("")
	case *ast.HTMLBlock:
		r.codeLines(n, src, "")
		if n.HasClosure() {
			r.writeCode(string(n.ClosureLine.Value(src)), &syntax.Scanner{})
		}
	case *ast.Blockquote:
		r.writeIndented(row{{text: "│ ", look: faint}}, row{{text: "│ ", look: faint}}, func() { r.writeChildren(n, src) })
	case *ast.List:
		number := n.Start
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			if item.HasBlankPreviousLines() && item != n.FirstChild() {
				r.writeLine(nil)
			}
			r.writeItem(n, item, number, src)
			number++
		}
	case *ast.Paragraph, *ast.TextBlock:
		r.writeParagraph(n, src)
	default:
		r.writeText(r.spansOf(n, src, 0))
	}
}

// writeChildren writes the blocks in a quote or a list item.
func (r *renderer) writeChildren(n ast.Node, src []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() && c.HasBlankPreviousLines() {
			r.writeLine(nil)
		}
		r.writeBlock(c, src)
	}
}

func (r *renderer) writeItem(list *ast.List, item ast.Node, number int, src []byte) {
	mark := "• "
	if list.IsOrdered() {
		mark = fmt.Sprintf("%d%c ", number, list.Marker)
	}
	r.writeIndented(row{{text: mark}}, row{{text: strings.Repeat(" ", term.Width(mark))}}, func() { r.writeChildren(item, src) })
}

// writeFence writes the line before or after code. With styles, the code is seen by its
// colour.
func (r *renderer) writeFence(info string) {
	if !r.o.Style.IsOn() {
		r.writeLine(row{{text: "```" + term.CleanLine(strings.TrimSpace(unescapeText([]byte(info)))), look: faint}})
	}
}

// codeLines writes code. info is what the writer says of it, at first its language.
func (r *renderer) codeLines(n ast.Node, src []byte, info string) {
	scanner := newScanner(info)
	lines := n.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		r.writeCode(string(seg.Value(src)), &scanner)
	}
}

func newScanner(info string) syntax.Scanner {
	language, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	language, _, _ = strings.Cut(language, "{")
	return syntax.New(language)
}

// hangCode is how far the rest of a broken line of code is moved to the right.
const hangCode = 4

// writeCode writes a line of code, the next of those that scanner has seen. Below an
// indent, one that is too long is broken between words.
func (r *renderer) writeCode(line string, scanner *syntax.Scanner) {
	line = strings.TrimRight(line, "\n")
	content := row{}
	for _, p := range scanner.Line(line) {
		content = append(content, span{text: p.Text, look: lookOf(p.Kind, scanner.Known())})
	}
	rest := strings.TrimLeft(line, " \t")
	lead := line[:len(line)-len(rest)]
	room := r.o.width() - r.indent.rowWidth() - term.Width(strings.ReplaceAll(lead, "\t", "    ")) - hangCode
	if r.o.Indent == 0 || room < minProse || term.Width(rest) <= room+hangCode {
		r.writeLine(content)
		return
	}
	at := len(lead)
	for i, part := range strings.Split(term.Wrap(rest, room), "\n") {
		at += strings.Index(line[at:], part) // the space at which a line is broken is not in a part
		hang := ""
		if i > 0 {
			hang = strings.Repeat(" ", hangCode)
		}
		r.writeLine(append(row{{text: lead + hang}}, content.cut(at, at+len(part))...))
		at += len(part)
	}
}

func lookOf(k syntax.Kind, known bool) look {
	switch k {
	case syntax.Comment:
		return faint
	case syntax.String, syntax.Added:
		return green
	case syntax.Keyword:
		return magenta
	case syntax.Key, syntax.Number:
		return code
	case syntax.Removed:
		return red
	}
	if known {
		return 0
	}
	return code
}

// writeParagraph writes a paragraph, or a table if the paragraph is one.
func (r *renderer) writeParagraph(n ast.Node, src []byte) {
	lines := n.Lines()
	raw := make([]string, lines.Len())
	for i := range raw {
		seg := lines.At(i)
		raw[i] = strings.TrimRight(string(seg.Value(src)), "\n")
	}
	at, columns := findTable(raw)
	if at < 0 {
		if bytes.Count(lines.Value(src), []byte("]")) > maxBrackets {
			r.writeText([]span{{text: strings.Join(raw, "\n")}})
			return
		}
		r.writeText(r.spansOf(n, src, 0))
		return
	}
	if at > 0 {
		before := []byte(strings.Join(raw[:at], "\n"))
		r.writeText(r.inlineSpans(before))
	}
	r.writeTable(raw[at:], columns)
}

// inlineSpans returns the text of src as one paragraph, whatever it looks like.
func (r *renderer) inlineSpans(src []byte) []span {
	doc := parseTree(r.p.inline, src)
	if doc.FirstChild() == nil {
		return nil
	}
	return r.spansOf(doc.FirstChild(), src, 0)
}
