package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// editor finds the position of a key in the bytes of a file, and writes there.
type editor struct {
	data []byte
	key  []string

	begin, end int  // of the key's value; end 0: the key is missing
	inline     bool // its table is written as {…}
	after      int  // end of the last line of the key's own table; -1: none
	dotted     int  // end of the last top-level line "table.other = …"; -1: none
	header     int  // begin of the file's first [header]; -1: none
}

// scanLines scans the file once. It must have been parsed before without errors.
func (e *editor) scanLines() {
	var p unstable.Parser
	p.Reset(e.data)
	parent := e.key[:len(e.key)-1]
	var table []string
	listed := false // inside a [[list]], which is left to people
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind == unstable.KeyValue {
			if listed {
				continue
			}
			path, _ := keyPath(table, n.Key())
			e.keyValue(&p, n, path)
			end := e.lineEnd(int(n.Raw.Offset + n.Raw.Length))
			switch {
			case slices.Equal(table, parent):
				e.after = end
			case len(table) == 0 && slices.Equal(path[:len(path)-1], parent):
				e.dotted = end
			}
			continue
		}
		path, last := keyPath(nil, n.Key())
		at := int(last.Raw.Offset)
		if e.header < 0 {
			e.header = e.lineBegin(at)
		}
		table = path
		listed = n.Kind == unstable.ArrayTable
		if !listed && slices.Equal(table, parent) {
			e.after = e.lineEnd(at)
		}
	}
}

// keyValue looks for the key in one expression, and in tables written as {…}.
func (e *editor) keyValue(p *unstable.Parser, n *unstable.Node, path []string) {
	switch {
	case slices.Equal(path, e.key):
		_, last := keyPath(nil, n.Key())
		e.end = int(n.Raw.Offset + n.Raw.Length)
		e.begin = int(last.Raw.Offset + last.Raw.Length)
		e.begin += bytes.IndexByte(e.data[e.begin:], '=') + 1
		for e.data[e.begin] == ' ' || e.data[e.begin] == '\t' {
			e.begin++
		}
	case n.Value().Kind == unstable.InlineTable && len(path) < len(e.key) && slices.Equal(path, e.key[:len(path)]):
		e.inline = true
		for it := n.Value().Children(); it.Next(); {
			inner, _ := keyPath(path, it.Node().Key())
			e.keyValue(p, it.Node(), inner)
		}
	}
}

// keyPath appends the parts of a key to its table's path, and returns the last part.
func keyPath(table []string, it unstable.Iterator) (path []string, last *unstable.Node) {
	path = slices.Clone(table)
	for it.Next() {
		last = it.Node()
		path = append(path, string(last.Data))
	}
	return path, last
}

func (e *editor) lineBegin(at int) int { return bytes.LastIndexByte(e.data[:at], '\n') + 1 }

// lineEnd returns the offset after the line's newline, or the end of the file.
func (e *editor) lineEnd(at int) int {
	if n := bytes.IndexByte(e.data[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(e.data)
}

// applyText returns the file with the key set to text.
func (e *editor) applyText(text string) []byte {
	if e.end > 0 {
		return e.spliceText(e.begin, e.end, text)
	}
	name := joinKey(e.key[len(e.key)-1:])
	table := joinKey(e.key[:len(e.key)-1])
	line := name + " = " + text + "\n"
	switch {
	case e.after >= 0:
		return e.insertLines(e.after, line)
	case e.dotted >= 0:
		return e.insertLines(e.dotted, table+"."+line)
	case table != "" && len(e.data) > 0:
		return e.insertLines(len(e.data), "\n["+table+"]\n"+line)
	case table != "":
		return e.insertLines(0, "["+table+"]\n"+line)
	case e.header >= 0:
		return e.insertLines(e.aboveHeader(), line+"\n")
	}
	return e.insertLines(len(e.data), line)
}

// aboveHeader returns the offset above the comment that belongs to the first header.
func (e *editor) aboveHeader() int {
	at := e.header
	for at > 0 {
		before := e.lineBegin(at - 1)
		if !bytes.HasPrefix(bytes.TrimLeft(e.data[before:at], " \t"), []byte("#")) {
			break
		}
		at = before
	}
	return at
}

// insertLines inserts whole lines at the beginning of a line, with the file's line
// ends.
func (e *editor) insertLines(at int, lines string) []byte {
	if at > 0 && e.data[at-1] != '\n' {
		lines = "\n" + lines
	}
	if bytes.Contains(e.data, []byte("\r\n")) {
		lines = strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return e.spliceText(at, at, lines)
}

func (e *editor) spliceText(from, to int, text string) []byte {
	return slices.Concat(e.data[:from], []byte(text), e.data[to:])
}
