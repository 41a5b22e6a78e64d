package command

import (
	"context"
	"strings"
	"time"
)

// What a terminal is told to keep a page up to date.
const (
	otherScreen = "\x1b[?1049h\x1b[?25l"
	backAgain   = "\x1b[?25h\x1b[?1049l"
	toTheTop    = "\x1b[H"
	restOfLine  = "\x1b[K"
	restOfAll   = "\x1b[J"
)

// WatchEvery is the shortest time between two updates of a page.
const WatchEvery = 2 * time.Second

// Watch shows a page on a screen of its own, and keeps it up to date until ctx ends. It has as
// many lines as the terminal. An update that takes long is followed by a pause ten times as
// long.
func (e *Env) Watch(ctx context.Context, page func() (string, error)) (err error) {
	if err := e.Print(otherScreen); err != nil {
		return err
	}
	defer func() {
		if left := e.Print(backAgain); err == nil {
			err = left
		}
	}()
	for {
		began := time.Now()
		e.Measure()
		text, err := page()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if e.Height > 0 && len(lines) > e.Height {
			lines = lines[:e.Height]
			lines[e.Height-1] = "…"
		}
		if err := e.Print(toTheTop + strings.Join(lines, restOfLine+"\r\n") + restOfLine + restOfAll); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(WatchEvery, 10*time.Since(began))):
		}
	}
}
