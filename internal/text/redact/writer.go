package redact

import (
	"io"
	"sync"
)

// Writer redacts what is written to w. Text that is held back is written by Close, which
// does not close w. It is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	keys   *Keys
	stream *Stream
}

// Writer returns a Writer that writes to w.
func (k *Keys) Writer(w io.Writer) *Writer { return &Writer{w: w, keys: k, stream: k.Stream()} }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []byte
	if now := w.keys.Stream(); now.patterns != w.stream.patterns { // a key was set
		out, w.stream = w.stream.End(), now
	}
	if out = append(out, w.stream.Next(p)...); len(out) > 0 {
		if _, err := w.w.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close writes the text that was held back.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(w.stream.End())
	return err
}
