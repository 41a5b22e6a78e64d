package plugin

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"fika/internal/text/safetext"
)

// tail passes on what a plugin prints on stderr and keeps the end of it.
type tail struct {
	to  io.Writer // may be nil
	mu  *sync.Mutex
	end []byte
}

// Write never fails: a closed display must not end a plugin.
func (t *tail) Write(b []byte) (int, error) {
	if t.to != nil {
		t.mu.Lock()
		_, _ = t.to.Write(b)
		t.mu.Unlock()
	}
	t.end = append(t.end, b[max(0, len(b)-maxStderr):]...)
	t.end = t.end[max(0, len(t.end)-maxStderr):]
	return len(b), nil
}

func (t *tail) lastText() string {
	end := t.end
	if len(end) == maxStderr { // it may begin in the middle of a character
		for len(end) > 0 && !utf8.RuneStart(end[0]) {
			end = end[1:]
		}
	}
	return strings.TrimSpace(safetext.Plain(string(end)))
}
