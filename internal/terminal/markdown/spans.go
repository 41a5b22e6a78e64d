package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"fika/internal/system/term"
)

// look is the appearance of a piece of text: a set of the following.
type look uint16

const (
	bold look = 1 << iota
	italic
	underlined
	faint
	crossed
	code
	person
	green
	magenta
	red
)

// span is a piece of text with one look. href, if not empty, is the address it links to.
type span struct {
	text string
	look look
	href string
}

// inline collects the spans of the children of a block.
type inline struct {
	src    []byte
	marks  bool // the marks of emphasis and code stay
	person func(name string) bool
	spans  []span
}

// spansOf returns the text of a block, in pieces.
func (r *renderer) spansOf(n ast.Node, src []byte, base look) []span {
	in := inline{src: src, marks: !r.o.Style.IsOn(), person: r.o.Person}
	in.addChildren(n, base)
	return in.spans
}

func (in *inline) addText(text string, l look) {
	if text == "" {
		return
	}
	if n := len(in.spans); n > 0 && in.spans[n-1].look == l && in.spans[n-1].href == "" {
		in.spans[n-1].text += text
		return
	}
	in.spans = append(in.spans, span{text: text, look: l})
}

// addMark adds a mark of the source if nothing else shows its meaning.
func (in *inline) addMark(mark string, l look) {
	if in.marks {
		in.addText(mark, l)
	}
}

// addChildren adds the content of n. The tree is walked without recursion, because
// hostile text can nest emphasis as deep as it is long.
func (in *inline) addChildren(n ast.Node, l look) {
	type level struct {
		next ast.Node
		look look
		end  func()
	}
	stack := []level{{next: n.FirstChild(), look: l}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == nil {
			if top.end != nil {
				top.end()
			}
			stack = stack[:len(stack)-1]
			continue
		}
		child, l := top.next, top.look
		top.next = child.NextSibling()
		inner, end := in.addNode(child, l)
		if end != nil {
			stack = append(stack, level{child.FirstChild(), inner, end})
		}
	}
}

// addNode adds n. If its children are to follow, it returns their look and a function
// that adds what comes after them.
func (in *inline) addNode(n ast.Node, l look) (look, func()) {
	switch n := n.(type) {
	case *ast.Text:
		in.addTextNode(n, l)
	case *ast.String:
		in.addText(term.Clean(string(n.Value)), l)
	case *ast.CodeSpan:
		in.addMark("`", l)
		in.addText(in.rawText(n), l|code)
		in.addMark("`", l)
	case *ast.AutoLink:
		in.addAddress(string(n.URL(in.src)), string(n.Label(in.src)), l)
	case *ast.RawHTML:
		in.addTag(string(n.Segments.Value(in.src)), l)
	case *ast.Emphasis:
		mark, more := "*", italic
		switch n.Level {
		case 2:
			mark, more = "**", bold
		case struck:
			mark, more = "~~", crossed
		}
		in.addMark(mark, l)
		return l | more, func() { in.addMark(mark, l) }
	case *ast.Link:
		from := len(in.spans)
		in.spans = append(in.spans, span{}) // a separate span, so that nothing before the link joins it
		return l | underlined, func() { in.makeLink(from, unescapeText(n.Destination), l) }
	case *ast.Image:
		in.addText("[image: ", l)
		dest := unescapeText(n.Destination)
		return l, func() { in.addText("] ("+term.CleanLine(dest)+")", l) }
	default:
		return l, func() {}
	}
	return l, nil
}

// addTextNode adds the text of a node. Line breaks of the source are kept.
func (in *inline) addTextNode(n *ast.Text, l look) {
	text := unescapeText(n.Segment.Value(in.src))
	if n.IsRaw() {
		text = string(n.Segment.Value(in.src))
	}
	in.addProse(text, l)
	if n.SoftLineBreak() || n.HardLineBreak() {
		in.addText("\n", l)
	}
}

// rawText returns the text of a code span.
func (in *inline) rawText(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(in.src))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// addTag adds an HTML tag: <br> is a line break, other tags are text.
func (in *inline) addTag(tag string, l look) {
	switch strings.ToLower(strings.Join(strings.Fields(tag), "")) {
	case "<br>", "<br/>":
		in.addText("\n", l)
	default:
		in.addText(tag, l)
	}
}

// addAddress adds an address that stands by itself in the text.
func (in *inline) addAddress(dest, label string, l look) {
	if !strings.Contains(dest, ":") && strings.Contains(dest, "@") {
		dest = "mailto:" + dest
	}
	in.spans = append(in.spans, span{label, l | underlined, linkAddress(dest)})
}

// makeLink turns the spans added since from into a link, followed by its address unless
// its text is the address.
func (in *inline) makeLink(from int, dest string, l look) {
	href := linkAddress(dest)
	var text strings.Builder
	for i := from; i < len(in.spans); i++ {
		in.spans[i].href = href
		text.WriteString(in.spans[i].text)
	}
	dest = term.CleanLine(dest)
	switch said := strings.TrimSpace(text.String()); {
	case dest == "" || said == dest || "mailto:"+said == dest:
	case said == "":
		in.spans = append(in.spans, span{dest, l | underlined, href})
	default:
		in.spans = append(in.spans, span{" (", l | faint, ""}, span{dest, l | faint, href}, span{")", l | faint, ""})
	}
}

// linkAddress returns dest in the form for a terminal, or "" if it must not become a
// link.
func linkAddress(dest string) string {
	href := string(util.URLEscape([]byte(strings.TrimSpace(dest)), false))
	if !term.Linkable(href) {
		return ""
	}
	return href
}

// addProse adds text in which addresses become links and people stand out.
func (in *inline) addProse(text string, l look) {
	at := 0
	for i := 0; i < len(text); {
		n := 0
		switch {
		case text[i] == 'h' && l&underlined == 0:
			if n = bareURL(text[i:]); n > 0 {
				in.addText(text[at:i], l)
				in.addAddress(text[i:i+n], text[i:i+n], l)
			}
		case text[i] == '@' && in.person != nil:
			if n = nameLen(text[i+1:]); n > 0 && (i == 0 || !wordByte(text[i-1])) && in.person(text[i+1:i+1+n]) {
				n++
				in.addText(text[at:i], l)
				in.addText(text[i:i+n], l|person)
			} else {
				n = 0
			}
		}
		if n == 0 {
			i++
			continue
		}
		i += n
		at = i
	}
	in.addText(text[at:], l)
}

// nameLen returns the length of the name at the beginning of s: up to the next space or
// punctuation that cannot be part of a name.
func nameLen(s string) int {
	for i, r := range s {
		if r <= ' ' || r < 0x80 && !wordByte(byte(r)) && r != '-' {
			return len(strings.TrimRight(s[:i], "-"))
		}
	}
	return len(s)
}

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// bareURL returns the length of the address at the beginning of s, or 0 if there is none.
// Punctuation at its end belongs to the sentence.
func bareURL(s string) int {
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		if rest, ok = strings.CutPrefix(s, "http://"); !ok {
			return 0
		}
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("<>\"`|\\", r) })
	if end < 0 {
		end = len(rest)
	}
	host := strings.TrimRight(rest[:end], ".,;:!?'*_~")
	if strings.HasSuffix(host, ")") && !strings.Contains(host, "(") {
		host = strings.TrimRight(host, ").,;:!?'")
	}
	if host == "" {
		return 0
	}
	return len(s) - len(rest) + len(host)
}
