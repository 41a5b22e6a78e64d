package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/app"
	"fika/internal/console"
	"fika/internal/master"
)

func newMaster(e *env) *cobra.Command {
	var o masterOptions
	c := &cobra.Command{
		Use: "master", Short: "give agents work from one console",
		Long: `Opens a console that gives agents work and shows what comes of it:

  @coder:task: write a README     a task of its own
  @coder:ask: now add a section   go on with the agent's conversation (also @coder: …)
  plain text                      for [master] default_agent, or worked here if
                                  no agents are configured

Several requests may be at work at once. Ctrl-C cancels the newest, /help lists
the commands. What an agent does meanwhile is seen with fika agent attach.

Lines of piped input are sent at once, so that agents work side by side; with
--wait each line waits until those before it have their answers. The master ends
when its own lines have theirs: with status 1 if one of them failed, with 7 if
--timeout was over before that (the work goes on).

` + exitHelp,
		Example: "  fika master\n  echo '@coder:task: write tests' | fika master --quiet\n  fika master --wait --timeout 30m < plan.txt", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return e.master(cmd.Context(), o) },
	}
	f := c.Flags()
	f.BoolVar(&o.quiet, "quiet", false, "bare completion lines only")
	f.BoolVar(&o.wait, "wait", false, "piped input: each line waits for the answers of those before it")
	f.DurationVar(&o.timeout, "timeout", 0, "piped input: stop waiting for answers after this long (the work goes on)")
	return c
}

// meansMaster reports whether fika alone opens the master console: somebody is at
// a terminal, says nothing else, and [master] enabled says so. Inside a tool,
// where no person asks, it never does.
func (e *env) meansMaster(cmd *cobra.Command, args []string) bool {
	said := len(args)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "home" {
			said++
		}
	})
	if said > 0 || !e.InTTY || !e.OutTTY {
		return false
	}
	c, err := e.open().Config()
	if err != nil || !c.Master.Enabled {
		return false
	}
	who, err := e.open().Caller()
	return err == nil && !who.Inside()
}

// masterOptions are the flags of the master.
type masterOptions struct {
	quiet, wait bool
	timeout     time.Duration
}

func (e *env) master(ctx context.Context, flags masterOptions) error {
	if flags.timeout < 0 {
		return usageError("--timeout is a span of time such as 10m, not %s", flags.timeout)
	}
	started, err := e.masterHub(ctx)
	if err != nil {
		return err
	}
	m, err := e.open().Master(ctx, e.warn)
	if err != nil {
		return err
	}
	defer m.Close()
	h, err := e.open().Home()
	if err != nil {
		return err
	}
	o := m.Options()
	o.Quiet, o.Wait, o.Timeout, o.Style, o.Revive = flags.quiet, flags.wait, flags.timeout, e.OutStyle(), e.reviveHub
	if e.OutTTY {
		o.Width = e.Width
	}
	var console_ *master.Master
	screen, err := console.New(console.Options{
		Streams: e.Streams, Prompt: "> ", HistoryFile: filepath.Join(h.RunDir(), "master.history"),
		Complete:    completeMaster(ctx, m),
		OnInterrupt: func() { console_.Interrupt() },
	})
	if err != nil {
		return err
	}
	defer screen.Close()
	o.Screen = screen
	console_ = master.New(o)
	console_.Hello(started, m.BusLine())
	err = console_.Run(ctx)
	if errors.Is(err, master.ErrFailed) {
		return silent{fika.Failed}
	}
	return err
}

// masterHub starts the hub, if agents are configured and none runs, and tells
// how the start of each agent went.
func (e *env) masterHub(ctx context.Context) ([]master.Agent, error) {
	conf, err := e.open().Config()
	if err != nil {
		return nil, err
	}
	_, up, err := e.hubUp()
	if err != nil || up || len(conf.Agents) == 0 || !conf.Hub.Autostart {
		return nil, err
	}
	ready, _, err := e.startHub(ctx)
	if err != nil {
		return nil, err
	}
	return startedAgents(ready), nil
}

// reviveHub starts a hub if none runs: killed asks for that only when the last
// one was killed. It runs beside the console, hence with an app of its own.
func (e *env) reviveHub(ctx context.Context, killed bool) (string, error) {
	own := &env{Streams: e.Streams, getenv: e.getenv, clock: e.clock, home: e.home}
	h, err := own.open().Home()
	if err != nil {
		return "", err
	}
	defer own.app.Close()
	conf, err := own.open().Config()
	if err != nil || !conf.Hub.Autostart {
		return "", err
	}
	gone := h.HubKilled()
	if _, up := h.HubProcess(); up || killed && !gone {
		return "", nil
	}
	ready, already, err := own.startHub(ctx)
	if err != nil || already {
		return "", err
	}
	if gone {
		return fmt.Sprintf("the hub was gone; started it again (pid %d)", ready.PID), nil
	}
	return fmt.Sprintf("started the hub (pid %d)", ready.PID), nil
}

func startedAgents(r app.HubReady) []master.Agent {
	var out []master.Agent
	for _, a := range r.Agents {
		x := master.Agent{Name: a.Name, PID: a.PID}
		if !a.OK {
			x.Trouble = a.Error
		}
		out = append(out, x)
	}
	return out
}

// completeMaster offers agents after @, verbs after the colon, and commands.
func completeMaster(ctx context.Context, m *app.Master) func(string, int) []console.Completion {
	return func(line string, pos int) []console.Completion {
		text := line[:pos]
		var words []string
		start := 0
		switch {
		case strings.HasPrefix(text, "/") && strings.Count(text, " ") < 2:
			words = append(words, master.Commands()...)
			if strings.HasPrefix(text, "/agents st") || strings.HasPrefix(text, "/agents restart") || strings.HasPrefix(text, "/switch") || strings.HasPrefix(text, "/tasks") || strings.HasPrefix(text, "/conversations") {
				head := text[:strings.LastIndexByte(text, ' ')+1]
				words = append(words, agentWords(ctx, m, head, "")...)
			}
		case strings.HasPrefix(text, "@") && strings.Count(text, ":") == 1 && !strings.Contains(text, " "):
			head := text[:strings.IndexByte(text, ':')+1]
			words = []string{head + "task: ", head + "ask: ", head + "reset"}
		case strings.HasPrefix(text, "@") && !strings.ContainsAny(text, ": "):
			words = agentWords(ctx, m, "@", ":")
		}
		var out []console.Completion
		for _, w := range words {
			if strings.HasPrefix(w, text) && w != text {
				out = append(out, console.Completion{Start: start, Text: w})
			}
		}
		return out
	}
}

func agentWords(ctx context.Context, m *app.Master, before, after string) []string {
	list, err := m.List(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range list {
		out = append(out, before+string(a.Name)+after)
	}
	return out
}
