package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

const (
	// maxLine is the maximum length of one message of a server, in bytes.
	maxLine = 32 << 20
	// maxValues is the maximum number of JSON values in one message. Decoded, each takes
	// some hundred bytes, however short its text is.
	maxValues = 100_000
	// maxNoise is how many bytes a server may print that are not messages.
	maxNoise = 4 << 20
)

// messages reads what a server prints on stdout and passes on its messages, one JSON
// object per line. Everything else goes to the server's log, so that a server that prints
// a greeting on stdout still works.
type messages struct {
	from  *bufio.Reader
	close func() error
	log   io.Writer
	rest  []byte // rest of the line that is being passed on
	noise int

	mu  sync.Mutex
	err error // why reading has ended
}

func newMessages(from io.ReadCloser, log io.Writer) *messages {
	return &messages{from: bufio.NewReaderSize(from, 64<<10), close: from.Close, log: log}
}

// Read implements [io.Reader].
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if err := m.failure(); err != nil {
			return 0, err
		}
		line, err := m.line()
		m.fail(err)
		switch {
		case message(line):
			if err := new(valueCounter).add(line); err != nil {
				m.fail(err)
				return 0, err
			}
			m.rest = append(line, '\n')
		case len(line) > 0:
			m.drop(line)
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (m *messages) Close() error { return m.close() }

// valueCounter counts the values in JSON text that comes in pieces: separators outside of
// strings. A line never ends within a string, and an empty line begins another text.
type valueCounter struct {
	n                int
	text, escaped    bool
	lineHasSomething bool
}

// add returns an error if the text has more than maxValues.
func (c *valueCounter) add(piece []byte) error {
	for _, b := range piece {
		switch {
		case b == '\n':
			if !c.lineHasSomething {
				c.n = 0
			}
			c.text, c.escaped, c.lineHasSomething = false, false, false
			continue
		case b == '\r':
			continue
		case c.escaped:
			c.escaped = false
		case c.text && b == '\\':
			c.escaped = true
		case b == '"':
			c.text = !c.text
		case !c.text && (b == ',' || b == '{' || b == '['):
			c.n++
		}
		c.lineHasSomething = true
		if c.n > maxValues {
			return fmt.Errorf("it sent a message of more than %d values", maxValues)
		}
	}
	return nil
}

// message reports whether a line is a message: a whole JSON object or array.
func message(line []byte) bool {
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') && json.Valid(line)
}

// line reads one line without its end. A line longer than maxLine is an error.
func (m *messages) line() ([]byte, error) {
	var whole []byte
	for {
		piece, err := m.from.ReadSlice('\n')
		whole = append(whole, piece...)
		switch {
		case len(whole) > maxLine:
			return nil, fmt.Errorf("it sent a message of more than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return bytes.TrimSpace(whole), err
	}
}

func (m *messages) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

func (m *messages) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// broken returns what the server did that ends the conversation with it; closed also
// reports whether it has merely closed its stdout.
func (m *messages) broken() (why string, closed bool) {
	switch err := m.failure(); {
	case err == nil:
		return "", false
	case errors.Is(err, io.EOF), errors.Is(err, fs.ErrClosed):
		return "", true
	default:
		return err.Error(), true
	}
}

func (m *messages) drop(line []byte) {
	m.noise += len(line)
	if m.noise > maxNoise {
		m.fail(fmt.Errorf("it printed more than %d MiB on stdout that are no messages", maxNoise>>20))
	}
	fmt.Fprintf(m.log, "[on stdout, where only messages belong] %.2000s\n", line)
}
