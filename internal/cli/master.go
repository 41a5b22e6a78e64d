package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/cli/chat"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/config"
	"fika/internal/console"
	"fika/internal/hub"
	"fika/internal/master"
	"fika/internal/turn"
	"fika/internal/worker"
)

func newMaster(e *command.Env) *cobra.Command {
	var o masterOptions
	c := &cobra.Command{
		Use: "master", Short: "give agents work from one console",
		Long: `Opens a console that gives agents work and shows what comes of it:

  @coder:task: write a README     a task of its own
  @coder:ask: now add a section   go on with the agent's conversation (also @coder: …)
  @coder, @reviewer: which db?    all of them at the same time; every answer is shown
  @researcher -> @coder: stream   one after the other, each with what came before
  @a, @b --combine @c: which db?  c makes one answer of all
  plain text                      for [master] default_agent, or worked here if
                                  no agents are configured

Several requests may be at work at once. Ctrl-C cancels the newest, /help lists
the commands. On a terminal the tool calls of your requests are shown as they
happen; fika agent attach shows all that an agent does.

Lines of piped input are sent at once, so that agents work side by side; with
--wait each line waits until those before it have their answers. The master ends
when its own lines have theirs: with status 1 if one of them failed, with 7 if
--timeout was over before that (the work goes on).

` + command.ExitHelp,
		Example: "  fika master\n  echo '@coder:task: write tests' | fika master --quiet\n  fika master --wait --timeout 30m < plan.txt", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return openConsole(cmd.Context(), e, o) },
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
func meansMaster(e *command.Env, cmd *cobra.Command, args []string) bool {
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
	who, err := e.App().Caller()
	return err == nil && !who.InsideTool()
}

// masterOptions are the flags of the master.
type masterOptions struct {
	quiet, wait bool
	timeout     time.Duration
}

func openConsole(ctx context.Context, e *command.Env, flags masterOptions) error {
	if flags.timeout < 0 {
		return command.UsageError("--timeout is a span of time such as 10m, not %s", flags.timeout)
	}
	started, err := masterHub(ctx, e)
	if err != nil {
		return err
	}
	c, err := e.Client(ctx)
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
	o := consoleOptions(e, c, flags)
	o.Memory, o.Ended, o.News = waiting, outcomes.Ended, outcomes.News
	if e.Renders(false) {
		o.Render = func(answer string) string { return chat.PageOf(e, false).Said(answer, 0) }
	}
	if e.OutTTY {
		o.Width = e.Width
	}
	var console_ *master.Master
	screen, err := console.New(console.Options{
		Streams: e.Streams, Prompt: "> ", HistoryFile: filepath.Join(h.RunDir(), "master.history"),
		Complete:    completeMaster(ctx, c.Agents),
		OnInterrupt: func() { console_.Interrupt() },
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
	console_ = master.New(o)
	console_.Hello(started, c.BusLine())
	err = console_.Run(ctx)
	if errors.Is(err, master.ErrFailed) {
		return command.Silent{Kind: fika.Failed}
	}
	return err
}

// consoleOptions are those of the console, but for the screen and what it waits
// for.
func consoleOptions(e *command.Env, c *client.Client, flags masterOptions) master.Options {
	conf, err := e.App().Config()
	if err != nil { // it was read when c was opened
		conf = config.Default()
	}
	host := consoleHost{e}
	o := master.Options{
		Requests: c.Requests, Teams: c.Runs(), Agents: c.Agents, Directory: c.Agents, Archive: c.Conversations, Usage: c.Usage, CostKnown: c.CostKnown, Approvals: c.Approvals(), Changes: c.Undo(), Person: command.PersonName(e), Here: host.workHere, Summarise: host.summarise,
		Configured: len(conf.Agents) > 0, Default: fika.AgentName(strings.ToLower(conf.Master.DefaultAgent)),
		Health: min(conf.Master.HeartbeatCheckInterval, mostHealth), Now: e.App().Now,
		NewID: func() fika.RequestID { return fika.RequestID(uuid.Must(uuid.NewV7()).String()) },
		Quiet: flags.quiet, Wait: flags.wait, Timeout: flags.timeout, Style: e.OutStyle(), Revive: host.reviveHub, Revives: host.revivesHub,
	}
	if o.Health <= 0 {
		o.Health = mostHealth
	}
	return o
}

// mostHealth is how long a console may leave agents unlooked at.
const mostHealth = 5 * time.Second

// consoleHost is what a console asks of this process.
type consoleHost struct{ *command.Env }

// workHere works a prompt in the current context, as fika run does.
func (e consoleHost) workHere(ctx context.Context, prompt string) (client.RequestInfo, error) {
	here := e.App().CloneUnopened() // an App is for one goroutine
	defer here.Close()
	h, err := here.Home()
	if err != nil {
		return client.RequestInfo{}, err
	}
	state, err := h.State()
	if err != nil {
		return client.RequestInfo{}, err
	}
	began := here.Now()
	ran, err := worker.Run(ctx, here, worker.RunOptions{
		Context: state.Current, Prompt: prompt, Observer: turn.ObserverFunc(func(turn.Event) {}), Warn: e.Warn,
	})
	if err != nil {
		return client.RequestInfo{}, err
	}
	return client.RequestInfo{AgentName: ran.Context, Request: fika.Request{
		ID: ran.Request, State: ran.State, Reason: ran.Reason, Outcome: ran.Outcome, StartedAt: began, FinishedAt: here.Now(),
	}}, nil
}

// summarise sums up what an agent has before it now.
func (e consoleHost) summarise(ctx context.Context, agent fika.AgentName) (string, error) {
	here := e.App().CloneUnopened() // an App is for one goroutine
	defer here.Close()
	done, err := worker.Summarise(ctx, here, agent, nil, func(string) {})
	return done.Summary, err
}

// revivesHub reports whether reviveHub would start a hub now.
func (e consoleHost) revivesHub() bool {
	conf, err := e.App().Config()
	_, up, upErr := client.HubOf(e.App()).Process()
	return err == nil && upErr == nil && conf.Hub.Autostart && !up
}

// masterHub starts the hub, if agents are configured and none runs, and tells
// how the start of each agent went.
func masterHub(ctx context.Context, e *command.Env) ([]master.Agent, error) {
	conf, err := e.App().Config()
	if err != nil {
		return nil, err
	}
	_, up, err := client.HubOf(e.App()).Process()
	if err != nil || up || len(conf.Agents) == 0 || !conf.Hub.Autostart {
		return nil, err
	}
	ready, _, err := client.HubOf(e.App()).Start(ctx)
	if err != nil {
		return nil, err
	}
	return startedAgents(ready), nil
}

// reviveHub starts a hub if none runs: killed asks for that only when the last
// one was killed. It runs beside the console, hence with an app of its own.
func (e consoleHost) reviveHub(ctx context.Context, killed bool) (string, error) {
	own := &command.Env{Streams: e.Streams, Getenv: e.Getenv, Clock: e.Clock, Home: e.Home}
	h, err := own.App().Home()
	if err != nil {
		return "", err
	}
	defer own.Opened.Close()
	conf, err := own.App().Config()
	if err != nil || !conf.Hub.Autostart {
		return "", err
	}
	gone := h.HubKilled()
	if _, up := h.HubProcess(); up || killed && !gone {
		return "", nil
	}
	ready, already, err := client.HubOf(own.App()).Start(ctx)
	if err != nil || already {
		return "", err
	}
	if gone {
		return fmt.Sprintf("the hub was gone; started it again (pid %d)", ready.PID), nil
	}
	return fmt.Sprintf("started the hub (pid %d)", ready.PID), nil
}

func startedAgents(r hub.Ready) []master.Agent {
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
func completeMaster(ctx context.Context, agents *client.Agents) func(string, int) []console.Completion {
	return func(line string, pos int) []console.Completion {
		text := line[:pos]
		var words []string
		start := 0
		switch {
		case strings.HasPrefix(text, "/") && strings.Count(text, " ") < 2:
			words = append(words, master.Commands()...)
			if strings.HasPrefix(text, "/agents st") || strings.HasPrefix(text, "/agents restart") || strings.HasPrefix(text, "/switch") || strings.HasPrefix(text, "/summari") || strings.HasPrefix(text, "/tasks") || strings.HasPrefix(text, "/conversations") {
				head := text[:strings.LastIndexByte(text, ' ')+1]
				words = append(words, agentWords(ctx, agents, head, "")...)
			}
		case strings.HasPrefix(text, "@") && strings.Count(text, ":") == 1 && !strings.Contains(text, " "):
			head := text[:strings.IndexByte(text, ':')+1]
			words = []string{head + "task: ", head + "ask: ", head + "reset"}
		case strings.HasPrefix(text, "@") && !strings.ContainsAny(text, ": "):
			words = agentWords(ctx, agents, "@", ":")
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

func agentWords(ctx context.Context, agents *client.Agents, before, after string) []string {
	list, err := agents.List(ctx, false)
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range list {
		out = append(out, before+string(a.Row.Name)+after)
	}
	return out
}
