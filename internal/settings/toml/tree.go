package toml

import (
	"bytes"
	"errors"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Kind is the kind of a [Value].
type Kind int

// The kinds.
const (
	KindText Kind = iota
	KindBool
	KindInt
	KindFloat
	KindTime
	KindList
	KindTable
)

// String returns the kind's name for messages, with its article.
func (k Kind) String() string {
	switch k {
	case KindText:
		return "a text"
	case KindBool:
		return "true or false"
	case KindInt:
		return "a whole number"
	case KindFloat:
		return "a number with a fraction"
	case KindTime:
		return "a date or time"
	case KindList:
		return "a list"
	}
	return "a table"
}

// Value is one value of a file, not yet interpreted.
type Value struct {
	Kind  Kind
	At    int    // byte offset
	Text  string // of scalars: the decoded text, or the source
	Items []Value
	Table *Table
}

// Table is a table with its keys in the order of the file.
type Table struct {
	At      int
	Entries []Entry

	header bool // opened by a [header] of its own
	full   bool // it had more keys than Entries may hold
}

// Entry is a key of a table and its value.
type Entry struct {
	Name  string
	At    int // byte offset of the key
	Value Value
}

// Get returns the entry of a key, or nil if there is none.
func (t *Table) Get(name string) *Entry {
	for i := range t.Entries {
		if t.Entries[i].Name == name {
			return &t.Entries[i]
		}
	}
	return nil
}

// Source is one file that has been read. It is not safe for concurrent use.
type Source struct {
	File     string
	Data     []byte
	Root     *Table
	Problems *Problems
	Broken   bool // not all of it could be parsed

	lines []int // offset of each line's first byte, filled on first use
}

// Read parses data; file is its name in messages. Syntax errors are added to problems,
// and the tree holds everything that could be read.
func Read(file string, data []byte, problems *Problems) *Source {
	s := &Source{File: file, Data: data, Problems: problems}
	s.parseSource()
	return s
}

// Place converts a byte offset to a position.
func (s *Source) Place(offset int) Place {
	if s.lines == nil {
		s.lines = append(s.lines, s.Begin())
		for i, c := range s.Data {
			if c == '\n' {
				s.lines = append(s.lines, i+1)
			}
		}
	}
	offset = max(s.lines[0], min(offset, len(s.Data)))
	line := sort.SearchInts(s.lines, offset+1)
	start := s.lines[line-1]
	return Place{File: s.File, Line: line, Column: utf8.RuneCount(s.Data[start:offset]) + 1}
}

// Problem adds a problem at a byte offset.
func (s *Source) Problem(offset int, format string, args ...any) {
	s.Problems.Add(s.Place(offset), format, args...)
}

// Begin returns the offset of the text, after the byte order mark that some editors
// write.
func (s *Source) Begin() int {
	const mark = "\xef\xbb\xbf"
	if bytes.HasPrefix(s.Data, []byte(mark)) {
		return len(mark)
	}
	return 0
}

// MaxFile is the most bytes of a file: a person does not write a larger one.
const MaxFile = 1 << 20

// maxKeys is the most keys of one table; it keeps looking them up cheap.
const maxKeys = 1000

// parseSource fills s.Root. After a syntax error it continues at the next line that
// begins a table, so that a person sees more than the first mistake.
func (s *Source) parseSource() {
	s.Root = &Table{}
	if len(s.Data) > MaxFile {
		s.Broken = true
		s.Problems.Add(Place{File: s.File}, "the file is larger than %d bytes, which is not a file a person writes", MaxFile)
		return
	}
	base := s.Begin()
	for base < len(s.Data) {
		stop, ok := s.parseFrom(base)
		if ok {
			return
		}
		s.Broken = true
		next := bytes.Index(s.Data[stop:], []byte("\n["))
		if next < 0 || s.Problems.Full() {
			return
		}
		base = stop + next + 1
	}
}

// parseFrom reads expressions up to the end or the first syntax error, whose offset it
// returns.
func (s *Source) parseFrom(base int) (stop int, ok bool) {
	var p unstable.Parser
	// Capping the capacity keeps the parser's offsets inside the slice.
	p.Reset(s.Data[base:len(s.Data):len(s.Data)])
	b := builder{source: s, base: base, current: s.Root}
	for p.NextExpression() {
		b.addExpression(p.Expression())
	}
	err := p.Error()
	if err == nil {
		return 0, true
	}
	stop = len(s.Data)
	message := err.Error()
	var pe *unstable.ParserError
	if errors.As(err, &pe) {
		// Highlight is a slice of the data: its capacity tells where it begins.
		stop = max(base, len(s.Data)-cap(pe.Highlight))
		message = pe.Message
	}
	s.Problem(stop, "not valid TOML: %s%s", message, s.explainUnquoted(stop))
	return stop, false
}

// explainUnquoted explains the most frequent mistakes: a missing value and a text
// without quotes.
func (s *Source) explainUnquoted(at int) string {
	before := bytes.TrimRight(s.Data[:at], " \t")
	if len(before) == 0 || before[len(before)-1] != '=' || at >= len(s.Data) {
		return ""
	}
	switch c := s.Data[at]; {
	case c == '\n', c == '\r':
		return "; a value must follow the = in the same line"
	case c != '"' && c != '\'' && c != '[' && c != '{':
		return "; a text stands in double quotes"
	}
	return ""
}

// builder puts expressions into the tree.
type builder struct {
	source  *Source
	base    int
	current *Table
}

func (b *builder) addExpression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table:
		b.current = b.openHeader(n, false)
	case unstable.ArrayTable:
		b.current = b.openHeader(n, true)
	case unstable.KeyValue:
		b.keyValue(b.current, n)
	}
}

type part struct {
	name string
	at   int
}

func (b *builder) pathParts(it unstable.Iterator) []part {
	var parts []part
	for it.Next() {
		k := it.Node()
		parts = append(parts, part{string(k.Data), b.base + int(k.Raw.Offset)})
	}
	return parts
}

// openHeader opens the table of a [header], or appends one to a [[header]].
func (b *builder) openHeader(n *unstable.Node, array bool) *Table {
	parts := b.pathParts(n.Key())
	t := b.descendPath(b.source.Root, parts[:len(parts)-1])
	last := parts[len(parts)-1]
	e := t.Get(last.name)
	fresh := &Table{At: last.at, header: true}
	switch {
	case e == nil && array:
		b.addValue(t, last, Value{Kind: KindList, At: last.at, Items: []Value{{Kind: KindTable, At: last.at, Table: fresh}}})
		return fresh
	case e == nil:
		b.addValue(t, last, Value{Kind: KindTable, At: last.at, Table: fresh})
		return fresh
	case array && e.Value.Kind == KindList:
		e.Value.Items = append(e.Value.Items, Value{Kind: KindTable, At: last.at, Table: fresh})
		return fresh
	case !array && e.Value.Kind == KindTable && !e.Value.Table.header:
		e.Value.Table.header = true
		return e.Value.Table
	}
	b.reportTwice(last, e)
	return fresh // its keys are still read, but not kept
}

// descendPath follows a dotted path and creates missing tables; it enters a [[list]]
// at its last table.
func (b *builder) descendPath(t *Table, path []part) *Table {
	for _, p := range path {
		e := t.Get(p.name)
		switch {
		case e == nil:
			next := &Table{At: p.at}
			b.addValue(t, p, Value{Kind: KindTable, At: p.at, Table: next})
			t = next
		case e.Value.Kind == KindTable:
			t = e.Value.Table
		case e.Value.Kind == KindList && len(e.Value.Items) > 0 && e.Value.Items[len(e.Value.Items)-1].Kind == KindTable:
			t = e.Value.Items[len(e.Value.Items)-1].Table
		default:
			b.reportTwice(p, e)
			t = &Table{At: p.at}
		}
	}
	return t
}

func (b *builder) keyValue(t *Table, n *unstable.Node) {
	parts := b.pathParts(n.Key())
	t = b.descendPath(t, parts[:len(parts)-1])
	last := parts[len(parts)-1]
	v := b.convertValue(n.Value(), last.at)
	if e := t.Get(last.name); e != nil {
		b.reportTwice(last, e)
		return
	}
	b.addValue(t, last, v)
}

func (b *builder) addValue(t *Table, p part, v Value) {
	if len(t.Entries) < maxKeys {
		t.Entries = append(t.Entries, Entry{p.name, p.at, v})
		return
	}
	if !t.full {
		t.full = true
		b.source.Problem(p.at, "more than %d keys in one table", maxKeys)
	}
}

func (b *builder) reportTwice(p part, first *Entry) {
	b.source.Problem(p.at, "%s is set twice; the first is in line %d", Quote(p.name), b.source.Place(first.At).Line)
}

// convertValue converts a node; around is the offset to use when the node itself has
// none.
func (b *builder) convertValue(n *unstable.Node, around int) Value {
	v := Value{At: around, Text: string(n.Data)}
	if n.Raw.Length > 0 {
		v.At = b.base + int(n.Raw.Offset)
	}
	switch n.Kind {
	case unstable.String:
		v.Kind = KindText
	case unstable.Bool:
		v.Kind = KindBool
	case unstable.Integer:
		v.Kind = KindInt
	case unstable.Float:
		v.Kind = KindFloat
	case unstable.Array:
		v.Kind = KindList
		for it := n.Children(); it.Next(); {
			v.Items = append(v.Items, b.convertValue(it.Node(), around))
		}
	case unstable.InlineTable:
		v.Kind, v.Table = KindTable, &Table{At: v.At, header: true}
		for it := n.Children(); it.Next(); {
			b.keyValue(v.Table, it.Node())
		}
	default:
		v.Kind = KindTime
	}
	return v
}

// OffsetInside returns the offset in the file of the byte at index at of a text's
// content, so that a mistake inside a text has its own place. For a value that is not
// a text, or has no such byte, it returns the offset of the value.
func (s *Source) OffsetInside(v Value, at int) int {
	if v.Kind != KindText || at < 0 || at > len(v.Text) || v.At >= len(s.Data) {
		return v.At
	}
	raw, i := s.Data, v.At
	quote := raw[i]
	width := 1
	if bytes.HasPrefix(raw[i:], []byte{quote, quote, quote}) {
		width = 3
	}
	i += width
	if width == 3 {
		if i < len(raw) && raw[i] == '\r' {
			i++
		}
		if i < len(raw) && raw[i] == '\n' {
			i++
		}
	}
	for n := 0; n < at && i < len(raw); {
		if raw[i] != '\\' || quote != '"' {
			i, n = i+1, n+1
			continue
		}
		size, gives := measureEscape(raw[i:])
		i, n = i+size, n+gives
	}
	return i
}

// measureEscape returns how many bytes an escape sequence takes in the file, and how
// many bytes it stands for.
func measureEscape(raw []byte) (size, gives int) {
	if len(raw) < 2 {
		return 1, 1
	}
	digits := 0
	switch raw[1] {
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case 'x':
		digits = 2
	case ' ', '\t', '\r', '\n': // a line continuation: it stands for nothing
		rest := bytes.TrimLeft(raw[1:], " \t\r\n")
		return len(raw) - len(rest), 0
	}
	if digits == 0 || len(raw) < 2+digits {
		return 2, 1
	}
	n, err := strconv.ParseUint(string(raw[2:2+digits]), 16, 32)
	if err != nil {
		return 2, 1
	}
	return 2 + digits, utf8.RuneLen(rune(n))
}
