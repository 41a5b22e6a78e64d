package console

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/muesli/cancelreader"

	"fika"
)

// maxLine bounds a line that is read where there is no terminal.
const maxLine = 16 << 20

// runPiped starts the goroutine that reads lines from what is no terminal. It
// reads one line ahead of ReadLine.
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

// readLine gives a line without its end; the last one may have none, and comes
// with io.EOF.
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
