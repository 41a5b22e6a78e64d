package web

import (
	"html"
	"strings"
)

// readableText gives the text of a page: without scripts, styles and markup, with
// headings, list items and links kept recognisable. It is no parser: whatever
// the page does, it takes one pass and yields text.
func readableText(page string) string {
	t := &text{}
	for page != "" {
		i := strings.IndexByte(page, '<')
		if i < 0 {
			t.addWords(page)
			break
		}
		t.addWords(page[:i])
		page = t.handleMarkup(page[i:])
	}
	return t.finishText()
}

// text collects words and knows how far apart they are.
type text struct {
	out   strings.Builder
	gap   int  // newlines owed before the next word
	space bool // a space owed
	pre   int  // depth of <pre>
	href  string
}

// handleMarkup handles what begins with '<' and gives the rest.
func (t *text) handleMarkup(s string) string {
	switch {
	case strings.HasPrefix(s, "<!--"):
		return textAfter(s[4:], "-->")
	case strings.HasPrefix(s, "<!"), strings.HasPrefix(s, "<?"):
		return textAfter(s, ">")
	}
	name, closing := tagName(s)
	if name == "" { // a lonely "<" is text
		t.addWords("<")
		return s[1:]
	}
	end := tagEnd(s)
	tag, rest := s[:end], s[end:]
	switch name {
	case "script", "style", "template", "svg", "noscript", "iframe", "object", "select", "textarea":
		if closing || strings.HasSuffix(tag, "/>") {
			return rest
		}
		return skipElement(rest, name)
	}
	t.handleTag(name, closing, tag)
	return rest
}

func (t *text) handleTag(name string, closing bool, tag string) {
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		t.beginLines(2)
		if !closing {
			t.beginWith(strings.Repeat("#", int(name[1]-'0')) + " ")
		}
	case "p", "table", "ul", "ol", "dl", "blockquote", "article", "section", "main", "title", "figure":
		t.beginLines(2)
	case "div", "br", "tr", "dt", "dd", "header", "footer", "nav", "aside", "form", "option", "hr", "figcaption":
		t.beginLines(1)
	case "li":
		t.beginLines(1)
		if !closing {
			t.beginWith("- ")
		}
	case "td", "th":
		t.space = true
	case "pre":
		t.beginLines(2)
		if closing {
			t.pre = max(0, t.pre-1)
		} else {
			t.pre++
		}
	case "a":
		t.handleLink(closing, tag)
	case "img":
		if alt := attributeValue(tag, "alt"); alt != "" {
			t.addWords("[" + alt + "]")
		}
	}
}

func (t *text) handleLink(closing bool, tag string) {
	if !closing {
		t.href = attributeValue(tag, "href")
		return
	}
	if strings.HasPrefix(t.href, "http://") || strings.HasPrefix(t.href, "https://") || strings.HasPrefix(t.href, "/") {
		t.addWords(" (" + t.href + ")")
	}
	t.href = ""
}

func (t *text) beginLines(n int) {
	t.gap = max(t.gap, n)
	t.space = false
}

// beginWith begins a line with a mark that is not followed by a gap of its own.
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

func (t *text) addWords(raw string) {
	if raw == "" {
		return
	}
	s := html.UnescapeString(raw)
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

func (t *text) finishText() string { return strings.TrimSpace(t.out.String()) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func isLetter(c byte) bool { return (c|0x20) >= 'a' && (c|0x20) <= 'z' }

// textAfter is what follows the first end, "" when there is none.
func textAfter(s, end string) string {
	_, rest, _ := strings.Cut(s, end)
	return rest
}

// tagName reads the name at the beginning of a tag in lower case; "" if s is
// none.
func tagName(s string) (name string, closing bool) {
	i := 1
	if i < len(s) && s[i] == '/' {
		closing, i = true, 2
	}
	if i >= len(s) || !isLetter(s[i]) {
		return "", false
	}
	start := i
	for i < len(s) && i-start < 32 && !isSpace(s[i]) && s[i] != '>' && s[i] != '/' {
		i++
	}
	return strings.ToLower(s[start:i]), closing
}

// tagEnd is where a tag is over: after its '>', which may stand inside quotes
// as text.
func tagEnd(s string) int {
	quote := byte(0)
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && s[i-1] == '=':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return len(s)
}

// skipElement gives what follows the closing tag of an element whose content
// is no text; "" when it is never closed.
func skipElement(s, name string) string {
	for {
		i := strings.Index(s, "</")
		if i < 0 {
			return ""
		}
		s = s[i:]
		if found, _ := tagName(s); found == name {
			return s[tagEnd(s):]
		}
		s = s[2:]
	}
}

// attributeValue finds the value of an attribute in a tag.
func attributeValue(tag, name string) string {
	if len(tag) > 8<<10 {
		tag = tag[:8<<10]
	}
	low := strings.ToLower(tag)
	if len(low) != len(tag) {
		return "" // a letter that changes its length with its case: not worth it
	}
	for at := 0; ; {
		i := strings.Index(low[at:], name+"=")
		if i < 0 {
			return ""
		}
		at += i
		begin := at + len(name) + 1
		if at > 0 && isSpace(low[at-1]) {
			return html.UnescapeString(attributeText(tag[begin:]))
		}
		at = begin
	}
}

func attributeText(s string) string {
	if s == "" {
		return ""
	}
	if q := s[0]; q == '"' || q == '\'' {
		v, _, _ := strings.Cut(s[1:], string(q))
		return v
	}
	if end := strings.IndexAny(s, " \t\r\n>"); end >= 0 {
		return s[:end]
	}
	return s
}
