package job

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/sleep"
)

const (
	// piece is how much of a log is read at a time, in bytes.
	piece = 64 << 10
	// pollTime is how often a log is read that is followed.
	pollTime = 200 * time.Millisecond
)

func newLogs(e *command.Env) *cobra.Command {
	var follow, asJSON bool
	var lines int
	c := &cobra.Command{
		Use: "logs JOB", Short: "print what a background command has printed", Args: command.Exactly(1, "the number of a job"),
		Long:    "Prints the end of what a background command has printed, of which the last 8 MiB\nare kept.",
		Example: "  fika agent job logs 3 -n 50\n  fika agent job logs -f 3", ValidArgsFunction: offerNumbers(e, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := numberOf(args[0])
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			l := logs{jobs: c.Jobs(), n: n, print: e.Print}
			if asJSON {
				l.print = (&jsonLines{e: e, n: n}).print
			}
			return l.show(cmd.Context(), lines, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing what arrives, until the job ends")
	command.LimitFlag(c, &lines, 100, "print the last N lines", "lines", "last")
	command.JSONFlag(c, &asJSON)
	return c
}

// logs prints the output of a job.
type logs struct {
	jobs  *service.Jobs
	n     int64
	print func(string) error
}

func (l logs) show(ctx context.Context, lines int, follow bool) error {
	out, err := l.jobs.Output(ctx, l.n, -piece, piece)
	if err != nil {
		return err
	}
	if err := l.print(lastLines(out.Text, lines)); err != nil {
		return err
	}
	for at := out.Next; follow; at = out.Next {
		j, err := l.jobs.Find(ctx, l.n)
		if err != nil {
			return err
		}
		if out, err = l.jobs.Output(ctx, l.n, at, piece); err != nil {
			return err
		}
		if err := l.print(out.Text); err != nil {
			return err
		}
		if out.Next == at && (j.State != fika.JobRunning || sleep.For(ctx, pollTime) != nil) {
			return nil
		}
	}
	return nil
}

// lastLines returns the last n lines of a text; 0: all.
func lastLines(text string, n int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if n <= 0 || len(lines) <= n {
		return text
	}
	return text[len(strings.Join(lines[:len(lines)-n], "")):]
}

// jsonLines prints a JSON object for each line.
type jsonLines struct {
	e    *command.Env
	n    int64
	rest string // the part without a newline yet
}

type lineJSON struct {
	Job  int64  `json:"job"`
	Line string `json:"line"`
}

func (w *jsonLines) print(text string) error {
	w.rest += text
	for {
		line, rest, whole := strings.Cut(w.rest, "\n")
		if !whole {
			return nil
		}
		if err := w.e.PrintLine(lineJSON{w.n, line}); err != nil {
			return err
		}
		w.rest = rest
	}
}
