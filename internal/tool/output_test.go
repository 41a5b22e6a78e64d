package tool_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"fika/internal/text/safetext"
	"fika/internal/tool"
)

func TestOutputKeepsHeadTailAndTheWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		whole := strings.Repeat("åb¢d€f𝄞h", rng.IntN(60))
		o := tool.NewOutput("req/1", tool.Limits{Head: 37, Tail: 41, SpoolDir: dir})
		for rest := []byte(whole); len(rest) > 0; {
			n := min(1+rng.IntN(60), len(rest))
			o.Write(rest[:n])
			rest = rest[n:]
		}
		c := o.Finish()
		if c.Total != int64(len(whole)) || !utf8.ValidString(c.Text) || strings.ContainsRune(c.Text, utf8.RuneError) {
			t.Fatalf("of %d bytes: %+v", len(whole), c)
		}
		if len(whole) <= 78 {
			if c.Text != whole || c.Cut || c.Spool != "" {
				t.Fatalf("short output changed: %+v", c)
			}
			continue
		}
		kept, err := os.ReadFile(c.Spool)
		if err != nil || string(kept) != whole || !c.Cut {
			t.Fatalf("the spool differs (%v): %d of %d bytes", err, len(kept), len(whole))
		}
		if !strings.Contains(c.Text, c.Spool) || !strings.HasPrefix(c.Text, whole[:30]) || !strings.HasSuffix(c.Text, whole[len(whole)-30:]) {
			t.Fatalf("text: %q", c.Text)
		}
	}
}

func TestOutputBoundsItsSpool(t *testing.T) {
	o := tool.NewOutput("big", tool.Limits{SpoolDir: t.TempDir(), SpoolMax: 100 << 10})
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 2048)
	for range 2000 {
		o.Write(chunk)
	}
	c := o.Finish()
	info, err := os.Stat(c.Spool)
	if err != nil || info.Size() != 100<<10 || info.Mode().Perm() != 0o600 {
		t.Errorf("spool: %v, %v", info, err)
	}
	if c.Total != 2000*int64(len(chunk)) || !strings.Contains(c.Text, "the first 102400 bytes are in") {
		t.Errorf("got %d, %.200q", c.Total, c.Text[16<<10:])
	}
}

func TestOutputWithoutASpool(t *testing.T) {
	o := tool.NewOutput("x", tool.Limits{Head: 10, Tail: 10, SpoolDir: "/dev/null/no"})
	o.Write(bytes.Repeat([]byte("a"), 100))
	if c := o.Finish(); !strings.Contains(c.Text, "not kept") || c.Spool != "" {
		t.Errorf("got %+v", c)
	}
	o = tool.NewOutput("x", tool.Limits{Head: 10, Tail: 10})
	o.Write(bytes.Repeat([]byte("a"), 100))
	if c := o.Finish(); !strings.Contains(c.Text, "80 bytes left out") {
		t.Errorf("got %+v", c)
	}
}

func TestBinaryOutputIsDescribed(t *testing.T) {
	o := tool.NewOutput("x", tool.Limits{SpoolDir: t.TempDir()})
	o.Write([]byte("\x7fELF\x00\x01\x02\xff\xfe"))
	c := o.Finish()
	if !strings.HasPrefix(c.Text, "(binary output, 9 bytes, beginning with 7f 45 4c 46") {
		t.Errorf("got %+v", c)
	}
	if kept, err := os.ReadFile(c.Spool); err != nil || len(kept) != 9 {
		t.Errorf("kept %q, %v", kept, err)
	}
}

func TestLimitShortensAndCleans(t *testing.T) {
	long := fake{call: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: "\x1b[31mred\x1b[0m" + strings.Repeat("x", 100_000)}, nil
	}}
	r, err := tool.WithLimit(long, tool.Limits{SpoolDir: t.TempDir()}).Call(t.Context(), tool.Call{Step: "../../r/1"})
	if err != nil || len(r.Text) > 34<<10 || !strings.HasPrefix(r.Text, "redxxx") || r.Spool == "" || strings.Contains(filepath.Base(r.Spool), "/") {
		t.Errorf("%d bytes, %.40q, %q, %v", len(r.Text), r.Text, r.Spool, err)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\tå\n":                 "plain\tå\n",
		"\x1b[1;31mred\x1b[m":        "red",
		"\x1b]0;title\x07x":          "x",
		"\x1b]8;;http://a\x1b\\link": "link",
		"\x1b]never ends\nnext":      "\nnext",
		"\x1b(Bx\x1b7y\x1bc":         "xy",
		"a\r\nb\rc":                  "a\nb\nc",
		"\u009b31mred\x9b":           "red\uFFFD",
		"a\x00b\x08c\x7f":            "abc",
		"\xff\xfe":                   "\uFFFD\uFFFD",
		"\x1b":                       "",
		"\x1b[":                      "",
		"\x1b[31":                    "",
		"\uFFFD stays":               "\uFFFD stays",
		"\x1bP1$r0m\x1b\\after":      "after",
		"\x1b[\x1b[2Jx":              "x",
	} {
		if got := safetext.Plain(in); got != want {
			t.Errorf("%q: want %q, got %q", in, want, got)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\r\n\u009b1m\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := safetext.Plain(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x00\u009b") || safetext.Plain(got) != got {
			t.Fatalf("%q gave %q", s, got)
		}
	})
}
