package attachment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"fika"
)

// MaxText is the largest text file, in bytes, that can go with a prompt.
const MaxText = 512 << 10

// File is a file that a person has named.
type File struct {
	Path    string // as the person named it
	Real    string // absolute, without links
	Data    []byte
	Picture bool // otherwise it is text
}

// RealPath returns the absolute path without symbolic links. Error kinds: NotFound,
// Invalid.
func RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", fika.Errorf(fika.NotFound, "", "file %s not found", path)
	case err != nil:
		return "", &fika.Error{Kind: fika.Invalid, Msg: path, Err: err}
	}
	return abs, nil
}

// Load reads a file that goes with a prompt: text or a picture. It never blocks,
// because it refuses anything but a regular file.
func Load(path string) (File, error) {
	f := File{Path: path}
	var err error
	if f.Real, err = RealPath(path); err != nil {
		return f, err
	}
	// O_NONBLOCK: opening a pipe without a writer must not block.
	in, err := os.OpenFile(f.Real, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return f, &fika.Error{Kind: fika.Invalid, Msg: path + " cannot be read", Err: errors.Unwrap(err)}
	}
	defer in.Close()
	info, err := in.Stat()
	switch {
	case err != nil:
		return f, fika.Wrap(fika.Invalid, path, err)
	case info.IsDir():
		return f, fika.Errorf(fika.Invalid, "", "%s is a folder: name files in it", path)
	case !info.Mode().IsRegular():
		return f, fika.Errorf(fika.Invalid, "", "%s is %s, not a regular file", path, kindOf(info.Mode()))
	}
	if f.Data, err = io.ReadAll(io.LimitReader(in, MaxBytes+1)); err != nil {
		return f, fika.Wrap(fika.Invalid, path, err)
	}
	return f, f.check(info.Size())
}

// Given returns a file that goes with a prompt from its content, which somebody else has
// read, with the checks of [Load].
func Given(name string, data []byte) (File, error) {
	f := File{Path: name, Data: data}
	return f, f.check(int64(len(data)))
}

// kindOf names the type of a file that is not regular.
func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

func (f *File) check(size int64) error {
	f.Picture = strings.HasPrefix(mimeOf(f.Data), "image/")
	most := int64(MaxText)
	if f.Picture {
		most = MaxBytes
	}
	if size = max(size, int64(len(f.Data))); size > most {
		return fika.Errorf(fika.Invalid, "", "%s is too large to be sent (%.1f MB; text up to %d kB and pictures up to %.2f MB are): let the agent read the parts that matter", f.Path, float64(size)/1e6, MaxText>>10, MaxBytes/1e6)
	}
	if !f.Picture && (!utf8.Valid(f.Data) || bytes.IndexByte(f.Data, 0) >= 0) {
		return fika.Errorf(fika.Invalid, "", "%s is neither text in UTF-8 nor a picture (PNG, JPEG, GIF, WebP)", f.Path)
	}
	return nil
}

// Text returns the file as it appears in a prompt: its name, then its text in a fence
// that nothing in the text can close.
func (f File) Text() string { return f.TextWith(strings.TrimSuffix(string(f.Data), "\n")) }

// TextWith is [File.Text] with other text inside the fence.
func (f File) TextWith(text string) string {
	fence := ticks(string(f.Data), 3)
	return fmt.Sprintf("file %s:\n%s\n%s\n%s", CodeSpan(f.Path), fence, text, fence)
}

// ticks returns a run of at least that many backticks, longer than any run in text.
func ticks(text string, least int) string {
	fence := strings.Repeat("`", least)
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

// CodeSpan returns name as Markdown code, in which no mention counts.
func CodeSpan(name string) string {
	fence := ticks(name, 1)
	if len(fence) > 1 {
		name = " " + name + " "
	}
	return fence + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, name) + fence
}

// FoldFiles returns a message with each text file, as [File.Text] wrote it, folded
// into one line that names the file and counts its lines.
func FoldFiles(text string) string {
	var out []string
	all := strings.Split(text, "\n")
	for i := 0; i < len(all); i++ {
		n := fileAt(all[i:])
		if n == 0 {
			out = append(out, all[i])
			continue
		}
		count := fmt.Sprintf("%d lines", n-3)
		if n == 4 {
			count = "1 line"
		}
		out = append(out, fmt.Sprintf("[%s: %s]", strings.TrimSuffix(all[i], ":"), count))
		i += n - 1
	}
	return strings.Join(out, "\n")
}

// fileAt returns how many lines the file at the start of text takes, or 0 if text does
// not start with a file.
func fileAt(text []string) int {
	if len(text) < 3 || !strings.HasPrefix(text[0], "file `") || !strings.HasSuffix(text[0], "`:") {
		return 0
	}
	fence := text[1]
	if len(fence) < 3 || strings.Trim(fence, "`") != "" {
		return 0
	}
	end := slices.Index(text[2:], fence)
	if end < 0 {
		return 0
	}
	return end + 3
}

// Lines returns the number of lines of the file.
func (f File) Lines() int {
	n := bytes.Count(f.Data, []byte("\n"))
	if len(f.Data) > 0 && f.Data[len(f.Data)-1] != '\n' {
		n++
	}
	return n
}
