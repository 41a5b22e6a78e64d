package web

import (
	"strings"

	"golang.org/x/net/html"
)

// readableText returns the text of a page without scripts, styles and markup, with
// headings, list items and links kept recognisable. It splits the page into tokens as a
// browser does but builds no tree: whatever the page contains, it is read once and
// yields text.
func readableText(page string) string {
	t := &text{tokens: html.NewTokenizer(strings.NewReader(page))}
	for {
		switch kind := t.nextToken(); kind {
		case html.ErrorToken: // the end: reading a string cannot fail
			return strings.TrimSpace(t.out.String())
		case html.TextToken:
			t.addWords(string(t.tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t.beginElement(kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := t.tokens.TagName()
			t.endElement(string(name))
		}
	}
}

// text collects words and keeps track of the space between them.
type text struct {
	tokens *html.Tokenizer
	out    strings.Builder
	gap    int  // newlines owed before the next word
	space  bool // a space is owed
	pre    int  // depth of <pre>
	href   string
}

// nextToken reads a token. In XHTML any element may end in its own tag.
func (t *text) nextToken() html.TokenType {
	kind := t.tokens.Next()
	if kind == html.SelfClosingTagToken {
		t.tokens.NextIsNotRawText()
	}
	return kind
}

// beginElement begins the element whose tag was just read. closed means that it also
// ends there.
func (t *text) beginElement(closed bool) {
	raw, _ := t.tokens.TagName()
	name := string(raw)
	switch name {
	case "script", "style", "template", "svg", "noscript", "iframe", "object", "select", "textarea":
		if !closed {
			t.skipElement(name)
		}
		return
	}
	t.tokens.NextIsNotRawText() // an unclosed title would show the page's source
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		t.beginLines(2)
		t.beginWith(strings.Repeat("#", int(name[1]-'0')) + " ")
	case "li":
		t.beginLines(1)
		t.beginWith("- ")
	case "pre":
		t.beginLines(2)
		t.pre++
	case "a":
		t.href = t.attributeValue("href")
	case "img":
		if alt := t.attributeValue("alt"); alt != "" {
			t.addWords("[" + alt + "]")
		}
	default:
		t.separate(name)
	}
}

// endElement ends an element, which need not have begun.
func (t *text) endElement(name string) {
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		t.beginLines(2)
	case "li":
		t.beginLines(1)
	case "pre":
		t.beginLines(2)
		t.pre = max(0, t.pre-1)
	case "a":
		if strings.HasPrefix(t.href, "http://") || strings.HasPrefix(t.href, "https://") || strings.HasPrefix(t.href, "/") {
			t.addWords(" (" + t.href + ")")
		}
		t.href = ""
	default:
		t.separate(name)
	}
}

// separate adds the gap that an element makes before and after itself.
func (t *text) separate(name string) {
	switch name {
	case "p", "table", "ul", "ol", "dl", "blockquote", "article", "section", "main", "title", "figure":
		t.beginLines(2)
	case "div", "br", "tr", "dt", "dd", "header", "footer", "nav", "aside", "form", "option", "hr", "figcaption":
		t.beginLines(1)
	case "td", "th":
		t.space = true
	}
}

// skipElement skips an element whose content is not text; an unclosed one lasts to the
// end of the page.
func (t *text) skipElement(name string) {
	for {
		switch t.nextToken() {
		case html.ErrorToken:
			return
		case html.EndTagToken:
			if found, _ := t.tokens.TagName(); string(found) == name {
				return
			}
		}
	}
}

// attributeValue returns the value of an attribute of the tag that was just read.
func (t *text) attributeValue(name string) string {
	for more := true; more; {
		var key, value []byte
		if key, value, more = t.tokens.TagAttr(); string(key) == name {
			return string(value)
		}
	}
	return ""
}

func (t *text) beginLines(n int) {
	t.gap = max(t.gap, n)
	t.space = false
}

// beginWith begins a line with a mark, after which the next word needs no gap.
func (t *text) beginWith(s string) {
	t.flushLine()
	t.out.WriteString(s)
}

func (t *text) flushLine() {
	if t.gap > 0 && t.out.Len() > 0 {
		t.out.WriteString("\n\n"[:min(t.gap, 2)])
	} else if t.space && t.out.Len() > 0 && !isSpace(t.out.String()[t.out.Len()-1]) {
		t.out.WriteByte(' ')
	}
	t.gap, t.space = 0, false
}

func (t *text) addWords(s string) {
	if s == "" {
		return
	}
	if t.pre > 0 {
		t.flushLine()
		t.out.WriteString(s)
		return
	}
	if isSpace(s[0]) && t.gap == 0 {
		t.space = true
	}
	for i, word := range strings.Fields(s) {
		if i > 0 {
			t.space = true
		}
		t.flushLine()
		t.out.WriteString(word)
	}
	t.space = t.gap == 0 && isSpace(s[len(s)-1])
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
