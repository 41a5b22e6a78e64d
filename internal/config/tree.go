package config

import (
	"bytes"
	"errors"
	"sort"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// kind says what a value of the file is.
type kind int

const (
	textKind kind = iota
	boolKind
	intKind
	floatKind
	timeKind
	listKind
	tableKind
)

func (k kind) String() string {
	switch k {
	case textKind:
		return "a text"
	case boolKind:
		return "true or false"
	case intKind:
		return "a whole number"
	case floatKind:
		return "a number with a fraction"
	case timeKind:
		return "a date or time"
	case listKind:
		return "a list"
	}
	return "a table"
}

// value is one value of a file, still without meaning.
type value struct {
	kind  kind
	at    int    // byte offset
	text  string // of scalars: the decoded text, or what is written
	items []value
	table *table
}

// table keeps its keys in the order of the file.
type table struct {
	at      int
	header  bool // opened by a [header] of its own
	full    bool // it had more keys than entries holds
	entries []entry
}

type entry struct {
	name string
	at   int
	val  value
}

// get finds a key; nil means it is not there.
func (t *table) get(name string) *entry {
	for i := range t.entries {
		if t.entries[i].name == name {
			return &t.entries[i]
		}
	}
	return nil
}

// source is one file while it is read.
type source struct {
	file     string
	data     []byte
	lines    []int // offset of each line's first byte, filled on first use
	root     *table
	problems *Problems
	broken   bool // not all of it could be parsed
}

// place turns a byte offset into a position.
func (s *source) place(offset int) Place {
	if s.lines == nil {
		s.lines = append(s.lines, s.begin())
		for i, c := range s.data {
			if c == '\n' {
				s.lines = append(s.lines, i+1)
			}
		}
	}
	offset = max(s.lines[0], min(offset, len(s.data)))
	line := sort.SearchInts(s.lines, offset+1)
	start := s.lines[line-1]
	return Place{File: s.file, Line: line, Column: utf8.RuneCount(s.data[start:offset]) + 1}
}

func (s *source) problem(offset int, format string, args ...any) {
	s.problems.add(s.place(offset), format, args...)
}

// begin is where the text begins: after the byte order mark some editors write.
func (s *source) begin() int {
	const mark = "\xef\xbb\xbf"
	if bytes.HasPrefix(s.data, []byte(mark)) {
		return len(mark)
	}
	return 0
}

// What is larger is not a file a person wrote. The second bound also keeps
// looking up keys cheap.
const (
	maxFile = 1 << 20
	maxKeys = 1000 // of one table
)

// parse fills s.root. After a syntax error it goes on at the next line that
// begins a table, so that a person sees more than the first slip.
func (s *source) parse() {
	s.root = &table{}
	if len(s.data) > maxFile {
		s.broken = true
		s.problems.add(Place{File: s.file}, "the file is larger than %d bytes, which is no file a person writes", maxFile)
		return
	}
	base := s.begin()
	for base < len(s.data) {
		stop, ok := s.parseFrom(base)
		if ok {
			return
		}
		s.broken = true
		next := bytes.Index(s.data[stop:], []byte("\n["))
		if next < 0 || s.problems.full() {
			return
		}
		base = stop + next + 1
	}
}

// parseFrom reads expressions until the end or the first syntax error, whose
// offset it returns.
func (s *source) parseFrom(base int) (stop int, ok bool) {
	var p unstable.Parser
	// The capacity is cut so that the parser's offsets stay inside the slice.
	p.Reset(s.data[base:len(s.data):len(s.data)])
	b := builder{source: s, base: base, current: s.root}
	for p.NextExpression() {
		b.expression(p.Expression())
	}
	err := p.Error()
	if err == nil {
		return 0, true
	}
	stop = len(s.data)
	message := err.Error()
	var pe *unstable.ParserError
	if errors.As(err, &pe) {
		// Highlight is a part of the data: its capacity tells where it begins.
		stop = max(base, len(s.data)-cap(pe.Highlight))
		message = pe.Message
	}
	s.problem(stop, "not valid TOML: %s%s", message, s.unquoted(stop))
	return stop, false
}

// unquoted explains the most frequent slip: a text without quotes.
func (s *source) unquoted(at int) string {
	before := bytes.TrimRight(s.data[:at], " \t")
	if len(before) == 0 || before[len(before)-1] != '=' || at >= len(s.data) {
		return ""
	}
	switch c := s.data[at]; {
	case c == '\n', c == '\r':
		return "; a value must follow the = in the same line"
	case c != '"' && c != '\'' && c != '[' && c != '{':
		return "; a text stands in double quotes"
	}
	return ""
}

// builder puts expressions into the tree.
type builder struct {
	source  *source
	base    int
	current *table
}

func (b *builder) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table:
		b.current = b.header(n, false)
	case unstable.ArrayTable:
		b.current = b.header(n, true)
	case unstable.KeyValue:
		b.keyValue(b.current, n)
	}
}

type part struct {
	name string
	at   int
}

func (b *builder) parts(it unstable.Iterator) []part {
	var parts []part
	for it.Next() {
		k := it.Node()
		parts = append(parts, part{string(k.Data), b.base + int(k.Raw.Offset)})
	}
	return parts
}

// header opens the table of a [header] or one more of a [[header]].
func (b *builder) header(n *unstable.Node, array bool) *table {
	parts := b.parts(n.Key())
	t := b.descend(b.source.root, parts[:len(parts)-1])
	last := parts[len(parts)-1]
	e := t.get(last.name)
	fresh := &table{at: last.at, header: true}
	switch {
	case e == nil && array:
		b.add(t, last, value{kind: listKind, at: last.at, items: []value{{kind: tableKind, at: last.at, table: fresh}}})
		return fresh
	case e == nil:
		b.add(t, last, value{kind: tableKind, at: last.at, table: fresh})
		return fresh
	case array && e.val.kind == listKind:
		e.val.items = append(e.val.items, value{kind: tableKind, at: last.at, table: fresh})
		return fresh
	case !array && e.val.kind == tableKind && !e.val.table.header:
		e.val.table.header = true
		return e.val.table
	}
	b.twice(last, e)
	return fresh // what follows is still read, and goes nowhere
}

// descend walks a dotted path, making the tables on the way; [[lists]] are
// entered at their last table.
func (b *builder) descend(t *table, path []part) *table {
	for _, p := range path {
		e := t.get(p.name)
		switch {
		case e == nil:
			next := &table{at: p.at}
			b.add(t, p, value{kind: tableKind, at: p.at, table: next})
			t = next
		case e.val.kind == tableKind:
			t = e.val.table
		case e.val.kind == listKind && len(e.val.items) > 0 && e.val.items[len(e.val.items)-1].kind == tableKind:
			t = e.val.items[len(e.val.items)-1].table
		default:
			b.twice(p, e)
			t = &table{at: p.at}
		}
	}
	return t
}

func (b *builder) keyValue(t *table, n *unstable.Node) {
	parts := b.parts(n.Key())
	t = b.descend(t, parts[:len(parts)-1])
	last := parts[len(parts)-1]
	v := b.value(n.Value(), last.at)
	if e := t.get(last.name); e != nil {
		b.twice(last, e)
		return
	}
	b.add(t, last, v)
}

func (b *builder) add(t *table, p part, v value) {
	if len(t.entries) < maxKeys {
		t.entries = append(t.entries, entry{p.name, p.at, v})
		return
	}
	if !t.full {
		t.full = true
		b.source.problem(p.at, "more than %d keys in one table", maxKeys)
	}
}

func (b *builder) twice(p part, first *entry) {
	b.source.problem(p.at, "%s is set twice; the first is in line %d", quote(p.name), b.source.place(first.at).Line)
}

// value converts a node; around is where to point when the node itself does
// not say where it is.
func (b *builder) value(n *unstable.Node, around int) value {
	v := value{at: around, text: string(n.Data)}
	if n.Raw.Length > 0 {
		v.at = b.base + int(n.Raw.Offset)
	}
	switch n.Kind {
	case unstable.String:
		v.kind = textKind
	case unstable.Bool:
		v.kind = boolKind
	case unstable.Integer:
		v.kind = intKind
	case unstable.Float:
		v.kind = floatKind
	case unstable.Array:
		v.kind = listKind
		for it := n.Children(); it.Next(); {
			v.items = append(v.items, b.value(it.Node(), around))
		}
	case unstable.InlineTable:
		v.kind, v.table = tableKind, &table{at: v.at, header: true}
		for it := n.Children(); it.Next(); {
			b.keyValue(v.table, it.Node())
		}
	default:
		v.kind = timeKind
	}
	return v
}
