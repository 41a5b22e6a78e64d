package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/agent"
	"fika/internal/client"
	"fika/internal/message"
)

func newAgentLogs(e *env) *cobra.Command {
	var follow, raw bool
	var n int
	c := &cobra.Command{
		Use: "logs NAME", Short: "print what an agent started by the hub has shown",
		Example: "  fika agent logs coder -n 50\n  fika agent logs -f coder", Args: exactly(1, "the name of an agent"), ValidArgsFunction: first(e.completeAgents),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			row, err := c.Agents.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return e.logs(cmd.Context(), c.Agents.LogFile(row.Name), row.Name, logView{lines: n, follow: follow, raw: raw})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	c.Flags().IntVarP(&n, "lines", "n", 100, "print the last N lines")
	rawFlag(c, &raw)
	return c
}

// logView is what of a log is shown, and how.
type logView struct {
	lines  int
	follow bool
	raw    bool // with terminal escapes
}

func (e *env) logs(ctx context.Context, path string, name fika.AgentName, v logView) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fika.Errorf(fika.NotFound, "", "@%s has no log: the hub has not started it yet (an agent run by hand shows its work in its own terminal)", name)
	}
	if err != nil {
		return fika.Wrap(fika.Storage, "log", err)
	}
	defer func() { _ = f.Close() }()
	out := e.foreign(v.raw)
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

// reopened goes on with the new file when the log has been set aside.
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

// lastLines places f before its last n lines, reading backwards in blocks.
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

func newAgentAttach(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "attach NAME", Short: "watch what an agent does, live",
		Long: `Shows what an agent does as its own terminal would: what it receives, its text
as it comes, its tools and their results. A request that it is working on is
shown from its beginning, as far as its steps are committed. Ctrl-C ends the
watching, never the work.`,
		Example: "  fika agent attach coder", Args: exactly(1, "the name of an agent"), ValidArgsFunction: first(e.completeAgents),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			return e.attach(cmd.Context(), c, args[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "the status messages as JSON Lines")
	return c
}

func (e *env) attach(ctx context.Context, c *client.Client, name string, asJSON bool) error {
	row, err := c.Agents.Find(ctx, name)
	if err != nil {
		return err
	}
	statuses, err := c.Agents.Statuses(ctx, row)
	if err != nil {
		return err
	}
	defer statuses.Close()
	v, err := c.Agents.View(ctx, string(row.Name))
	if err != nil {
		return err
	}
	e.say("%s", e.ErrStyle().Dim(fmt.Sprintf("attached to @%s (%s); ctrl-c leaves, the agent goes on", row.Name, v.Status)))
	view := &attached{display: agent.NewDisplay(e.foreign(false)), rounds: map[string]int{}}
	if !asJSON {
		for _, r := range v.Running {
			if err := view.begin(ctx, c.Requests, r); err != nil {
				return err
			}
		}
	}
	for {
		select {
		case <-ctx.Done():
			view.display.Break()
			return nil
		case s := <-statuses.C:
			if asJSON {
				err = e.printLine(s)
			} else {
				view.show(s)
				err = e.checkWritten("")
			}
			if err != nil {
				return err
			}
		}
	}
}

// attached shows requests; rounds are the model rounds of each that were shown
// from the store, so that nothing is shown twice.
type attached struct {
	display *agent.Display
	rounds  map[string]int
}

// begin shows what a running request has committed so far.
func (a *attached) begin(ctx context.Context, requests *client.Requests, r client.RequestInfo) error {
	entries, err := requests.Entries(ctx, r.ID)
	if err != nil {
		return err
	}
	if a.rounds[string(r.ID)], err = requests.Round(ctx, r.ID); err != nil {
		return err
	}
	a.display.Status(message.Status{
		RequestID: string(r.ID), AgentName: string(r.AgentName), Status: "processing",
		Data: message.StatusData{Kind: string(r.Kind), Prompt: r.Payload.Prompt},
	})
	for _, e := range entries {
		a.display.Entry(e, r.AgentName)
	}
	return nil
}

func (a *attached) show(s message.Status) {
	if s.Status != "completed" && s.Status != "error" && s.Data.Step != 0 && s.Data.Step <= a.rounds[s.RequestID] && s.Status != "tool_result" {
		return // it was shown from the store
	}
	a.display.Status(s)
}
