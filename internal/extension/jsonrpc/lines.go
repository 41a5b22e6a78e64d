package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is how long a line from another program may be, in bytes.
const MaxLine = 8 << 20

// ErrTooLong is the error for a line of more than [MaxLine] bytes. The line is skipped.
var ErrTooLong = errors.New("the line is too long")

// Lines reads what another program sends, line by line. It is for one goroutine.
type Lines struct {
	from *bufio.Reader
	line []byte
}

// NewLines returns the lines of a reader.
func NewLines(r io.Reader) *Lines { return &Lines{from: bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next line that is not blank, without its end; it is valid until the
// next call. It fails with [ErrTooLong], after which the next line can be read, or with
// the reader's error, [io.EOF] at the end. A line without an end counts.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *Lines) read() ([]byte, error) {
	l.line = l.line[:0]
	tooLong := false
	for {
		part, err := l.from.ReadSlice('\n')
		if tooLong = tooLong || len(l.line)+len(part) > MaxLine+1; !tooLong {
			l.line = append(l.line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && (err != io.EOF || len(l.line) == 0):
			return nil, err
		case tooLong:
			l.line = nil // it may have grown large
			return nil, ErrTooLong
		}
		return l.line, nil
	}
}
