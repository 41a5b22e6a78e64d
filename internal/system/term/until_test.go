package term_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"fika/internal/system/term"
)

// TestUntil reads a terminal at which nobody types any more when the command ends.
func TestUntil(t *testing.T) {
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	defer tty.Close()
	ctx, stop := context.WithCancel(t.Context())
	in := term.ReadUntil(ctx, tty)
	_, _ = io.WriteString(keys, "a line\n")
	buf := make([]byte, 100)
	if n, err := in.Read(buf); err != nil || string(buf[:n]) != "a line\n" {
		t.Fatalf("read %q, %v", buf[:n], err)
	}
	read := make(chan error)
	go func() { _, err := in.Read(buf); read <- err }()
	stop()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Errorf("reading ends with %v", err)
	}
	text := strings.NewReader("text")
	if term.ReadUntil(ctx, text) != io.Reader(text) {
		t.Error("what is not a file is not read as it is")
	}
}

// TestReadSecret types a key with slips at a terminal that shows nothing of it, and
// gives up another.
func TestReadSecret(t *testing.T) {
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	defer tty.Close()
	s := &term.Streams{In: tty, InTTY: true}
	for typed, want := range map[string]string{"wrong\x15sk-abd\x7fc\r": "sk-abc", "sk-ab\x03": ""} {
		ready := &firstRead{File: tty, begun: func() { _, _ = io.WriteString(keys, typed) }}
		got, err := s.ReadSecret(ready)
		if got != want || errors.Is(err, context.Canceled) != (want == "") {
			t.Errorf("typed %q: %q, %v", typed, got, err)
		}
	}
}

// firstRead types when somebody reads, for then the terminal is set.
type firstRead struct {
	*os.File
	begun func()
}

func (f *firstRead) Read(p []byte) (int, error) {
	if f.begun != nil {
		f.begun()
		f.begun = nil
	}
	return f.File.Read(p)
}

// TestHang puts labels before texts.
func TestHang(t *testing.T) {
	if got := term.HangText(" /a", "one two three", 5, 12); got != " /a  one two\n     three" {
		t.Errorf("beside: %q", got)
	}
	if got := term.HangText(" /along", "one two three", 5, 12); got != " /along\n     one two\n     three" {
		t.Errorf("above: %q", got)
	}
	if got := term.ReflowText("one\ntwo three\n\n  a list\n  of two\nfour", 9); got != "one two\nthree\n\n  a list\n  of two\nfour" {
		t.Errorf("paragraphs: %q", got)
	}
}

// TestFold breaks lines between words and leaves words whole.
func TestFold(t *testing.T) {
	for _, c := range [][2]string{
		{"one two three four", "one two\nthree four"},
		{"short", "short"},
		{"a /very/long/path/that/stays b", "a\n/very/long/path/that/stays\nb"},
		{"  in front of it all", "  in front\n  of it\n  all"},
		{"two\nlines", "two\nlines"},
		{"\x1b[31mred words\x1b[39m here", "\x1b[31mred words\x1b[39m\nhere"},
		{"日本 日本語 日", "日本\n日本語 日"},
	} {
		if got := term.FoldLines(c[0], 10); got != c[1] {
			t.Errorf("%q becomes %q, not %q", c[0], got, c[1])
		}
	}
}
