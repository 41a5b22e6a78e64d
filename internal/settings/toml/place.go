package toml

import (
	"fmt"
	"slices"
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

// String returns file:line:column, which editors understand.
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

// String returns file:line:column: message.
func (p Problem) String() string { return p.Place.String() + ": " + p.Message }

// Problems is the error for files that cannot be used as they are: everything that is
// wrong with them, in the order of the files. It classifies as [fika.Invalid].
type Problems struct {
	List []Problem
	More int // how many more were only counted
}

// MaxProblems limits what a hopeless file can cost and print.
const MaxProblems = 100

// Full reports whether further problems are only counted.
func (p *Problems) Full() bool { return len(p.List) >= MaxProblems }

// Error lists every problem on its own line.
func (p *Problems) Error() string {
	var b strings.Builder
	for i, q := range p.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(q.String())
	}
	if p.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", p.More)
	}
	return b.String()
}

// String is the same as [Problems.Error].
func (p *Problems) String() string { return p.Error() }

// As lets errors.As find a [fika.Error], so that the error has the kind Invalid
// wherever errors are classified.
func (p *Problems) As(target any) bool {
	e, ok := target.(**fika.Error)
	if ok {
		*e = &fika.Error{Kind: fika.Invalid, Msg: p.Error()}
	}
	return ok
}

// Add adds one problem.
func (p *Problems) Add(at Place, format string, args ...any) {
	if p.Full() {
		p.More++
		return
	}
	p.List = append(p.List, Problem{Place: at, Message: fmt.Sprintf(format, args...)})
}

// Err returns p sorted, with files in the given order and the problems of each in the
// order of their places, or nil when nothing is wrong.
func (p *Problems) Err(files ...string) error {
	if len(p.List) == 0 {
		return nil
	}
	sort.SliceStable(p.List, func(i, j int) bool {
		a, b := p.List[i], p.List[j]
		switch {
		case a.File != b.File:
			return slices.Index(files, a.File) < slices.Index(files, b.File)
		case a.Line != b.Line:
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	return p
}
