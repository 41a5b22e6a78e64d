package jsonrpc_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"fika/internal/extension/jsonrpc"
)

// read returns what the lines of a text are; "!" stands for one that is too long.
func read(t *testing.T, from io.Reader) (out []string) {
	t.Helper()
	l := jsonrpc.NewLines(from)
	for {
		line, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out
		case errors.Is(err, jsonrpc.ErrTooLong):
			out = append(out, "!")
		case err != nil:
			t.Fatal(err)
		default:
			out = append(out, string(line))
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", jsonrpc.MaxLine)
	for text, want := range map[string][]string{
		"":                                   nil,
		"\n \r\n":                            nil,
		"a\r\n\n b \nc":                      {"a", "b", "c"},
		long + "\nb\n":                       {long, "b"},
		long + "xx\nb\n":                     {"!", "b"},
		"a\n" + long + long + long + "\nb\n": {"a", "!", "b"},
		long + "xx":                          {"!"},
	} {
		if got := read(t, strings.NewReader(text)); !slices.Equal(got, want) {
			t.Errorf("%.20q (%d bytes): %d lines, not %d", text, len(text), len(got), len(want))
		}
	}
	if got := read(t, iotest.OneByteReader(strings.NewReader("a\nb\n"))); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("byte by byte: %q", got)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nb"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []string
		for part := range bytes.SplitSeq(data, []byte("\n")) {
			if part = bytes.TrimSpace(part); len(part) > 0 {
				want = append(want, string(part))
			}
		}
		if got := read(t, bytes.NewReader(data)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", data, got, want)
		}
	})
}
