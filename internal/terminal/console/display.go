package console

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	xterm "golang.org/x/term"

	"fika"
	"fika/internal/system/term"
)

// Display shows progress while nobody types: text that stays, and below it rows that are
// redrawn again and again. The terminal stays in its ordinary mode, so that ctrl-c and
// programs that read a line work as usual. If stdout is not a terminal that can be drawn
// on, there are no rows, and the text is written.
//
// Its methods are safe for concurrent use.
type Display struct {
	streams *term.Streams
	out     *os.File // nil: drawing is not possible

	mu     sync.Mutex
	screen screen
	rows   func(width, height int) []string
	status string
	open   bool // the last line on stderr is unfinished: somebody may be asked something
	closed bool
}

// NewDisplay returns a Display. Close removes its rows.
func NewDisplay(s *term.Streams) *Display {
	d := &Display{streams: s, screen: screen{w: s.Out, cursor: true}}
	if f, ok := file(s.Out); ok && s.OutTTY && !s.Plain {
		d.out = f
	}
	return d
}

// Width returns the current number of columns.
func (d *Display) Width() int {
	width, _ := d.size()
	return width
}

func (d *Display) size() (width, height int) {
	if d.out != nil {
		if w, h, err := xterm.GetSize(int(d.out.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return max(d.streams.Width, term.DefaultWidth), 24
}

// Show writes text (whole lines, rendered) and then shows rows and a status below it, as
// [Console.Show] does.
func (d *Display) Show(text string, rows func(width, height int) []string, status string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out == nil || d.closed {
		if text != "" && d.screen.err == nil {
			_, d.screen.err = io.WriteString(d.streams.Out, strings.TrimSuffix(term.CleanLinked(text), "\n")+"\n")
		}
		return
	}
	d.rows, d.status = rows, oneRow(status)
	if text != "" {
		text = printedLinked(text)
		if d.open {
			text, d.open = "\r\n"+text, false
		}
	}
	if !d.open {
		d.draw(text)
	}
}

// draw writes text and the rows in their present state. The caller holds mu.
func (d *Display) draw(text string) {
	v := view{status: d.status, chosen: -1, style: d.streams.OutStyle()}
	v.width, v.height = d.size()
	if d.rows != nil {
		v.live = d.rows(v.width, v.height)
	}
	b := layout(v)
	b.top, b.row = len(b.rows) > 0, 0
	d.screen.update(text, b, v.width)
}

// Err returns a writer for lines to stderr that appear above the rows. The rows are
// hidden while the last text written has no newline.
func (d *Display) Err() io.Writer {
	if d.out == nil || !d.streams.ErrTTY {
		return d.streams.Err
	}
	return errWriter{d}
}

type errWriter struct{ d *Display }

func (w errWriter) Write(p []byte) (int, error) {
	d := w.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.streams.Err.Write(p)
	}
	width, _ := d.size()
	d.screen.update("", block{}, width)
	n, err := d.streams.Err.Write(p)
	if len(p) > 0 {
		d.open = p[len(p)-1] != '\n'
	}
	if !d.open {
		d.draw("")
	}
	return n, err
}

// Unwrap returns the underlying writer, for callers that must know whether it is a
// terminal.
func (w errWriter) Unwrap() io.Writer { return w.d.streams.Err }

// Close removes the rows. It returns the error of the first write to stdout that failed;
// it may be called again.
func (d *Display) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.out != nil {
		width, _ := d.size()
		d.screen.update("", block{}, width)
	}
	d.closed = true
	return fika.Wrap(fika.Failed, "write to the terminal", errors.Join(d.screen.err))
}
