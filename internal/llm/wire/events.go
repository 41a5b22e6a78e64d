package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"fika"
)

// MaxEvent bounds one server-sent event, MaxAnswer all that one call gathers (text,
// reasoning and tool arguments together), MaxStream what one call reads, unpacked; all in
// bytes.
const (
	MaxEvent  = 16 << 20
	MaxAnswer = 16 << 20
	MaxStream = 256 << 20
)

// ErrDone, returned by the callback of [ReadEvents], ends the reading without an error.
var ErrDone = errors.New("done")

// ReadEvents reads server-sent events from r. It calls each for every event that carries
// data, and with nil data for every comment (a keep-alive). A last event without an
// empty line after it is delivered too, because some providers omit that line.
// ReadEvents returns nil at the end of r or after [ErrDone], any other error of each
// unchanged, a [fika.Limit] error for an event larger than [MaxEvent], else the error of
// r. The slice passed to each is valid only during the call.
func ReadEvents(r io.Reader, each func(name string, data []byte) error) error {
	s := scanner{r: bufio.NewReaderSize(r, 32<<10), each: each}
	err := s.readAll()
	if errors.Is(err, ErrDone) {
		return nil
	}
	return err
}

type scanner struct {
	r    *bufio.Reader
	each func(string, []byte) error
	name string
	data []byte
	some bool // a data line has come
	line []byte
}

func (s *scanner) readAll() error {
	first := true
	for {
		line, err := s.readLine()
		if first {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			first = false
		}
		if len(line) > 0 || err == nil {
			if e := s.addLine(line); e != nil {
				return e
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.dispatchEvent()
		case err != nil:
			return err
		}
	}
}

// readLine returns one line without its line end, bounded by MaxEvent.
func (s *scanner) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		if len(s.line)+len(part) > MaxEvent {
			return nil, tooLarge("event", MaxEvent)
		}
		if err == nil && len(s.line) == 0 {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		s.line = append(s.line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(s.line, "\r\n"), err
		}
	}
}

func (s *scanner) addLine(line []byte) error {
	if len(line) == 0 {
		return s.dispatchEvent()
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "":
		return s.each("", nil)
	case "event":
		s.name = string(value)
	case "data":
		if len(s.data)+len(value) > MaxEvent {
			return tooLarge("event", MaxEvent)
		}
		if s.some {
			s.data = append(s.data, '\n')
		}
		s.data, s.some = append(s.data, value...), true
	}
	return nil
}

func (s *scanner) dispatchEvent() error {
	name, data, some := s.name, s.data, s.some
	s.name, s.data, s.some = "", s.data[:0], false
	if !some || len(data) == 0 {
		return nil
	}
	return s.each(name, data)
}

func tooLarge(what string, limit int) error {
	return fika.Errorf(fika.Limit, "model call", "the provider sent an %s of more than %d MiB", what, limit>>20)
}
