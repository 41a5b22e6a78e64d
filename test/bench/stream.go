package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"

	"fika/internal/llm/llmtest"
)

// frame is slightly longer than the time between two drawings of fika.
const frame = 40 * time.Millisecond

// stream watches a terminal on which fika ask shows an answer of a running agent,
// chunk by chunk.
func stream(ctx context.Context, l *lab) ([]result, error) {
	next := make(chan struct{})
	srv, err := serve(func(llmtest.Request) llmtest.Script {
		script := llmtest.Script{llmtest.Text("begin\n")}
		for i := range l.rounds() {
			script = append(script, llmtest.Wait(next), llmtest.Text(token(i)))
		}
		return append(script, llmtest.Wait(next)) // the end comes when the last has been measured
	})
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("stream", srv.URL(), agents("arya"))
	if err != nil {
		return nil, err
	}
	if _, _, err := h.start(ctx); err != nil {
		return nil, err
	}
	defer h.down()
	w, err := h.wire(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	cmd := h.command(ctx, "ask", "arya", "count")
	tty, err := pty.Start(cmd)
	if err != nil {
		return nil, err
	}
	s := newScreen(tty)
	defer func() { tty.Close(); _ = cmd.Wait(); <-s.done }()
	if _, err := s.shows(ctx, "begin"); err != nil {
		return nil, err
	}
	var chunks, floor series
	for i := range l.rounds() {
		time.Sleep(frame) // a chunk that comes sooner after a drawing is drawn with the next
		released := time.Now()
		select {
		case next <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		at, err := s.shows(ctx, strings.TrimSpace(token(i)))
		if err != nil {
			return nil, err
		}
		records, err := srv.Await(ctx, func(r []llmtest.Record) bool { return r[0].Last.After(released) })
		if err != nil {
			return nil, err
		}
		chunks.took(at.Sub(records[0].Leaving))
		way, err := w.send(bytes.Repeat([]byte("x"), 300)) // about the size of a status message
		if err != nil {
			return nil, err
		}
		floor.took(way)
	}
	close(next)
	chunks.skip(l.warm)
	floor.skip(l.warm)
	r := compare("chunk to terminal", &chunks, "1 NATS message between processes", &floor, 0)
	r.goal("<= 2 ms median", r.Fika.Median <= 2)
	return []result{r}, nil
}

// token returns a line that differs from the previous one in every letter, because a
// screen writes only what has changed. It does not end in a letter: one that could
// begin a key is held back until the next.
func token(i int) string {
	var text []byte
	for _, n := range []int{23, 19, 17, 13} {
		text = append(text, byte('a'+i%n))
	}
	return string(text) + "\n"
}

// screen collects the output sent to a terminal. One goroutine reads; it ends when the
// terminal closes.
type screen struct {
	mu      sync.Mutex
	text    strings.Builder
	last    time.Time
	changed chan struct{} // closed and replaced at each change
	done    chan struct{}
}

func newScreen(tty *os.File) *screen {
	s := &screen{changed: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			now := time.Now()
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.last = now
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
			if err != nil && !errors.Is(err, io.ErrShortBuffer) {
				return
			}
		}
	}()
	return s
}

// shows waits until the screen has shown a text and returns when that was.
func (s *screen) shows(ctx context.Context, text string) (time.Time, error) {
	timeout := time.After(10 * time.Second)
	for {
		s.mu.Lock()
		found, at, changed := strings.Contains(s.text.String(), text), s.last, s.changed
		s.mu.Unlock()
		if found {
			return at, nil
		}
		select {
		case <-ctx.Done():
			return at, ctx.Err()
		case <-timeout:
			s.mu.Lock()
			defer s.mu.Unlock()
			return at, fmt.Errorf("the terminal never showed %q but %q", text, s.text.String())
		case <-changed:
		case <-s.done:
			return at, fmt.Errorf("fika ask ended early: %q", s.text.String())
		}
	}
}
