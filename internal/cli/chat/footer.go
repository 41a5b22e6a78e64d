package chat

import (
	"fmt"
	"io"
	"sync"

	"fika/internal/system/term"
)

// footer is a line that stays below the printed text.
type footer struct {
	w     io.Writer
	style term.Style

	mu   sync.Mutex
	line string
}

const eraseLine = "\r\x1b[K"

// set replaces the line; "" removes it.
func (f *footer) set(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.line != "" {
		fmt.Fprint(f.w, eraseLine)
	}
	f.line = line
	f.show()
}

// above runs print with the line out of the way.
func (f *footer) above(print func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.line != "" {
		fmt.Fprint(f.w, eraseLine)
	}
	err := print()
	f.show()
	return err
}

func (f *footer) show() {
	if f.line != "" {
		fmt.Fprint(f.w, f.style.Dim(term.Truncate(term.CleanLine(f.line), 78)))
	}
}
