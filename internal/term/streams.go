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

// DefaultWidth is the width assumed for a terminal that does not tell.
const DefaultWidth = 80

// Streams are the standard streams of a command and what is known of them.
// Commands take it instead of using os.Stdout, so that a test can hand in
// buffers.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	// Color says that colour is wanted where there is a terminal. Whether one
	// stream gets it also depends on that stream: see OutStyle and ErrStyle.
	Color bool

	// Width is the number of columns of the terminal when the command began;
	// 0 when there is none, and then nothing is cut.
	Width int
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
	}
	if s.OutTTY {
		s.Width = DefaultWidth
		if w, _, err := xterm.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
			s.Width = w
		}
	}
	return s
}

func colorWanted(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// OutStyle colours text for Out, or leaves it as it is.
func (s *Streams) OutStyle() Style { return Style{on: s.Color && s.OutTTY} }

// ErrStyle colours text for Err, or leaves it as it is.
func (s *Streams) ErrStyle() Style { return Style{on: s.Color && s.ErrTTY} }

// Table writes a plain aligned table to Out, cut to the terminal if there is
// one.
func (s *Streams) Table(headers []string, rows [][]string) error {
	_, err := io.WriteString(s.Out, s.TableText(headers, rows))
	return err
}

// TableText is what Table prints.
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

// Buffer is a bytes.Buffer that several goroutines may use at once. The zero
// value is empty and ready.
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

// Read takes from the front; io.EOF when empty.
func (b *Buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Read(p)
}

// String gives what is in the buffer, without taking it.
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

// TestStreams gives streams made of buffers, none of them a terminal, for tests of
// commands.
func TestStreams() (s *Streams, in, out, err *Buffer) {
	in, out, err = new(Buffer), new(Buffer), new(Buffer)
	return &Streams{In: in, Out: out, Err: err}, in, out, err
}

// ReadSecret reads a line of the terminal that In is, by in, which may end earlier
// ([ReadUntil]), without showing what is typed. The error is context.Canceled for ctrl-C.
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
