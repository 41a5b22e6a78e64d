package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/hub"
	"fika/internal/cli/page"
	"fika/internal/cli/session"
	"fika/internal/cli/setup"
	"fika/internal/service"
	"fika/internal/system/term"
)

//go:embed config.toml rules.toml
var demoFiles embed.FS

const (
	demoChat    = "design"
	demoMessage = "@arya please sketch an API for notes"
	demoTimeout = 2 * time.Minute
	// answersBeforeKill is after which answer the next one is interrupted.
	answersBeforeKill = 2
)

// New returns the command fika demo.
func New(e *command.Env) *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use: "demo", Short: "watch three agents talk to each other, offline",
		Long: `Starts a hub with three agents in a folder of its own, sends one sentence to a
chat, shows what the agents make of it, and removes everything again. In the
middle of an answer the hub and the agent are killed, and go on. It needs no key
and no network: the agents use the scripted model, which answers from a
rules file. Everything else is real: processes, bus, database, tools.`,
		Example: "  fika demo\n  fika demo --keep   # and look into the folder afterwards",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := runDemo(cmd.Context(), e, keep); err != nil || keep || !e.InTTY || !e.OutTTY {
				return err
			}
			return beginHere(cmd.Context(), e)
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "keep the folder (the hub is still stopped)")
	return c
}

// beginHere goes on into the session in the current folder, as fika alone would, if the
// person wants that.
func beginHere(ctx context.Context, e *command.Env) error {
	dir, err := os.Getwd()
	if err != nil {
		return fika.Wrap(fika.Failed, "demo", err)
	}
	if e.Confirm("begin here, in "+term.CleanLine(dir)) != nil {
		return nil
	}
	config, err := e.App().Config()
	if err != nil {
		return err
	}
	if len(config.Agents) == 0 {
		if made, err := setup.FirstMinute(ctx, e); err != nil || !made {
			return err
		}
	}
	return session.Open(ctx, e)
}

// runDemo runs the demo in a home of its own.
func runDemo(ctx context.Context, e *command.Env, keep bool) (err error) {
	home, err := demoHome()
	if err != nil {
		return err
	}
	command.OutliveReader()
	d := &command.Env{Streams: e.Streams, Getenv: quietEnv(e.Getenv), Home: home}
	defer func() {
		err = errors.Join(err, endDemo(d, home, keep))
	}()
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	begun := time.Now()
	ready, _, err := service.HubOf(d.App()).Start(ctx, nil)
	if err != nil {
		return err
	}
	if err := hub.ShowReady(d, ready, false); err != nil {
		return err
	}
	c, err := d.Service(ctx)
	if err != nil {
		return err
	}
	conv, err := c.Chats.Create(ctx, demoChat)
	if err != nil {
		return err
	}
	d.Say("%s", d.ErrStyle().Dim(fmt.Sprintf("$ fika chat send %s %q", demoChat, demoMessage)))
	shown, err := page.OfChat(ctx, d, c, conv, false)
	if err != nil {
		return err
	}
	talk := demoTalk{e: d, c: c, conv: conv, shown: shown}
	if err := talk.run(ctx); err != nil {
		return err
	}
	return demoSum(ctx, d, c, conv, time.Since(begun))
}

func demoHome() (string, error) {
	home, err := os.MkdirTemp("", "fika-demo-")
	if err != nil {
		return "", fika.Wrap(fika.Failed, "demo", err)
	}
	for _, name := range []string{"config.toml", "rules.toml"} {
		data, err := demoFiles.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(home, name), data, 0o600)
		}
		if err != nil {
			return home, fika.Wrap(fika.Failed, "demo", err)
		}
	}
	return home, nil
}

// quietEnv hides the variables FIKA_*, which keeps the person's own settings out of the
// demo.
func quietEnv(getenv func(string) string) func(string) string {
	return func(name string) string {
		if len(name) > 5 && name[:5] == "FIKA_" {
			return ""
		}
		return getenv(name)
	}
}

// demoTalk is the chat of the demo, as far as it has been shown.
type demoTalk struct {
	e     *command.Env
	c     *service.Service
	conv  fika.Conversation
	shown page.Page
	last  int64 // seq
	ended int   // answers
}

// run sends the sentence to the chat and shows what follows until nothing waits or runs in
// it. In the middle of an answer it kills the hub and the agent that answers, and starts
// the hub again.
func (t *demoTalk) run(ctx context.Context) error {
	if _, err := t.c.Chats.Send(ctx, t.conv, demoMessage, service.Alias{}); err != nil {
		return err
	}
	if err := t.follow(ctx, func() (bool, error) { return t.ended == answersBeforeKill, nil }); err != nil {
		return err
	}
	if err := t.kill(ctx); err != nil {
		return err
	}
	return t.follow(ctx, func() (bool, error) { return isQuiet(ctx, t.c, t.conv) })
}

// follow shows what is said and done until over, asked after each entry, says so.
func (t *demoTalk) follow(ctx context.Context, over func() (bool, error)) error {
	live, err := t.c.Chats.Watch(t.conv)
	if err != nil {
		return err
	}
	defer live.Close()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	err = live.Run(watching, service.EntryQuery{Conversation: t.conv.ID, Since: t.last}, func(x fika.Entry) error {
		if watching.Err() != nil {
			return nil
		}
		if err := t.e.Print(t.shown.Entry(service.Node{Entry: x}, nil)); err != nil {
			return err
		}
		t.last = x.Seq
		if isAnswer(x) {
			t.ended++
		}
		done, err := over()
		if done {
			stop()
		}
		return err
	})
	if ctx.Err() != nil {
		return fika.Errorf(fika.Failed, "demo", "the agents did not finish in %s", demoTimeout)
	}
	return err
}

// kill kills the hub and the agent that is answering, as soon as some of its answer is
// there, and starts the hub again. If the answer comes to its end before, it does nothing.
func (t *demoTalk) kill(ctx context.Context) error {
	speaker, said, err := t.speaking(ctx)
	if err != nil || speaker == "" {
		return err
	}
	t.e.Say("%s is saying: %s …", speaker, said)
	of := service.HubOf(t.e.App())
	p, _, err := of.Process()
	if err != nil {
		return err
	}
	agents, err := t.c.Agents.List(ctx, false)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(agents, func(v service.AgentView) bool { return string(v.Row.Name) == speaker })
	if at < 0 {
		return fika.Errorf(fika.NotFound, "demo", "no process of %s", speaker)
	}
	for _, pid := range []int{p.PID, agents[at].PID} {
		if p, err := os.FindProcess(pid); err == nil {
			if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fika.Wrap(fika.Failed, "demo", err)
			}
		}
	}
	style := t.e.ErrStyle()
	t.e.Say("%s", style.Red(fmt.Sprintf("✗ kill -9 of the hub and of %s, in the middle of that answer (pids %d and %d)", speaker, p.PID, agents[at].PID)))
	begun := time.Now()
	if _, _, err := of.Start(ctx, nil); err != nil {
		return err
	}
	t.e.Say("%s the hub is up again after %s; nothing is lost, and %s answers\n", style.Green("✓"), time.Since(begun).Round(10*time.Millisecond), speaker)
	return nil
}

// speaking waits until an agent has said enough of an answer to be interrupted, and returns
// its name and what it has said; "" if nothing is being said any more.
func (t *demoTalk) speaking(ctx context.Context) (name, said string, err error) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		now, err := t.c.Chats.SoFar(ctx, t.conv)
		if err != nil {
			return "", "", err
		}
		for _, s := range now {
			if words := strings.Fields(s.Data.Chunk); len(words) > 5 {
				return s.AgentName, strings.Join(words, " "), nil
			}
		}
		entries, err := t.c.Conversations.Entries(ctx, service.EntryQuery{Conversation: t.conv.ID, Since: t.last})
		if err != nil || slices.ContainsFunc(entries, isAnswer) {
			return "", "", err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return "", "", ctx.Err()
		}
	}
}

func isAnswer(x fika.Entry) bool {
	return x.Type == fika.Message && x.Meta.Writer == fika.ByAgent && x.Meta.Final
}

// isQuiet reports whether nothing waits and nothing runs in a conversation.
func isQuiet(ctx context.Context, c *service.Service, conv fika.Conversation) (bool, error) {
	list, err := c.Chats.List(ctx)
	for _, c := range list {
		if c.ID == conv.ID {
			return c.Pending == 0 && c.Running == 0, err
		}
	}
	return false, err
}

// demoSum counts answers and tool calls, and fails if there are fewer than the demo
// should show.
func demoSum(ctx context.Context, e *command.Env, c *service.Service, conv fika.Conversation, took time.Duration) error {
	entries, err := c.Conversations.Entries(ctx, service.EntryQuery{Conversation: conv.ID})
	if err != nil {
		return err
	}
	hops, calls := 0, 0
	for _, x := range entries {
		switch {
		case x.Type == fika.ToolCall:
			calls++
		case isAnswer(x):
			hops++
		}
	}
	e.Say("%d answers by three agents in processes of their own, %d tool calls, in %s", hops, calls, took.Round(10*time.Millisecond))
	if hops != 5 || calls < 1 {
		return fika.Errorf(fika.Failed, "demo", "expected 5 answers (4 hops), each once, and a tool call")
	}
	return nil
}

// endDemo stops the hub and, unless keep is set, removes the folder.
func endDemo(e *command.Env, home string, keep bool) error {
	err := hub.TakeDown(context.Background(), e, fika.DesiredStopped, time.Minute)
	if e.Opened != nil {
		err = errors.Join(err, e.Opened.Close())
	}
	if keep {
		e.Say("kept: fika --home %s chat view %s", home, demoChat)
		return err
	}
	if !e.InTTY || !e.OutTTY {
		e.Say("next: fika, in a folder of yours, offers a team and opens a session with it")
	}
	return errors.Join(err, os.RemoveAll(home))
}
