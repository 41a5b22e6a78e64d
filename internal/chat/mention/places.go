package mention

import (
	"strings"

	"github.com/yuin/goldmark/ast"

	"fika"
)

// Hiding is the reason why an @name in a text is not a mention.
type Hiding string

// The reasons.
const (
	InCode  Hiding = "code"
	InLink  Hiding = "link"
	InQuote Hiding = "quote"
	InHTML  Hiding = "html"
	Bound   Hiding = "bound" // the @ continues a word, a path or an address
)

// Place is one @name in a text and what it stands for.
type Place struct {
	Name   string         // in lower case: a known name, or else everything after the @
	Agent  fika.AgentName // the agent of that name; empty: none
	Person bool           // it names a person
	All    bool           // it names everybody
	Near   []fika.AgentName
	Hidden Hiding // why it does not count; empty: it does
}

// FindPlaces finds every @name in a text, including those that are not mentions: it
// is the detailed form of [Parser.Parse], for callers that need the reasons.
func (p *Parser) FindPlaces(text string, known Known) []Place {
	if !strings.Contains(text, "@") {
		return nil
	}
	names := known.namesMeant()
	var out []Place
	add := func(run string, why Hiding) {
		name, kind := longestName(run, names)
		if name == "" {
			return
		}
		x := Place{Name: name, Hidden: why, Person: kind == human, All: kind == everybody}
		switch kind {
		case agent:
			x.Agent = fika.AgentName(name)
		case nobody:
			x.Near = nearNames(name, known.Agents)
		}
		out = append(out, x)
	}
	src := limitNesting([]byte(text))
	c := collector{inner: p.inner}
	c.hidden = func(why Hiding, text []byte) {
		scanProse(text, func(run string, bound bool) {
			if !bound {
				add(run, why)
			}
		})
	}
	c.collectFrom(p.blocks, src)
	c.hideTagged()
	scanProse(c.out, func(run string, bound bool) {
		why := Hiding("")
		if bound {
			why = Bound
		}
		add(run, why)
	})
	return out
}

// leftOut reports the @names hidden by a node whose content is not prose.
func (c *collector) leftOut(n ast.Node, src []byte) {
	switch n := n.(type) {
	case *ast.CodeBlock:
		c.noteHidden(InCode, n.Lines().Value(src))
	case *ast.FencedCodeBlock:
		c.noteHidden(InCode, n.Lines().Value(src))
	case *ast.AutoLink:
		c.noteHidden(InLink, n.Label(src))
	case *ast.CodeSpan:
		c.noteHidden(InCode, innerText(n, src))
	default:
		c.noteHidden(InLink, innerText(n, src))
	}
}

// innerText returns the text of all text nodes below n.
func innerText(n ast.Node, src []byte) []byte {
	var out []byte
	_ = ast.Walk(n, func(x ast.Node, entering bool) (ast.WalkStatus, error) { // the visitor never fails
		if t, ok := x.(*ast.Text); ok && entering {
			out = append(out, t.Segment.Value(src)...)
		}
		return ast.WalkContinue, nil
	})
	return out
}

// tagHides returns the reason for which the content of a tag is hidden.
func tagHides(tag string) Hiding {
	switch tag {
	case "a":
		return InLink
	case "blockquote", "q":
		return InQuote
	case "script", "style":
		return InHTML
	}
	return InCode
}
