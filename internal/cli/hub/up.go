package hub

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/cli/command"
	"fika/internal/daemon"
	"fika/internal/hub"
	"fika/internal/service"
)

// NewUp returns the command fika up.
func NewUp(e *command.Env) *cobra.Command {
	var foreground bool
	var readyFD int
	var o daemon.HubOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "up",
		Short: "start the hub and its agents",
		Long: `Starts the hub in the background and returns when the agents with auto_start
have given a sign of life. With --foreground the hub stays in the foreground,
for a service manager, and logs to stderr. Where hosts of an older version still
use the database, the hub waits until they have left, and then migrates it. Where
hosts share a database and this machine was restarted while its hub ran, it waits
for up to 20 s until the host that it was counts as down.

` + command.ExitHelp,
		Example: "  fika up\n  fika up --foreground",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if foreground {
				return hubForeground(cmd.Context(), e, readyFD, o)
			}
			ready, already, err := service.HubOf(e.App()).Start(cmd.Context(), func(why string) { e.Say("%s", e.ErrStyle().Dim(why+" …")) })
			if err != nil {
				return err
			}
			if already {
				e.Say("the hub is already running (pid %d)", ready.PID)
				return nil
			}
			return ShowReady(e, ready, asJSON)
		},
	}
	c.Flags().BoolVar(&foreground, "foreground", false, "stay in the foreground")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was started as JSON")
	c.Flags().IntVar(&readyFD, "ready-fd", 0, "")
	c.Flags().DurationVar(&o.Hung, "hung", 0, "")
	c.Flags().DurationVar(&o.Grace, "grace", 0, "")
	for _, name := range []string{"ready-fd", "hung", "grace"} {
		_ = c.Flags().MarkHidden(name)
	}
	return c
}

// hubForeground runs the hub in this process.
func hubForeground(ctx context.Context, e *command.Env, readyFD int, o daemon.HubOptions) error {
	clean := e.App().Secrets().Writer(e.Err) // stderr is a log here
	defer clean.Close()
	e.Err = clean
	e.Opened = app.New(app.Options{Root: e.Home, Getenv: e.Getenv, Now: e.Clock, Log: slog.New(slog.NewTextHandler(e.Err, nil))})
	o.Ready = func(r hub.Ready) {
		e.Say("hub ready (pid %d), bus %s", r.PID, r.Bus)
	}
	ctx, release := command.EndOnSignals(ctx, func(take func(func(fika.Desired))) { o.Shutdown = take })
	defer release()
	if readyFD > 0 {
		// The agents must not inherit the pipe: if this process died before it was
		// ready, the process at the other end would wait for them.
		syscall.CloseOnExec(readyFD)
		pipe := os.NewFile(uintptr(readyFD), "ready")
		o.Ready = func(r hub.Ready) { // after a word of waiting, nobody reads any more
			_ = json.NewEncoder(pipe).Encode(r)
			_ = pipe.Close()
		}
		o.Waits = func(why string) { o.Ready(hub.Ready{PID: os.Getpid(), Waits: why}) }
		o.Delayed = func(why string) { _ = json.NewEncoder(pipe).Encode(hub.Ready{PID: os.Getpid(), Delayed: why}) }
	}
	return daemon.RunHub(ctx, e.Opened, o)
}

// ShowReady prints where a hub can be reached and which agents have come up. Without
// asJSON, it fails if one of them has not.
func ShowReady(e *command.Env, r hub.Ready, asJSON bool) error {
	if asJSON {
		return e.PrintJSON(r)
	}
	e.Say("hub up (pid %d), bus %s", r.PID, r.Bus)
	if r.Warning != "" {
		e.Warn(r.Warning)
	}
	bad := 0
	for _, a := range r.Agents {
		if a.OK {
			e.Say("%s @%s started (pid: %d)", e.ErrStyle().Green("✓"), a.Name, a.PID)
			continue
		}
		bad++
		e.Say("%s @%s failed to start: %s", e.ErrStyle().Red("✗"), a.Name, a.Error)
	}
	if bad > 0 {
		return fika.Errorf(fika.Failed, "up", "%d of %d agents failed to start; see fika agent logs NAME", bad, len(r.Agents))
	}
	return nil
}
