package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// FuzzMessages: whatever a server prints, what is handed on are whole messages, one
// a line and in order, and the rest is in its log.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("hello\n{\"id\":1}\r\n\n[{}]\n{\"torn"), uint8(3))
	f.Add([]byte("{\"a\":\"\\ud800\"}{}\n{}"), uint8(0))
	f.Fuzz(func(t *testing.T, printed []byte, size uint8) {
		var want, log bytes.Buffer
		noise := 0
		for _, line := range bytes.Split(printed, []byte{'\n'}) {
			switch line = bytes.TrimSpace(line); {
			case message(line):
				want.Write(append(line, '\n'))
			case len(line) > 0:
				noise++
			}
		}
		m := newMessages(io.NopCloser(iotest.OneByteReader(bytes.NewReader(printed))), &log)
		var got []byte
		for p := make([]byte, int(size)+1); ; {
			n, err := m.Read(p)
			got = append(got, p[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q: handed on %q, not %q", printed, got, want.Bytes())
		}
		if logged := strings.Count(log.String(), "[on stdout, where only messages belong] "); logged < noise {
			t.Fatalf("%q: of %d other lines %d are logged", printed, noise, logged)
		}
		if why, closed := m.broken(); why != "" || !closed {
			t.Fatalf("%q: broken off with %q, closed %t", printed, why, closed)
		}
	})
}

// FuzzPin: what was kept of a server is read as it was, and a file that is
// something else is refused.
func FuzzPin(f *testing.F) {
	f.Add("get", "reads\na \"file\"", []byte(`{"type": "object"}`), "mem 1.0", int64(7), []byte("-\"a\"\"b\"\n{}\n"), 1)
	f.Add("", "\xff", []byte(`{}`), "", int64(0), []byte("\n\n"), 2)
	f.Fuzz(func(t *testing.T, name, description string, parameters []byte, says string, at int64, lines []byte, n int) {
		p := Pin{Says: says, Tools: []Tool{{Name: name, Description: description, Parameters: parameters, Idempotent: at%2 == 0}}}
		if at != 0 {
			p.At = time.Unix(0, at)
		}
		raw, err := encodePin(p, "of")
		if err == nil {
			var compact bytes.Buffer
			_ = json.Compact(&compact, parameters)
			p.Tools[0].Parameters = compact.Bytes()
			got, ok := decodePin(raw, "of")
			if !ok || !got.At.Equal(p.At) || got.Says != says || len(got.Tools) != 1 || !reflect.DeepEqual(got.Tools[0], p.Tools[0]) {
				t.Fatalf("%+v became %+v, %t", p, got, ok)
			}
			if _, ok := decodePin(raw, "other"); ok {
				t.Fatal("taken for that of another server")
			}
			if _, ok := decodePin(raw[:len(raw)-1], "of"); ok {
				t.Fatalf("%q is taken without its end", raw)
			}
		}
		// Lines that no encoder wrote, under a sum that is right.
		if got, ok := decodePin(append(fmt.Appendf(nil, "%d of %s %d %d %q\n\n", pinVersion, sumOf(lines), at, n, says), lines...), "of"); ok && len(got.Tools) != n {
			t.Fatalf("%q: %d tools, not %d", lines, len(got.Tools), n)
		}
	})
}
