package markdown

import (
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"

	"fika/internal/system/term"
)

// HTML returns the text as HTML that runs and loads nothing, whatever the text holds: its
// own tags are text, images are their addresses, and links lead to http, https and mailto
// only, with the address beside them. person is as in [Options].
func HTML(source string, person func(name string) bool) string {
	var tamed strings.Builder
	for line := range strings.Lines(term.Clean(source)) {
		tamed.WriteString(plainLine(strings.TrimSuffix(line, "\n")) + "\n")
	}
	src := []byte(tamed.String())
	w := htmlWriter{p: newParsers(), person: person}
	var starts []int
	for n := parseTree(w.p.blocks, src).FirstChild(); n != nil; n = n.NextSibling() {
		if at := lineStart(src, n.Pos()); len(starts) == 0 || at > starts[len(starts)-1] {
			starts = append(starts, at)
		}
	}
	if len(starts) > 0 {
		starts[0] = 0
	}
	for i, at := range starts {
		end := len(src)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		part := src[at:end]
		if len(part) > maxBlock { // parsing what is inside may take too long
			w.write(`<pre>%s</pre>`, strings.TrimSpace(string(part)))
			continue
		}
		w.blocks(parseTree(w.p.full, part), part)
	}
	return w.b.String()
}

// htmlWriter writes blocks as HTML.
type htmlWriter struct {
	p      parsers
	person func(name string) bool
	b      strings.Builder
}

// inline returns the text of a block, in pieces.
func (w *htmlWriter) inline(n ast.Node, src []byte) []span {
	in := inline{src: src, person: w.person}
	in.addChildren(n, 0)
	return in.spans
}

// inlineOf returns the text of src as one paragraph, whatever it looks like.
func (w *htmlWriter) inlineOf(src []byte) []span {
	if n := parseTree(w.p.inline, src).FirstChild(); n != nil {
		return w.inline(n, src)
	}
	return nil
}

// write writes a format with its arguments escaped.
func (w *htmlWriter) write(format string, args ...string) {
	escaped := make([]any, len(args))
	for i, a := range args {
		escaped[i] = html.EscapeString(a)
	}
	fmt.Fprintf(&w.b, format, escaped...)
}

func (w *htmlWriter) blocks(n ast.Node, src []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.block(c, src)
	}
}

func (w *htmlWriter) block(n ast.Node, src []byte) {
	switch n := n.(type) {
	case *ast.Heading:
		w.write(`<p class="heading">`)
		w.spans(w.inline(n, src))
		w.write(`</p>`)
	case *ast.ThematicBreak:
		w.write(`<hr>`)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		w.write(`<pre tabindex="0"><code>%s</code></pre>`, string(n.Lines().Value(src)))
	case *ast.HTMLBlock:
		text := string(n.Lines().Value(src))
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(src))
		}
		w.write(`<p>%s</p>`, text)
	case *ast.Blockquote:
		w.write(`<blockquote>`)
		w.blocks(n, src)
		w.write(`</blockquote>`)
	case *ast.List:
		tag := "ul"
		if n.IsOrdered() {
			tag = "ol"
			w.write(`<ol start="%s">`, fmt.Sprint(n.Start))
		} else {
			w.write(`<ul>`)
		}
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			w.write(`<li>`)
			w.blocks(item, src)
			w.write(`</li>`)
		}
		w.write(`</%s>`, tag)
	case *ast.Paragraph:
		w.paragraph(n, src, `<p>`, `</p>`)
	case *ast.TextBlock:
		w.paragraph(n, src, ``, ``)
	default:
		w.spans(w.inline(n, src))
	}
}

// paragraph writes a paragraph, or a table if it is one.
func (w *htmlWriter) paragraph(n ast.Node, src []byte, before, after string) {
	lines := strings.Split(strings.TrimSuffix(string(n.Lines().Value(src)), "\n"), "\n")
	at, columns := findTable(lines)
	if at < 0 {
		w.write(before)
		w.spans(w.inline(n, src))
		w.write(after)
		return
	}
	if at > 0 {
		w.write(`<p>`)
		w.spans(w.inlineOf([]byte(strings.Join(lines[:at], "\n"))))
		w.write(`</p>`)
	}
	w.write(`<div class="scroll" tabindex="0"><table>`)
	for i, line := range lines[at:] {
		if i == 1 {
			continue
		}
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		w.write(`<tr>`)
		texts := splitCells(line)
		for c := range columns {
			w.write(`<%s>`, cell)
			if c < len(texts) {
				w.spans(w.inlineOf([]byte(texts[c])))
			}
			w.write(`</%s>`, cell)
		}
		w.write(`</tr>`)
	}
	w.write(`</table></div>`)
}

// spans writes pieces of text with their looks.
func (w *htmlWriter) spans(list []span) {
	for _, s := range list {
		end := ""
		for _, l := range [...]struct {
			look look
			tag  string
			attr string
		}{{code, "code", ""}, {bold, "strong", ""}, {italic, "em", ""}, {crossed, "s", ""}, {faint, "span", ` class="dim"`}, {person, "b", ` class="person"`}} {
			if s.look&l.look != 0 {
				w.write(`<` + l.tag + l.attr + `>`)
				end = `</` + l.tag + `>` + end
			}
		}
		if isWebAddress(s.href) {
			w.write(`<a href="%s" target="_blank" rel="noopener noreferrer nofollow">`, s.href)
			end = `</a>` + end
		}
		w.b.WriteString(strings.ReplaceAll(html.EscapeString(s.text), "\n", "<br>"))
		w.write(end)
	}
}

// isWebAddress reports whether a page may link to an address.
func isWebAddress(href string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(href), ":")
	return ok && (scheme == "http" || scheme == "https" || scheme == "mailto")
}
