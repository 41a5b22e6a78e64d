package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"

	xterm "golang.org/x/term"
)

// DefaultWidth is the width assumed for a terminal that does not report one.
const DefaultWidth = 80

// Streams are the standard streams of a command and what is known about them. Commands
// take a Streams instead of using os.Stdout, so that a test can pass buffers.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	// Color says that colour is wanted on a terminal. Whether a stream gets it also
	// depends on that stream: see OutStyle and ErrStyle.
	Color bool

	// Plain says that nothing is drawn again, only line after line, even on a terminal: as
	// for screen readers, and where TERM is dumb.
	Plain bool

	// Width is the number of columns of the terminal when the command began; if there is
	// none, it is 0 and nothing is cut. Height is the number of its lines; 0: unknown.
	Width, Height int
}

// SystemStreams describes the streams of this process. NO_COLOR (set to anything but
// the empty string) and TERM=dumb turn colour off.
func SystemStreams() *Streams {
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  xterm.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: xterm.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: xterm.IsTerminal(int(os.Stderr.Fd())),
		Color:  colorWanted(os.Getenv),
		Plain:  os.Getenv("TERM") == "dumb",
	}
	if s.OutTTY {
		s.Width = DefaultWidth
		s.Measure()
	}
	return s
}

// Measure looks again how large the terminal is, if there is one.
func (s *Streams) Measure() {
	if w, h, err := xterm.GetSize(int(os.Stdout.Fd())); s.OutTTY && err == nil && w > 0 {
		s.Width, s.Height = w, h
	}
}

func colorWanted(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// OutStyle returns the style for Out, which does nothing unless Out gets colour.
func (s *Streams) OutStyle() Style { return Style{on: s.Color && s.OutTTY} }

// ErrStyle returns the style for Err, which does nothing unless Err gets colour.
func (s *Streams) ErrStyle() Style { return Style{on: s.Color && s.ErrTTY} }

// Table writes a plain aligned table to Out, cut to the width of the terminal if there is
// one.
func (s *Streams) Table(headers []string, rows [][]string) error {
	_, err := io.WriteString(s.Out, s.TableText(headers, rows))
	return err
}

// TableText returns what Table prints.
func (s *Streams) TableText(headers []string, rows [][]string) string {
	return FormatTable(s.tableOptions(Plain), headers, rows)
}

// BoxTable is Table with lines drawn around the cells.
func (s *Streams) BoxTable(headers []string, rows [][]string) error {
	_, err := io.WriteString(s.Out, FormatTable(s.tableOptions(Box), headers, rows))
	return err
}

func (s *Streams) tableOptions(b Border) TableOptions {
	o := TableOptions{Border: b, Style: s.OutStyle()}
	if s.OutTTY {
		o.Width = s.Width
	}
	return o
}

// Buffer is a bytes.Buffer that is safe for concurrent use. The zero value is empty and
// ready.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// Read reads from the front; it returns io.EOF when the buffer is empty.
func (b *Buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Read(p)
}

// String returns the content of the buffer without consuming it.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Reset empties the buffer.
func (b *Buffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Reset()
}

// TestStreams returns streams made of buffers, none of them a terminal, for tests of
// commands.
func TestStreams() (s *Streams, in, out, err *Buffer) {
	in, out, err = new(Buffer), new(Buffer), new(Buffer)
	return &Streams{In: in, Out: out, Err: err}, in, out, err
}

// ReadSecret reads a line from the terminal that In is, without showing what is typed. It
// reads through in, which may end earlier ([ReadUntil]). The error is context.Canceled
// for ctrl-C, and io.EOF, with the line so far, for ctrl-D.
func (s *Streams) ReadSecret(in io.Reader) (string, error) {
	f, ok := s.In.(*os.File)
	if !ok {
		return "", errors.ErrUnsupported
	}
	before, err := xterm.MakeRaw(int(f.Fd()))
	if err != nil {
		return "", err
	}
	defer func() { _ = xterm.Restore(int(f.Fd()), before) }()
	var line []byte
	for key := make([]byte, 1); ; {
		if _, err := in.Read(key); err != nil {
			return "", err
		}
		switch key[0] {
		case '\r', '\n':
			return string(line), nil
		case 3: // ctrl-C
			return "", context.Canceled
		case 4: // ctrl-D
			return string(line), io.EOF
		case 8, 127: // backspace
			line = line[:max(0, len(line)-1)]
		case 21: // ctrl-U
			line = line[:0]
		default:
			line = append(line, key[0])
		}
	}
}
