package console

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"
	xterm "golang.org/x/term"

	"fika"
	"fika/internal/system/term"
)

// pair is a console on a pseudo terminal, and the side of the person.
type pair struct {
	*Console
	t      *testing.T
	person *os.File
	tty    *os.File
	said   *term.Buffer // all the console wrote
	read   sync.WaitGroup
}

func onPTY(t *testing.T, o Options) *pair {
	t.Helper()
	person, tty, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo terminals here:", err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TERM", "xterm")
	o.Streams = &term.Streams{In: tty, Out: tty, Err: tty, InTTY: true, OutTTY: true, ErrTTY: true, Width: 80}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{Console: c, t: t, person: person, tty: tty, said: new(term.Buffer)}
	p.read.Go(func() { _, _ = io.Copy(p.said, person) })
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		_ = tty.Close()
		_ = person.Close()
		p.read.Wait()
	})
	return p
}

func (p *pair) types(s string) {
	p.t.Helper()
	if _, err := p.person.WriteString(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) reads(want string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if got, err := p.ReadLine(ctx); got != want || err != nil {
		p.t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

func TestMainKeysOnAPTY(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("keys", func(t *testing.T) {
		p := onPTY(t, Options{Prompt: "> "})
		if !p.Interactive() {
			t.Fatal("not interactive")
		}
		p.types("early\r") // before anybody reads
		p.reads("early")
		for typed, want := range map[string]string{
			"abc\x1b[D\x1b[DX\r": "aXbc",
			"two\x1b\rlines\r":   "two\nlines",
			"two\\\rlines\r":     "two\nlines",
			"two\\\\\rlines\r":   "two\\\nlines",
			"a b  c\x17d\r":      "a b  d",
			"\x1b[200~pasted\r\n\x1b[31mx\ty\x1b[201~\r": "pasted\nx\ty",
			"e\u0301a\x7f\x7fz\r":                        "z",
			"\x1bOHx\x1b[200~\x1b[201~\r":                "x",
			"nul\x00\x1b[99;99;99R!\r":                   "nul!",
			"日本\x02\x02語\r":                              "語日本",
		} {
			p.types(typed)
			p.reads(want)
		}
	})
}

func TestSlowSequences(t *testing.T) {
	p := onPTY(t, Options{escapeWait: time.Hour})
	slow := "a\x1b[200~p\rq\x1b[201~\x1b[D日\r"
	for i := range len(slow) {
		p.types(slow[i : i+1])
	}
	p.reads("ap\n日q")
}

// patience is for anything that has to happen, on a machine that does much besides.
const patience = 5 * time.Minute

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("it never came to be that %s", what)
		}
	}
}

func TestContextEndsReadLineAndKeepsTheLine(t *testing.T) {
	p := onPTY(t, Options{Prompt: "> "})
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error, 1)
	go func() {
		_, err := p.ReadLine(ctx)
		got <- err
	}()
	p.types("half")
	until(t, "the line is seen", func() bool { return strings.Contains(p.said.String(), "> half") })
	if _, err := p.ReadLine(context.Background()); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a second reader got %v", err)
	}
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) || !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("got %v", err)
	}
	p.types("way\r")
	p.reads("halfway")
}

func TestInterruptCallback(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	rings := make(chan struct{}, 8)
	var p *pair
	p = onPTY(t, Options{
		Prompt:      "> ",
		OnInterrupt: func() { p.Print("asked to stop"); rings <- struct{}{} },
		now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		},
	})
	p.types("text\x03\r") // clears the line, tells nobody
	p.reads("")
	p.types("\x03")
	<-rings
	mu.Lock()
	now = now.Add(3 * time.Second)
	mu.Unlock()
	p.types("\x03") // too late to be the second
	<-rings
	p.types("still here\r")
	p.reads("still here")
	p.types("\x03") // something was typed in between: a first one again
	<-rings
	p.types("\x03")
	_, err := p.ReadLine(context.Background())
	if !errors.Is(err, io.EOF) || !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("got %v", err)
	}
	until(t, "what the callback printed is seen", func() bool { return strings.Contains(p.said.String(), "asked to stop\r\n") })
}

// TestEscape: the escape key calls back, keeps the line, and is no first ctrl-c; alt with an
// arrow, which begins with two escapes on some terminals, is another key.
func TestEscape(t *testing.T) {
	called := make(chan struct{}, 8)
	p := onPTY(t, Options{Prompt: "> ", OnEscape: func() { called <- struct{}{} }})
	p.types("ke\x1b")
	<-called
	p.types("pt\r")
	p.reads("kept")
	p.types("\x1b\x1b[D")
	p.types("on\r")
	p.reads("on")
	if len(called) > 0 {
		t.Error("alt and an arrow are taken for the escape key")
	}
}

func TestEndOfInput(t *testing.T) {
	p := onPTY(t, Options{Prompt: "> "})
	p.types("abc\x01\x04\r\x04")
	p.reads("bc")
	for range 2 {
		if _, err := p.ReadLine(context.Background()); err != io.EOF {
			t.Errorf("got %v", err)
		}
	}
}

func TestTerminalGoesAway(t *testing.T) {
	person, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	t.Setenv("TERM", "xterm")
	c, err := New(Options{Streams: &term.Streams{In: tty, Out: tty, InTTY: true, OutTTY: true}, Prompt: "> "})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := c.ReadLine(context.Background())
		got <- err
	}()
	_ = person.Close()
	if err := <-got; err == nil {
		t.Error("no error")
	}
	c.Print("into the void")
	_ = c.Close() // a terminal that is gone cannot be restored
}

func TestCloseRestores(t *testing.T) {
	person, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer person.Close()
	defer tty.Close()
	var out sync.WaitGroup
	defer out.Wait()
	out.Go(func() { _, _ = io.Copy(io.Discard, person) })
	before, err := xterm.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TERM", "xterm")
	c, err := New(Options{Streams: &term.Streams{In: tty, Out: tty, InTTY: true, OutTTY: true}})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		defer c.Close()
		panic("in the caller")
	}()
	after, err := xterm.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Error("the terminal is not as before")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.ReadLine(context.Background()); err != io.EOF {
		t.Errorf("after Close: %v", err)
	}
	_ = tty.Close()
	_ = person.Close()
}

func TestEchoAndBrokenHistory(t *testing.T) {
	dir := t.TempDir()
	p := onPTY(t, Options{
		Prompt: "> ", HistoryFile: dir, // a directory is no file
		Echo: func(line string) string { return "me: " + strings.ToUpper(line) },
	})
	p.types("hello\r")
	p.reads("hello")
	until(t, "the echo is seen", func() bool { return strings.Contains(p.said.String(), "me: HELLO\r\n") })
	if !strings.Contains(p.said.String(), "the history is not kept") {
		t.Error("nobody said that there is no history")
	}
}

func TestPiped(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, in, out, _ := term.TestStreams()
	_, _ = io.WriteString(in, "one\r\n\ntwo 日本\nlast")
	c, err := New(Options{Streams: s, Prompt: "> ", HistoryFile: filepath.Join(t.TempDir(), "h")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Status("nobody sees this")
	c.SetPrompt("# ")
	for _, want := range []string{"one", "", "two 日本", "last"} {
		if got, err := c.ReadLine(context.Background()); got != want || err != nil {
			t.Fatalf("read %q, %v; want %q", got, err, want)
		}
		c.Print("got " + want + "\n")
	}
	for range 2 {
		if _, err := c.ReadLine(context.Background()); err != io.EOF {
			t.Fatalf("got %v", err)
		}
	}
	w := c.Writer()
	_, _ = io.WriteString(w, "a stream ")
	_, _ = io.WriteString(w, "of text\nand \x1b[2Jmore")
	_ = w.Close()
	if want := "got one\ngot \ngot two 日本\ngot last\na stream of text\nand more\n"; out.String() != want {
		t.Errorf("written: %q", out.String())
	}
}

func TestPipedWaitsAndCloses(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c, err := New(Options{Streams: &term.Streams{In: r, Out: io.Discard}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.ReadLine(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := c.ReadLine(context.Background())
		got <- err
	}()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; err != io.EOF {
		t.Errorf("got %v", err)
	}
}

func TestPipedLineTooLong(t *testing.T) {
	s := &term.Streams{In: io.LimitReader(endless{}, maxLine+10), Out: io.Discard}
	c, err := New(Options{Streams: s})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ReadLine(context.Background()); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
