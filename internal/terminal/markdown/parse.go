package markdown

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"fika/internal/system/term"
)

// parsers are the three parsers that are needed; creating them costs some microseconds,
// so they are created only when a text is shown.
type parsers struct {
	full   parser.Parser // blocks and their inline content
	blocks parser.Parser // only blocks: where each ends
	inline parser.Parser // one paragraph, whatever it looks like, such as a cell
}

func newParsers() parsers {
	inline := parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(strikeParser{}, 600))...)
	blocks := parser.WithBlockParsers(parser.DefaultBlockParsers()...)
	return parsers{
		full:   parser.NewParser(blocks, inline),
		blocks: parser.NewParser(blocks),
		inline: parser.NewParser(parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 100)), inline),
	}
}

func parseTree(p parser.Parser, src []byte) ast.Node { return p.Parse(text.NewReader(src)) }

// struck is the level of the emphasis that ~~ makes; asterisks make 1 and 2.
const struck = 3

// strikeParser parses ~~strikethrough~~.
type strikeParser struct{}

func (strikeParser) Trigger() []byte { return []byte{'~'} }

func (strikeParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, strikeDelimiter{})
	if node == nil || node.OriginalLength > 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

type strikeDelimiter struct{}

func (strikeDelimiter) IsDelimiter(b byte) bool { return b == '~' }

func (strikeDelimiter) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (strikeDelimiter) OnMatch(int) ast.Node { return ast.NewEmphasis(struck) }

// unescapeText returns the text that a piece of source stands for: without backslashes
// before punctuation, and with character references decoded, cleaned again.
func unescapeText(src []byte) string {
	if bytes.IndexByte(src, '\\') < 0 && bytes.IndexByte(src, '&') < 0 {
		return string(src)
	}
	var b strings.Builder
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\\' && i+1 < len(src) && util.IsPunct(src[i+1]):
			i++
			b.WriteByte(src[i])
		case c == '&':
			n := referenceLength(src[i:])
			b.WriteString(html.UnescapeString(string(src[i : i+n])))
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	return term.Clean(b.String())
}

// referenceLength returns the length of the character reference at the beginning of src,
// or 1 if the & stands for itself.
func referenceLength(src []byte) int {
	end := bytes.IndexByte(src[:min(len(src), 40)], ';')
	if end < 2 {
		return 1
	}
	for i, c := range src[1:end] {
		if !util.IsAlphaNumeric(c) && (c != '#' || i > 0) {
			return 1
		}
	}
	return end + 1
}

// Bounds on the cost of Markdown: parsing time is quadratic in the nesting depth of a
// line, and in the number of brackets of a paragraph.
const (
	maxNesting  = 32
	maxBrackets = 4096
	maxBlock    = 16 << 10
	maxLine     = 4 << 10
)

// plainLine turns a line that nests too deeply into ordinary text.
func plainLine(line string) string {
	marks := 0
	for i, c := range []byte(line) {
		switch c {
		case '>':
			marks++
		case '-', '+', '*', '.', ')':
			if i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t' || line[i+1] == '>') {
				marks++
			}
		case ' ', '\t', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			return line
		}
		if marks > maxNesting {
			lead := len(line) - len(strings.TrimLeft(line, " \t"))
			return `\` + line[lead:]
		}
	}
	return line
}
