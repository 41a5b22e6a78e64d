package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/text/safetext"
	"fika/internal/tool"
)

const (
	maxLine  = 2000    // bytes shown of one line
	countMax = 8 << 20 // bytes read after the part shown, to count the lines
	// maxPicture is more than any Keeper takes, in bytes.
	maxPicture = 8 << 20
)

type readArgs struct {
	Path    string  `json:"path"`
	Offset  float64 `json:"offset"`
	Limit   float64 `json:"limit"`
	Numbers bool    `json:"numbers"`
}

// Call implements [tool.Tool].
func (t *Read) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var a readArgs
	if err := tool.Decode(t.Spec(), c, &a); err != nil {
		return tool.Refusal(err), nil
	}
	r, err := t.read(ctx, c, a)
	if err != nil {
		return refuse(ctx, a.Path, err)
	}
	r.File = a.Path
	return r, nil
}

func (t *Read) read(ctx context.Context, c tool.Call, a readArgs) (tool.Result, error) {
	if a.Offset < 0 || a.Limit < 0 {
		return tool.Result{}, fika.Errorf(fika.Invalid, "read", "offset and limit must be at least 1: lines are counted from 1")
	}
	p, err := enterToLook(c, t.opts.reach(), a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer p.close()
	f, info, err := p.openRegular(a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	first, err := in.Peek(8 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Result{}, explain(a.Path, err)
	}
	if len(first) == 0 {
		return tool.Result{Text: "(empty file)"}, nil
	}
	if t.opts.Pictures != nil && t.opts.Pictures.Takes(first) {
		return t.picture(a.Path, in, info.Size())
	}
	if bytes.IndexByte(first, 0) >= 0 {
		return tool.Result{}, fika.Errorf(fika.Invalid, "read", "%s is a binary file (%d bytes, beginning with % x)", short(a.Path), info.Size(), first[:min(16, len(first))])
	}
	s := &scan{ctx: ctx, in: in, from: max(1, whole(a.Offset)), limit: whole(a.Limit), room: t.opts.ReadBytes, numbers: a.Numbers}
	if s.limit == 0 {
		s.limit = t.opts.ReadLines
	}
	if err := s.run(); err != nil {
		return tool.Result{}, explain(a.Path, err)
	}
	text, err := s.text(a.Path)
	return tool.Result{Text: text}, err
}

// picture keeps a picture or a document, which the model is shown.
func (t *Read) picture(path string, in io.Reader, size int64) (tool.Result, error) {
	if size > maxPicture {
		return tool.Result{}, fika.Errorf(fika.Invalid, "read", "%s is a picture or document of %d bytes, and up to %d can be shown: make it smaller first", short(path), size, maxPicture)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxPicture))
	if err != nil {
		return tool.Result{}, explain(path, err)
	}
	kept, err := t.opts.Pictures.Put(safetext.Line(filepath.Base(path)), data)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: kept.TextLine(), Attachments: []fika.Attachment{kept}}, nil
}

// whole converts a number to an int with an upper bound.
func whole(f float64) int { return int(min(f, 1<<40)) }

// scan reads the lines of a range, and counts the lines after it as long as that is
// cheap.
type scan struct {
	ctx     context.Context
	in      *bufio.Reader
	from    int
	limit   int
	room    int
	numbers bool

	out     strings.Builder
	line    int  // lines seen
	shown   int  // lines in out
	more    bool // there are lines after those shown
	counted bool // line is the number of all lines
	cut     bool // a line was shortened
}

func (s *scan) run() error {
	after := 0
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		wanted := s.line+1 >= s.from && !s.more
		if wanted && (s.shown >= s.limit || s.out.Len() >= s.room) {
			wanted, s.more = false, true
		}
		line, size, err := s.readLine(wanted)
		if size == 0 && errors.Is(err, io.EOF) {
			s.more = s.more && s.line >= s.from+s.shown
			s.counted = true
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		s.line++
		if wanted && !s.add(line, size) {
			s.more = true
		}
		if s.more {
			if after += size; after > countMax {
				return nil
			}
		}
	}
}

// readLine reads to the next newline, however far away, and keeps the beginning of the
// line. size includes the newline.
func (s *scan) readLine(keep bool) (line []byte, size int, err error) {
	for {
		part, err := s.in.ReadSlice('\n')
		size += len(part)
		if keep {
			line = append(line, part[:min(len(part), maxLine+1-len(line))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
		if err := s.ctx.Err(); err != nil {
			return nil, size, err
		}
	}
}

// add shows a line; it returns false when there is no room for it.
func (s *scan) add(line []byte, size int) bool {
	cut := size > maxLine+1 || (len(line) > maxLine && line[maxLine] != '\n')
	if cut {
		line = line[:maxLine]
	}
	text := strings.ToValidUTF8(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), "\uFFFD")
	// An escape is made visible, not dropped, so that an edit can find the place.
	text = strings.ReplaceAll(text, "\x1b", "␛")
	if cut {
		text += fmt.Sprintf("… [%d bytes in this line]", size)
		s.cut = true
	}
	if s.shown > 0 && s.out.Len()+len(text) > s.room {
		return false
	}
	if s.numbers {
		fmt.Fprintf(&s.out, "%d\t", s.line)
	}
	s.out.WriteString(text)
	s.out.WriteByte('\n')
	s.shown++
	return true
}

func (s *scan) text(path string) (string, error) {
	if s.shown == 0 {
		return "", fika.Errorf(fika.Invalid, "read", "offset %d is after the end: %s has %d lines", s.from, short(path), s.line)
	}
	last := s.from + s.shown - 1
	switch {
	case s.more && s.counted:
		fmt.Fprintf(&s.out, "[lines %d-%d of %d; continue with offset %d]", s.from, last, s.line, last+1)
	case s.more:
		fmt.Fprintf(&s.out, "[lines %d-%d of more than %d; continue with offset %d]", s.from, last, s.line, last+1)
	case s.from > 1:
		fmt.Fprintf(&s.out, "[lines %d-%d, the end]", s.from, last)
	}
	return s.out.String(), nil
}
