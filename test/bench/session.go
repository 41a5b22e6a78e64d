package main

import (
	"context"
	"time"

	"github.com/creack/pty"
)

const sessionStarts = 10

// session measures how long it takes until the prompt of the session appears on a
// terminal, without a hub, and how long the help takes.
func session(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("session", srv.URL(), "[[agents]]\nid = \"arya\"\n[[agents]]\nid = \"gendry\"\n")
	if err != nil {
		return nil, err
	}
	defer h.down()
	var prompt, used, help series
	for range 1 + sessionStarts {
		h.down()
		cmd := h.command(ctx)
		started := time.Now()
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			return nil, err
		}
		s := newScreen(tty)
		at, err := s.shows(ctx, "/help") // the first line; the prompt comes with it or after it
		if err == nil {
			at, err = s.shows(ctx, "> ")
		}
		cpu, _ := processorTime(cmd.Process.Pid)
		_, _ = tty.WriteString("/quit\r")
		_ = cmd.Wait()
		_ = tty.Close()
		<-s.done
		if err != nil {
			return nil, err
		}
		prompt.took(at.Sub(started))
		used.took(cpu)
		_, took, err := h.run(ctx, "--help")
		if err != nil {
			return nil, err
		}
		help.took(took)
	}
	for _, s := range []*series{&prompt, &used, &help} {
		s.skip(1)
	}
	r := bound("until the prompt of the session stands, no hub running", &prompt, 150)
	r.note("processor time until then: %.0f ms", used.median())
	return []result{r, bound("fika --help, whole process", &help, 0)}, nil
}
