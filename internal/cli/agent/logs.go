package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newLogs(e *command.Env) *cobra.Command {
	var follow, raw, asJSON bool
	var n int
	c := &cobra.Command{
		Use: "logs NAME", Short: "print the output of an agent that the hub started",
		Example: "  fika agent logs coder -n 50\n  fika agent logs -f coder", Args: command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			row, err := c.Agents.FindLone(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.Agents.MayRead(row); err != nil {
				return err
			}
			return showLog(cmd.Context(), e, c.Agents.LogFile(row.Name), row.Name, logView{lines: n, follow: follow, raw: raw, json: asJSON})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing what arrives")
	command.LimitFlag(c, &n, 100, "print the last N lines", "lines", "last")
	command.RawFlag(c, &raw)
	command.JSONFlag(c, &asJSON)
	return c
}

// logView says what to show of a log, and how.
type logView struct {
	lines  int
	follow bool
	raw    bool // with terminal escapes
	json   bool // a JSON object for each line
}

func showLog(ctx context.Context, e *command.Env, path string, name fika.AgentName, v logView) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fika.Errorf(fika.NotFound, "", "@%s has no log: the hub has not started it yet (an agent run by hand shows its work in its own terminal)", name)
	}
	if err != nil {
		return fika.Wrap(fika.Storage, "log", err)
	}
	defer func() { _ = f.Close() }()
	out := e.CleanOut(v.raw)
	if v.json {
		out = &logLines{e: e, agent: name}
	}
	if err := lastLines(f, v.lines); err != nil {
		return fika.Wrap(fika.Storage, "log", err)
	}
	for {
		if _, err := io.Copy(out, f); err != nil || !v.follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
		if f, err = reopened(f, path); err != nil {
			return fika.Wrap(fika.Storage, "log", err)
		}
	}
}

// logLines writes lines as JSON.
type logLines struct {
	e     *command.Env
	agent fika.AgentName
	rest  []byte // the part without a newline yet
}

type logLineJSON struct {
	Agent fika.AgentName `json:"agent"`
	Line  string         `json:"line"`
}

// Write implements io.Writer.
func (w *logLines) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if err := w.e.PrintLine(logLineJSON{w.agent, strings.ToValidUTF8(string(line), "�")}); err != nil {
			return len(p), err
		}
		w.rest = rest
	}
}

// reopened returns the new file, and closes f, if the log has been rotated; otherwise f.
func reopened(f *os.File, path string) (*os.File, error) {
	now, err := os.Stat(path)
	if err != nil {
		return f, nil // between the two names
	}
	old, err := f.Stat()
	if err == nil && os.SameFile(old, now) {
		return f, nil
	}
	next, err := os.Open(path)
	if err != nil {
		return f, err
	}
	_ = f.Close()
	return next, nil
}

// lastLines positions f before its last n lines, reading backwards in blocks.
func lastLines(f *os.File, n int) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || n <= 0 {
		return err
	}
	const block = 32 << 10
	buf := make([]byte, block)
	seen := 0
	for pos := end; pos > 0; {
		size := min(block, pos)
		pos -= size
		if _, err := f.ReadAt(buf[:size], pos); err != nil {
			return err
		}
		for i := size - 1; i >= 0; i-- {
			if buf[i] != '\n' || pos+i == end-1 {
				continue
			}
			if seen++; seen == n {
				_, err := f.Seek(pos+i+1, io.SeekStart)
				return err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}
