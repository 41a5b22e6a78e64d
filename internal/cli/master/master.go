package master

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/terminal/console"
	"fika/internal/terminal/master"
)

// New returns the command fika master.
func New(e *command.Env) *cobra.Command {
	var o Flags
	c := &cobra.Command{
		Use: "master", Short: "give agents work from one console",
		Long: `Opens a console that gives agents work and shows the results:

  @coder:task: write a README     a task of its own
  @coder:ask: now add a section   continue its conversation (also @coder: …)
  @coder, @reviewer: which db?    all at the same time; every answer is shown
  @researcher -> @coder: stream   one after the other, each with what came before
  @a, @b --combine @c: which db?  c makes one answer of all
  plain text                      for [master] default_agent, or worked on here if
                                  no agents are configured

Several requests may be under way at once. Ctrl-C cancels the newest; /help
lists the commands. On a terminal the console shows the tool calls of your
requests as they happen; fika agent attach shows everything that an agent does.

Lines of piped input are sent at once, so that agents work side by side; with
--wait, each line waits until the lines before it have their answers. The master
ends when its own lines have theirs: with status 1 if one of them failed, with 7
if --timeout expired before that (the work continues).

` + command.ExitHelp,
		Example: "  fika master\n  echo '@coder:task: write tests' | fika master --quiet\n  fika master --wait --timeout 30m < plan.txt", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return OpenConsole(cmd.Context(), e, o) },
	}
	f := c.Flags()
	f.BoolVar(&o.quiet, "quiet", false, "print only bare completion lines")
	f.BoolVar(&o.wait, "wait", false, "piped input: each line waits for the answers to the lines before it")
	f.DurationVar(&o.timeout, "timeout", 0, "piped input: stop waiting for answers after this long (the work continues)")
	return c
}

// MeansConsole reports whether fika without a command opens the master console: stdin
// and stdout are a terminal, there are no arguments and no flags but --home, and
// [master] enabled is set. Inside a tool, where no person asks, it returns false.
func MeansConsole(e *command.Env, cmd *cobra.Command, args []string) bool {
	said := len(args)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "home" {
			said++
		}
	})
	if said > 0 || !e.InTTY || !e.OutTTY {
		return false
	}
	c, err := e.App().Config()
	if err != nil || !c.Master.Enabled {
		return false
	}
	return !e.InsideTool()
}

// Flags are the flags of fika master.
type Flags struct {
	quiet, wait bool
	timeout     time.Duration
}

// OpenConsole runs the console until the person leaves, or until piped input has its
// answers.
func OpenConsole(ctx context.Context, e *command.Env, flags Flags) error {
	if flags.timeout < 0 {
		return command.UsageError("--timeout is a span of time such as 10m, not %s", flags.timeout)
	}
	started, err := masterHub(ctx, e)
	if err != nil {
		return err
	}
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	h, err := e.App().Home()
	if err != nil {
		return err
	}
	if err := h.EnsureDir(h.RunDir()); err != nil {
		return err
	}
	waiting := master.OpenWaitList(h.RunDir())
	defer waiting.Close()
	if !waiting.KeptHere() {
		e.Warn("another console is open here: what this one waits for is not kept for the next")
	}
	outcomes, err := c.Requests.Outcomes()
	if err != nil {
		return err
	}
	defer outcomes.Close()
	o := masterOptionsOf(e, c, flags)
	o.Memory, o.Ended, o.News = waiting, outcomes.Ended, outcomes.News
	if e.Renders(false) {
		o.Render = func(answer string) string { return page.New(e, false).Said(answer, 0) }
	}
	if e.OutTTY {
		o.Width = e.Width
	}
	var running *master.Master // set before the first key comes
	screen, err := console.New(console.Options{
		Streams: e.Streams, Prompt: "> ", HistoryFile: filepath.Join(h.RunDir(), "master.history"),
		Complete:    completeMaster(ctx, c.Agents),
		OnInterrupt: func() { running.Interrupt() },
	})
	if err != nil {
		return err
	}
	shown := newMasterScreen(e, screen)
	defer shown.Close()
	o.Screen = shown
	newID := o.NewID
	o.NewID = func() fika.RequestID { return shown.sent(newID()) }
	stopListening, err := c.Agents.Listen(shown.show)
	if err != nil {
		return err
	}
	defer stopListening()
	running = master.New(o)
	running.Hello(started, c.BusLine())
	err = running.Run(ctx)
	if errors.Is(err, master.ErrFailed) {
		return command.Silent{Kind: fika.Failed}
	}
	return err
}

// masterOptionsOf returns the options of the console, except for the screen and what
// the console waits for.
func masterOptionsOf(e *command.Env, c *service.Service, flags Flags) master.Options {
	conf, err := e.App().Config()
	if err != nil { // it was read when c was opened
		conf = config.Default()
	}
	host := masterHost{e}
	o := master.Options{
		Requests: c.Requests, Teams: c.Runs(), Agents: c.Agents, Directory: c.Agents, Availability: c.Availability, Routing: c.Routing, Archive: c.Conversations,
		Usage: c.Usage, CostKnown: c.CostKnown, Approvals: c.Approvals(), Changes: c.Undo(), Person: command.PersonName(e), Here: host.workHere, Summarise: host.summarise, Compact: func(ctx context.Context, agent fika.AgentName, instructions string) (string, error) {
			return host.compact(ctx, c, agent, instructions)
		},
		Configured: len(conf.Agents) > 0, Default: fika.AgentName(strings.ToLower(conf.Master.DefaultAgent)),
		Health: conf.Master.HeartbeatCheckInterval, Now: e.App().Now,
		NewID: func() fika.RequestID { return fika.RequestID(uuid.Must(uuid.NewV7()).String()) },
		Quiet: flags.quiet, Wait: flags.wait, Timeout: flags.timeout, Style: e.OutStyle(), Revive: host.reviveHub, Revives: host.revivesHub,
	}
	return o
}
