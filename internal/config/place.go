package config

import (
	"fmt"
	"sort"
	"strings"

	"fika"
)

// Place is a position in a file. Line and Column count from 1; Column counts
// characters.
type Place struct {
	File   string
	Line   int
	Column int
}

// String gives file:line:column, as editors understand it.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one thing wrong in a file.
type Problem struct {
	Place
	Message string
}

// String gives file:line:column: message.
func (p Problem) String() string { return p.Place.String() + ": " + p.Message }

// Problems is the error of files that cannot be used as they are: all that is
// wrong with them, in the order of the files. It classifies as [fika.Invalid].
type Problems struct {
	List []Problem
}

// shown bounds what a hopeless file can print.
const shown = 50

// Error lists every problem on its own line.
func (p *Problems) Error() string {
	var b strings.Builder
	for i, q := range p.List {
		if i == shown {
			fmt.Fprintf(&b, "\nand %d more", len(p.List)-shown)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(q.String())
	}
	return b.String()
}

// String is the same as [Problems.Error].
func (p *Problems) String() string { return p.Error() }

// As lets errors.As find a [fika.Error], so that the kind is Invalid wherever
// errors are classified.
func (p *Problems) As(target any) bool {
	e, ok := target.(**fika.Error)
	if ok {
		*e = &fika.Error{Kind: fika.Invalid, Msg: p.Error()}
	}
	return ok
}

func (p *Problems) add(at Place, format string, args ...any) {
	p.List = append(p.List, Problem{Place: at, Message: fmt.Sprintf(format, args...)})
}

// orNil gives the error, or nil when nothing is wrong. Problems of one file
// are put in the order of their lines.
func (p *Problems) orNil() error {
	if len(p.List) == 0 {
		return nil
	}
	order := map[string]int{}
	for _, q := range p.List {
		if _, ok := order[q.File]; !ok {
			order[q.File] = len(order)
		}
	}
	sort.SliceStable(p.List, func(i, j int) bool {
		a, b := p.List[i], p.List[j]
		switch {
		case order[a.File] != order[b.File]:
			return order[a.File] < order[b.File]
		case a.Line != b.Line:
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	return p
}
