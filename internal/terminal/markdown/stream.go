package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"fika/internal/system/term"
	"fika/internal/terminal/syntax"
)

// Stream renders a text that comes in pieces: finished parts are returned once, the
// unfinished part as rows that are drawn again and again. It is not safe for concurrent
// use.
type Stream struct {
	o       Options
	p       parsers
	clean   *term.Cleaner
	cleaned strings.Builder // output of the cleaner

	partial string // the unfinished line
	pending []byte // whole lines of the block that may still continue
	looked  int    // length of pending when its blocks were last looked at

	said  bool // something was returned
	blank bool // a blank line came before pending
	fence *fence
	list  *openList
}

// fence is a block of code that is shown line by line.
type fence struct {
	mark   byte
	length int
	indent int
	syntax syntax.Scanner
}

// openList is a list some of whose items have already been returned.
type openList struct {
	number int // number of the item that pending begins with
}

// NewStream returns a Stream.
func NewStream(o Options) *Stream {
	s := &Stream{o: o, p: newParsers()}
	s.clean = term.NewCleaner(&s.cleaned)
	return s
}

// Add takes the next piece and returns what it finishes: whole rows, each ending in a
// newline, or "" if nothing is finished.
func (s *Stream) Add(piece string) string {
	_, _ = s.clean.Write([]byte(piece)) // a builder accepts everything
	return s.takeLines()
}

// End ends the text and returns the rest. The Stream can then be used for another text,
// which is set apart from this one.
func (s *Stream) End() string {
	_ = s.clean.Close() // cannot fail, as in Add
	var b strings.Builder
	b.WriteString(s.takeLines())
	if s.partial != "" {
		line := s.partial
		s.partial = ""
		b.WriteString(s.takeLine(line))
	}
	b.WriteString(s.flushPending())
	if s.fence != nil {
		b.WriteString(s.closeFence())
	}
	s.blank, s.list = true, nil
	return b.String()
}

// takeLines processes the whole lines that are available.
func (s *Stream) takeLines() string {
	text := s.partial + s.cleaned.String()
	s.cleaned.Reset()
	var b strings.Builder
	for {
		end := strings.IndexByte(text[:min(len(text), maxLine+1)], '\n')
		next := end + 1
		if end < 0 {
			if len(text) <= maxLine {
				break
			}
			end = lineEnd(text)
			next = end
		}
		b.WriteString(s.takeLine(text[:end]))
		text = text[next:]
	}
	s.partial = text
	return b.String()
}

// lineEnd returns where a line that is too long is split: after a space if there is one
// in the second half, and never inside a character.
func lineEnd(text string) int {
	if i := strings.LastIndexByte(text[:maxLine], ' '); i > maxLine/2 {
		return i + 1
	}
	end := maxLine
	for end > 1 && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// takeLine takes one whole line, without its end.
func (s *Stream) takeLine(line string) string {
	if s.fence != nil {
		return s.codeLine(line)
	}
	blank := strings.TrimSpace(line) == ""
	if blank && len(s.pending) == 0 {
		s.blank = true
		return ""
	}
	s.pending = append(append(s.pending, plainLine(line)...), '\n')
	if !s.dueToLook(line, blank) {
		return ""
	}
	return s.finishedPart(blank)
}

// dueToLook reports whether to look at the blocks of pending: always if there is little
// of it; otherwise only if it has grown, or if something certainly ends or begins. What
// is finished stays finished, so looking later only changes when it is returned.
func (s *Stream) dueToLook(line string, blank bool) bool {
	const little = 2 << 10
	trimmed := strings.TrimLeft(line, " ")
	return blank || len(s.pending) < little || len(s.pending) > s.looked+s.looked/8 ||
		strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
}

// finishedPart returns the finished part of pending.
func (s *Stream) finishedPart(blank bool) string {
	s.looked = len(s.pending)
	doc := parseTree(s.p.blocks, s.pending)
	last := doc.LastChild()
	if last == nil {
		return ""
	}
	var b strings.Builder
	if at := lineStart(s.pending, last.Pos()); last != doc.FirstChild() && at > 0 {
		b.WriteString(s.renderUpTo(at))
		doc = parseTree(s.p.blocks, s.pending)
		if last = doc.LastChild(); last == nil {
			return b.String()
		}
	}
	switch last := last.(type) {
	case *ast.FencedCodeBlock:
		b.WriteString(s.openFence())
	case *ast.List:
		if at := lineStart(s.pending, last.LastChild().Pos()); at > 0 {
			next := s.firstNumber(last) + last.ChildCount() - 1
			b.WriteString(s.renderUpTo(at))
			s.list = &openList{next}
		}
	case *ast.Heading, *ast.ThematicBreak:
		b.WriteString(s.flushPending())
	case *ast.Paragraph, *ast.Blockquote:
		if blank {
			b.WriteString(s.flushPending())
			s.blank = true
		}
	}
	if len(s.pending) > maxBlock {
		b.WriteString(s.renderPart())
	}
	return b.String()
}

// firstNumber returns the number of the first item of the list that pending begins with.
func (s *Stream) firstNumber(l *ast.List) int {
	if s.list != nil {
		return s.list.number
	}
	return l.Start
}

// lineStart returns the beginning of the line that contains pos.
func lineStart(src []byte, pos int) int {
	pos = max(0, min(pos, len(src)))
	return strings.LastIndexByte(string(src[:pos]), '\n') + 1
}

// renderUpTo renders pending up to at and keeps the rest.
func (s *Stream) renderUpTo(at int) string {
	rest := append([]byte(nil), s.pending[at:]...)
	head := s.pending[:at]
	blank := endsBlank(head)
	out := s.renderBlocks(head)
	s.pending, s.looked, s.blank, s.list = rest, 0, blank, nil
	return out
}

func endsBlank(src []byte) bool {
	lines := strings.Split(strings.TrimSuffix(string(src), "\n"), "\n")
	return strings.TrimSpace(lines[len(lines)-1]) == ""
}

// flushPending renders all of pending.
func (s *Stream) flushPending() string {
	if len(s.pending) == 0 {
		return ""
	}
	out := s.renderBlocks(s.pending)
	s.pending, s.looked, s.blank, s.list = nil, 0, false, nil
	return out
}

// renderPart renders a part of a block that is too long. If the block is a table, the
// next part begins with its header.
func (s *Stream) renderPart() string {
	var header []byte
	if p, ok := parseTree(s.p.blocks, s.pending).LastChild().(*ast.Paragraph); ok {
		lines := strings.Split(strings.TrimSuffix(string(p.Lines().Value(s.pending)), "\n"), "\n")
		if at, _ := findTable(lines); at >= 0 && len(lines[at])+len(lines[at+1]) < maxBlock/4 {
			header = []byte(lines[at] + "\n" + lines[at+1] + "\n")
		}
	}
	out := s.flushPending()
	s.pending = header
	return out
}

// renderBlocks returns the blocks of src as rows.
func (s *Stream) renderBlocks(src []byte) string {
	r := newRenderer(s.p, s.o)
	s.writeBlocks(&r, src)
	return s.joinRows(r.out)
}

func (s *Stream) joinRows(rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	s.said = true
	return strings.Join(rows, "\n") + "\n"
}

// writeBlocks writes the top-level blocks of src.
func (s *Stream) writeBlocks(r *renderer, src []byte) {
	doc := parseTree(s.p.full, src)
	said, blank, list := s.said, s.blank, s.list
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n != doc.FirstChild() {
			blank, list = blankBefore(src, n), nil
		}
		if blank && said {
			r.out = append(r.out, "")
		}
		said = true
		if l, ok := n.(*ast.List); ok {
			s.writeItems(r, l, src, list)
			continue
		}
		r.writeBlock(n, src)
	}
}

// writeItems writes the items of a list, some of which may have been written before.
func (s *Stream) writeItems(r *renderer, l *ast.List, src []byte, before *openList) {
	number := l.Start
	if before != nil {
		number = before.number
	}
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		if item != l.FirstChild() && blankBefore(src, item) {
			r.out = append(r.out, "")
		}
		r.writeItem(l, item, number, src)
		number++
	}
}

func blankBefore(src []byte, n ast.Node) bool {
	at := lineStart(src, n.Pos())
	return at > 0 && endsBlank(src[:at])
}

// openFence begins to show code line by line; pending begins with its fence.
func (s *Stream) openFence() string {
	lines := strings.Split(strings.TrimSuffix(string(s.pending), "\n"), "\n")
	opener := strings.TrimLeft(lines[0], " ")
	info := strings.TrimLeft(opener, opener[:1])
	s.fence = &fence{mark: opener[0], length: len(opener) - len(info), indent: len(lines[0]) - len(opener), syntax: newScanner(info)}
	r := newRenderer(s.p, s.o)
	if (s.blank || s.o.Style.IsOn()) && s.said {
		r.out = append(r.out, "")
	}
	r.writeFence(info)
	s.pending, s.looked, s.blank, s.list = nil, 0, false, nil
	out := s.joinRows(r.out)
	for _, line := range lines[1:] {
		out += s.takeLine(line)
	}
	return out
}

// codeLine shows a line of code, or ends the code.
func (s *Stream) codeLine(line string) string {
	if s.fence.closesFence(line) {
		return s.closeFence()
	}
	r := newRenderer(s.p, s.o)
	r.writeCode(s.fence.outdentLine(line), &s.fence.syntax)
	return s.joinRows(r.out)
}

func (f fence) closesFence(line string) bool {
	marks := strings.TrimLeft(line, " ")
	rest := strings.TrimLeft(marks, string(f.mark))
	return len(line)-len(marks) < 4 && len(marks)-len(rest) >= f.length && strings.TrimSpace(rest) == ""
}

// outdentLine removes as many columns from a line as its fence was indented by; the rest
// of a tab becomes spaces.
func (f fence) outdentLine(line string) string {
	const tab = 4
	for range f.indent {
		switch {
		case strings.HasPrefix(line, " "):
			line = line[1:]
		case strings.HasPrefix(line, "\t"):
			return strings.Repeat(" ", tab-f.indent) + line[1:]
		default:
			return line
		}
	}
	return line
}

func (s *Stream) closeFence() string {
	s.fence, s.blank = nil, s.o.Style.IsOn() // no fence sets off what follows
	r := newRenderer(s.p, s.o)
	r.writeFence("")
	return s.joinRows(r.out)
}

// maxTail bounds, in bytes, how much of an unfinished block is shown.
const maxTail = 4 << 10

// Tail is the unfinished part of a text at one moment. It may be used from any
// goroutine.
type Tail struct {
	s   Stream // without a cleaner, because it only renders
	src string
}

// Tail returns the part that is unfinished now.
func (s *Stream) Tail() Tail {
	t := Tail{s: Stream{o: s.o, p: s.p, said: s.said, blank: s.blank, list: s.list}}
	if s.fence != nil {
		f := *s.fence
		t.s.fence = &f
	}
	t.src = string(s.pending) + s.partial
	if cut := lastBytes(t.src, maxTail); len(cut) < len(t.src) {
		if _, after, ok := strings.Cut(cut, "\n"); ok {
			cut = after
		}
		t.src = cut
	}
	return t
}

// InCode reports whether the text is inside code that is shown line by line.
func (s *Stream) InCode() bool { return s.fence != nil }

// Rows returns the last rows of the tail, at most n, at the given width.
func (t Tail) Rows(width, n int) []string {
	if t.src == "" || n <= 0 {
		return nil
	}
	t.s.o.Width, t.s.o.Links = width, false
	r := newRenderer(t.s.p, t.s.o)
	if t.s.fence != nil {
		scanner := t.s.fence.syntax // what is drawn is scanned again when it is finished
		r.writeCode(lastBytes(t.src, width), &scanner)
	} else {
		t.s.writeBlocks(&r, []byte(t.src))
	}
	rows := r.out[max(0, len(r.out)-n):]
	for i, row := range rows {
		rows[i] = strings.ReplaceAll(row, "\t", "    ")
	}
	return rows
}

// lastBytes returns the last n bytes of text, or fewer so as not to split a character.
func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// Empty reports whether the tail has nothing to show.
func (t Tail) Empty() bool { return strings.TrimSpace(t.src) == "" }
