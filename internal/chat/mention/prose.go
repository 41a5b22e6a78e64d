package mention

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// gap stands in the prose where something was left out. It is neither a word
// character nor a space, so it ends a name or a URL and begins neither.
const gap = 0

// proseOf returns the part of a Markdown text in which mentions count: the source of
// its text nodes in order, neighbours joined (a parser splits text at '_'), with a
// gap in place of markup, code, links, quotes and line ends.
func (p *Parser) proseOf(src []byte) []byte {
	c := collector{inner: p.inner}
	c.collectFrom(p.blocks, src)
	c.hideTagged()
	return c.out
}

// collector walks a parsed text and collects its prose.
type collector struct {
	inner parser.Parser
	out   []byte
	tags  []tag
	// hidden, if not nil, is called with everything that is left out, and the reason.
	hidden func(Hiding, []byte)
}

func (c *collector) noteHidden(why Hiding, text []byte) {
	if c.hidden != nil {
		c.hidden(why, text)
	}
}

// tag is an HTML tag found at a position in the prose.
type tag struct {
	at    int
	name  string
	close bool
}

func (c *collector) collectFrom(p parser.Parser, src []byte) {
	stop := -1  // where the last taken segment ended in src
	quotes := 0 // number of enclosing block quotes
	c.out = append(c.out, gap)
	visit := func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if _, ok := n.(*ast.Blockquote); ok {
			if entering {
				quotes++
			} else {
				quotes--
			}
			return ast.WalkContinue, nil
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.CodeBlock, *ast.FencedCodeBlock, *ast.Link, *ast.Image, *ast.AutoLink:
			if c.hidden != nil {
				c.leftOut(n, src)
			}
			return ast.WalkSkipChildren, nil
		case *ast.HTMLBlock:
			// Text between tags is still prose, because models wrap answers in tags.
			if quotes == 0 && (n.HTMLBlockType == ast.HTMLBlockType6 || n.HTMLBlockType == ast.HTMLBlockType7) && p != c.inner {
				c.collectFrom(c.inner, n.Lines().Value(src))
				stop = -1
			} else {
				c.noteHidden(InHTML, n.Lines().Value(src))
			}
			return ast.WalkSkipChildren, nil
		case *ast.RawHTML:
			if quotes == 0 {
				c.noteTag(n.Segments.Value(src))
			}
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			seg := n.Segment
			if quotes > 0 && isQuoted(src, seg.Start) {
				c.noteHidden(InQuote, seg.Value(src))
				return ast.WalkContinue, nil
			}
			if seg.Start != stop {
				c.out = append(c.out, gap)
			}
			c.out = append(c.out, seg.Value(src)...)
			stop = seg.Stop
		}
		return ast.WalkContinue, nil
	}
	_ = ast.Walk(p.Parse(text.NewReader(src)), visit) // visit never fails
}

// isQuoted reports whether the line around pos begins with a quote mark, perhaps
// inside list items. A paragraph of a quote may continue without marks, but such a
// line was most likely meant as the answer to the quote, so it counts.
func isQuoted(src []byte, pos int) bool {
	line := src[bytes.LastIndexByte(src[:pos], '\n')+1 : pos]
	return bytes.IndexByte(line, '>') >= 0 && bytes.HasPrefix(bytes.TrimLeft(line, " \t-+*0123456789.)"), []byte(">"))
}

// noteTag records a tag whose content is code, a link or a quote.
func (c *collector) noteTag(raw []byte) {
	s := strings.TrimPrefix(string(raw[:min(len(raw), 16)]), "<")
	s, closing := strings.CutPrefix(s, "/")
	if i := strings.IndexAny(s, " \t\r\n/>"); i >= 0 {
		s = s[:i]
	}
	switch s = strings.ToLower(s); s {
	case "code", "pre", "kbd", "samp", "a", "blockquote", "q", "script", "style":
		c.tags = append(c.tags, tag{len(c.out), s, closing})
	}
}

// hideTagged blanks the text between an opening tag and its closing one. A tag that
// is never closed hides nothing.
func (c *collector) hideTagged() {
	type open struct{ start, depth, lastClose int }
	opened := map[string]*open{}
	hide := func(name string, o *open) {
		if o.lastClose > 0 {
			c.noteHidden(tagHides(name), c.out[o.start:o.lastClose])
			clear(c.out[o.start:o.lastClose]) // gap is 0
		}
	}
	for _, t := range c.tags {
		o := opened[t.name]
		switch {
		case !t.close && o == nil:
			opened[t.name] = &open{start: t.at, depth: 1}
		case !t.close:
			o.depth++
		case o != nil:
			o.depth--
			o.lastClose = t.at
			if o.depth == 0 {
				hide(t.name, o)
				delete(opened, t.name)
			}
		}
	}
	for name, o := range opened {
		hide(name, o)
	}
}
