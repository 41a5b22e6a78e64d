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
