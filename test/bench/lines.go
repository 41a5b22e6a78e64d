package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/creack/pty"

	"fika/internal/llm/llmtest"
)

const (
	answerLines = 10_000
	linesRuns   = 5
)

// manyLinesShown measures the cost of showing an answer of 10,000 lines of Markdown,
// streamed as fast as it is read, on a terminal instead of in a pipe: processor time,
// which other work on the machine hardly affects, as part of a core over the fastest
// run.
func manyLinesShown(ctx context.Context, l *lab) ([]result, error) {
	answer := llmtest.Text(manyLines()...)
	srv, err := serve(func(r llmtest.Request) llmtest.Script { return llmtest.Script{answer, llmtest.Text(lastLine(r.N))} })
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("lines", srv.URL(), agents("arya"))
	if err != nil {
		return nil, err
	}
	if _, _, err := h.start(ctx); err != nil {
		return nil, err
	}
	defer h.down()
	var all []result
	for _, way := range [][]string{{"run", "go"}, {"ask", "arya", "go"}, {}} {
		var screen, pipe, took series
		for range 1 + linesRuns {
			cpu, wall, err := h.onTerminal(ctx, way, lastLine(len(srv.Requests())+1))
			if err != nil {
				return nil, err
			}
			screen.took(cpu)
			took.took(wall)
			if cpu, err = h.inPipe(ctx, way, lastLine(len(srv.Requests())+1)); err != nil {
				return nil, err
			}
			pipe.took(cpu)
		}
		for _, s := range []*series{&screen, &pipe, &took} {
			s.skip(1)
		}
		share := (screen.median() - pipe.median()) / took.at(0)
		r := compare("processor time of "+nameOfWay(way)+", 10,000 lines on a terminal", &screen, "in a pipe", &pipe, 0)
		r.goal("< 30 % of a core more", share < 0.30)
		r.note("%.0f %% of a core more; the quickest took %.2f s", 100*share, took.at(0)/1000)
		all = append(all, r)
	}
	return all, nil
}

func nameOfWay(args []string) string {
	if len(args) == 0 {
		return "the session"
	}
	return "fika " + args[0]
}

// manyLines returns an answer in pieces of a few words, as models send them.
func manyLines() (pieces []string) {
	for n := 0; n < answerLines; n += 12 {
		block := fmt.Sprintf("## Part %d\n\nA paragraph with **some** words, `code` and a\nsecond line of it, which is a little longer.\n\n- one\n- two\n\n```go\ntotal := price * %d\n```\n\n", n, n)
		for block != "" {
			size := min(12, len(block))
			pieces, block = append(pieces, block[:size]), block[size:]
		}
	}
	return pieces
}

// lastLine returns the last line of the answer to a request.
func lastLine(request int) string { return fmt.Sprintf("Answer %d ends here.", request) }

// onTerminal shows the answer on a terminal of 80 columns, without arguments in the
// session. It returns the processor time and the time until last was shown.
func (h *home) onTerminal(ctx context.Context, args []string, last string) (cpu, wall time.Duration, err error) {
	cmd := h.command(ctx, args...)
	started := time.Now()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return 0, 0, err
	}
	s := newScreen(tty)
	if len(args) == 0 {
		defer func() { _, _ = tty.WriteString("/quit\r"); _ = cmd.Wait(); _ = tty.Close(); <-s.done }()
		if _, err = s.shows(ctx, "/help"); err != nil {
			return 0, 0, err
		}
		if _, err = tty.WriteString("/new\r"); err != nil {
			return 0, 0, err
		}
		if _, err = s.shows(ctx, "a new session"); err != nil {
			return 0, 0, err
		}
		before, e := processorTime(cmd.Process.Pid)
		if e != nil {
			return 0, 0, e
		}
		started = time.Now()
		if _, err = tty.WriteString("@arya go\r"); err != nil {
			return 0, 0, err
		}
		at, e := s.shows(ctx, last)
		if e != nil {
			return 0, 0, e
		}
		after, e := processorTime(cmd.Process.Pid)
		return after - before, at.Sub(started), e
	}
	at, err := s.shows(ctx, last)
	if e := cmd.Wait(); err == nil {
		err = e
	}
	_ = tty.Close()
	<-s.done
	return usedBy(cmd), at.Sub(started), err
}

// inPipe prints the answer into a pipe; for the session it uses fika ask.
func (h *home) inPipe(ctx context.Context, args []string, last string) (time.Duration, error) {
	if len(args) == 0 {
		args = []string{"ask", "arya", "go"}
	}
	cmd := h.command(ctx, args...)
	out, _, err := timed(cmd)
	if err == nil && !strings.Contains(out, last) {
		err = fmt.Errorf("fika %v printed %d bytes, and last %q instead of %q", args, len(out), out[max(0, len(out)-60):], last)
	}
	return usedBy(cmd), err
}

func usedBy(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
