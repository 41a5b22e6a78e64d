package folder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"fika"
)

// maxLine bounds one line of a JSON Lines file.
const maxLine = 64 << 20

// Problem is an invalid line.
type Problem struct {
	File   string // base name; empty when read from a stream
	Line   int    // from 1
	Offset int64  // of the line's first byte
	Reason string
	Raw    []byte // the line, at most its first 64 KiB
}

// String describes the problem in words.
func (p Problem) String() string {
	if p.File == "" {
		return fmt.Sprintf("line %d: %s", p.Line, p.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Reason)
}

// line is one line of a JSON Lines file, without its end.
type line struct {
	data   []byte // trimmed; valid until the next call
	n      int    // from 1
	offset int64  // of the first byte
	end    int64  // of the byte after the line and its end
	torn   bool   // the file ends before the line does
	long   bool   // longer than maxLine: data holds the beginning
}

// lineReader splits a stream into lines of bounded size. It recognises a torn last
// line, carriage returns, a byte order mark and trailing NULs, which a power cut
// leaves.
type lineReader struct {
	r      *bufio.Reader
	n      int
	offset int64
	buf    []byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// nextLine returns the next line that is not blank, or io.EOF at the end.
func (r *lineReader) nextLine() (line, error) {
	for {
		l, err := r.rawLine()
		if err != nil {
			return l, err
		}
		if l.n == 1 {
			l.data = bytes.TrimPrefix(l.data, []byte("\ufeff"))
		}
		l.data = bytes.Trim(l.data, " \t\r\n\x00")
		if len(l.data) > 0 {
			return l, nil
		}
	}
}

func (r *lineReader) rawLine() (line, error) {
	r.buf = r.buf[:0]
	l := line{n: r.n + 1, offset: r.offset, end: r.offset}
	for {
		part, err := r.r.ReadSlice('\n')
		l.end += int64(len(part))
		if room := maxLine - len(r.buf); len(part) > room {
			part, l.long = part[:room], true
		}
		r.buf = append(r.buf, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && (err != io.EOF || l.end == l.offset) {
			return l, err
		}
		l.torn = err == io.EOF
		l.data, r.n, r.offset = r.buf, l.n, l.end
		return l, nil
	}
}

func (l line) problemWith(reason string) Problem {
	return Problem{Line: l.n, Offset: l.offset, Reason: reason, Raw: bytes.Clone(l.data[:min(len(l.data), 64<<10)])}
}

// ReadEntries reads JSON Lines of entries: fika's form, or chibi's six fields with any
// others. Invalid lines are reported and never fatal. A missing id is derived from the
// line's content, so that a second reading gives the same id. The error is the
// reader's.
func ReadEntries(r io.Reader) ([]fika.Entry, []Problem, error) {
	var entries []fika.Entry
	var problems []Problem
	err := eachLine(r, func(e fika.Entry) error { entries = append(entries, e); return nil }, func(p Problem) { problems = append(problems, p) })
	return entries, problems, err
}

// eachLine calls fn for each entry of a stream, and bad for each invalid line.
func eachLine(r io.Reader, fn func(fika.Entry) error, bad func(Problem)) error {
	lines := newLineReader(r)
	for {
		l, err := lines.nextLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fika.Wrap(fika.Storage, "read entries", err)
		}
		e, reason := parseEntry(l)
		if reason != "" {
			bad(l.problemWith(reason))
			continue
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// parseEntry returns the entry of a line, or why the line is invalid.
func parseEntry(l line) (fika.Entry, string) {
	var e fika.Entry
	if l.long {
		return e, fmt.Sprintf("longer than %d MiB", maxLine>>20)
	}
	if err := json.Unmarshal(l.data, &e); err != nil {
		// A foreign program may spell fields other than the six in its own way; that
		// must not lose the entry.
		var six sixFields
		if json.Unmarshal(l.data, &six) != nil {
			if l.torn {
				return e, "cut off in the middle"
			}
			return e, "not an entry: " + jsonReason(err)
		}
		e = six.toEntry()
	}
	if l.data[0] != '{' {
		return e, "not an entry: no JSON object"
	}
	if e.Type == "" && e.From == "" && e.Content == "" {
		return e, "not an entry: from, content and entry_type are missing"
	}
	if e.Type == "" {
		e.Type = fika.Message
	}
	if e.ID == "" {
		e.ID = fika.EntryID("line-" + hashOf(l.data))
	}
	if len(e.ID) > 256 || !utf8.ValidString(string(e.ID)) {
		return e, "the id is too long"
	}
	if sec := e.At.Unix(); sec > latest || sec < -latest {
		e.At = secondsToTime(float64(sec))
	}
	if y := e.ExpiresAt.UTC().Year(); y < 0 || y > 9999 {
		return e, "expires_at is out of range"
	}
	return e, ""
}

// sixFields are the fields that an entry must have; the time may be a fraction or
// missing.
type sixFields struct {
	ID        fika.EntryID   `json:"id"`
	Timestamp float64        `json:"timestamp"`
	From      string         `json:"from"`
	To        string         `json:"to"`
	Content   string         `json:"content"`
	Type      fika.EntryType `json:"entry_type"`
}

func (s sixFields) toEntry() fika.Entry {
	return fika.Entry{ID: s.ID, At: secondsToTime(s.Timestamp), From: s.From, To: s.To, Content: s.Content, Type: s.Type}
}

// jsonReason returns the JSON parser's error in short.
func jsonReason(err error) string {
	return strings.TrimPrefix(err.Error(), "json: ")
}

// eachInFile calls fn for each entry of a JSON Lines file, and returns the number of
// invalid lines. A missing file is empty.
func eachInFile(path string, fn func(fika.Entry) error) (bad int, err error) {
	file, err := openRegular(path)()
	if file == nil || err != nil {
		return 0, err
	}
	defer file.Close()
	err = eachLine(file, fn, func(Problem) { bad++ })
	return bad, err
}

// WriteEntries writes entries as JSON Lines.
func WriteEntries(w io.Writer, entries []fika.Entry) error {
	for _, e := range entries {
		data, err := entryLine(e)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return fika.Wrap(fika.Storage, "write entries", err)
		}
	}
	return nil
}

// entryLine returns an entry as one line of a mirror file.
func entryLine(e fika.Entry) ([]byte, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "write entry "+string(e.ID), err)
	}
	return append(data, '\n'), nil
}
