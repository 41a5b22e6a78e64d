package term

import (
	"io"
	"sync"
)

// Answer is the standard output of a command. It remembers the first write that fails and
// refuses all later ones, so that a command can ask once, at its end, whether its answer
// has arrived. It is safe for concurrent use.
type Answer struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// NewAnswer returns an Answer that writes to w.
func NewAnswer(w io.Writer) *Answer { return &Answer{w: w} }

// Write passes p on. After a failure it writes nothing and returns the error
// of that failure again.
func (a *Answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	a.err = err
	return n, err
}

// Err returns the error of the first write that failed, or nil.
func (a *Answer) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Unwrap returns the underlying writer, for callers that must know whether it is a
// terminal.
func (a *Answer) Unwrap() io.Writer { return a.w }
