package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/hub"
	"fika/internal/cli/page"
	"fika/internal/service"
)

//go:embed config.toml rules.toml
var demoFiles embed.FS

const (
	demoChat    = "design"
	demoMessage = "@arya please sketch an API for notes"
	demoTimeout = 2 * time.Minute
)

// New returns the command fika demo.
func New(e *command.Env) *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use: "demo", Short: "watch three agents talk to each other, offline",
		Long: `Starts a hub with three agents in a folder of its own, sends one sentence to a
chat, shows what the agents make of it, and removes everything again. It needs
no key and no network: the agents use the scripted model, which answers from a
rules file. Everything else is real: processes, bus, database, tools.`,
		Example: "  fika demo\n  fika demo --keep   # and look into the folder afterwards",
		Args:    command.Exactly(0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), e, keep) },
	}
	c.Flags().BoolVar(&keep, "keep", false, "keep the folder (the hub is still stopped)")
	return c
}

// runDemo runs the demo in a home of its own.
func runDemo(ctx context.Context, e *command.Env, keep bool) (err error) {
	home, err := demoHome()
	if err != nil {
		return err
	}
	d := &command.Env{Streams: e.Streams, Getenv: quietEnv(e.Getenv), Home: home}
	defer func() {
		err = errors.Join(err, endDemo(d, home, keep))
	}()
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	begun := time.Now()
	ready, _, err := service.HubOf(d.App()).Start(ctx)
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
	if err := demoTalk(ctx, d, c, conv); err != nil {
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

// demoTalk sends the sentence to the chat and shows what follows until nothing waits or
// runs in it.
func demoTalk(ctx context.Context, e *command.Env, c *service.Service, conv fika.Conversation) error {
	live, err := c.Chats.Watch(conv)
	if err != nil {
		return err
	}
	defer live.Close()
	if _, err := c.Chats.Send(ctx, conv, demoMessage, service.Alias{}); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	shown, err := page.OfChat(ctx, e, c, conv, false)
	if err != nil {
		return err
	}
	show := func(x fika.Entry) error {
		if err := e.Print(shown.Entry(service.Node{Entry: x}, nil)); err != nil {
			return err
		}
		quiet, err := isQuiet(ctx, c, conv)
		if quiet {
			stop()
		}
		return err
	}
	err = live.Run(watching, service.EntryQuery{Conversation: conv.ID}, show)
	if ctx.Err() != nil {
		return fika.Errorf(fika.Failed, "demo", "the agents did not come to an end in %s", demoTimeout)
	}
	return err
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
		case x.Type == fika.Message && x.Meta.Writer == fika.ByAgent && x.Meta.Final:
			hops++
		}
	}
	e.Say("%d answers by three agents in processes of their own, %d tool calls, in %s", hops, calls, took.Round(10*time.Millisecond))
	if hops < 5 || calls < 1 {
		return fika.Errorf(fika.Failed, "demo", "expected 5 answers (4 hops) and a tool call")
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
	e.Say("next: name an agent of yours in ~/.fika/config.toml ([[agents]] id = \"coder\"), then fika opens a session with it")
	return errors.Join(err, os.RemoveAll(home))
}
