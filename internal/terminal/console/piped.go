package console

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/muesli/cancelreader"
	xterm "golang.org/x/term"

	"fika"
)

// maxLine bounds, in bytes, a line that is read without a terminal.
const maxLine = 16 << 20

// openInput returns a reader that Close can wake. Regular files and devices such as
// /dev/null cannot be waited for, and need not be: reading them never blocks.
func openInput(in io.Reader) (cancelreader.CancelReader, error) {
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeCharDevice != 0 && !xterm.IsTerminal(int(f.Fd()))) {
			return readyReader{f}, nil
		}
	}
	r, err := cancelreader.NewReader(in)
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "open console", err)
	}
	return r, nil
}

// readyReader reads from a file that never blocks.
type readyReader struct{ io.Reader }

// Cancel reports that the reading goroutine can be joined: it never blocks.
func (readyReader) Cancel() bool { return true }

// Close leaves the file open; it belongs to its opener.
func (readyReader) Close() error { return nil }

// runPiped starts the goroutine that reads lines when there is no terminal. It reads one
// line ahead of ReadLine.
func (c *Console) runPiped() {
	c.wg.Go(func() {
		r := bufio.NewReaderSize(c.in, 64<<10)
		for {
			line, err := readLine(r)
			if err == nil || line != "" {
				select {
				case c.lines <- line:
				case <-c.quit:
					return
				}
			}
			if err != nil {
				c.end(pipedEnd(err))
				return
			}
		}
	})
}

func pipedEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, cancelreader.ErrCanceled) {
		return io.EOF
	}
	return fika.Wrap("", "read a line", err)
}

// readLine returns a line without its end; the last line may have none, and comes with
// io.EOF.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return "", fika.Errorf(fika.Invalid, "read a line", "a line of the input is longer than 16 MiB")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		text := strings.TrimSuffix(string(line), "\n")
		return strings.TrimSuffix(text, "\r"), err
	}
}
