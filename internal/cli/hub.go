package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/folder"
	"fika/internal/process"
)

func newUp(e *env) *cobra.Command {
	var foreground bool
	var readyFD int
	var o app.HubOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "up",
		Short: "start the hub and its agents",
		Long: `Starts the hub in the background and returns when the agents with auto_start
have given a sign of life. With --foreground it stays, for a service manager,
and logs to stderr.

` + exitHelp,
		Example: "  fika up\n  fika up --foreground",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if foreground {
				return e.hubForeground(cmd.Context(), readyFD, o)
			}
			ready, already, err := e.startHub(cmd.Context())
			if err != nil {
				return err
			}
			if already {
				e.say("the hub is up already (pid %d)", ready.PID)
				return nil
			}
			return e.showReady(ready, asJSON)
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

// hubForeground is the hub process itself.
func (e *env) hubForeground(ctx context.Context, readyFD int, o app.HubOptions) error {
	e.app = app.New(app.Options{Root: e.home, Getenv: e.getenv, Now: e.clock, Log: slog.New(slog.NewTextHandler(e.Err, nil))})
	o.Ready = func(r app.HubReady) {
		e.say("hub ready (pid %d), bus %s", r.PID, r.Bus)
	}
	ctx, release := stopsBySignal(ctx, func(take func(func(fika.Desired))) { o.Shutdown = take })
	defer release()
	if readyFD > 0 {
		// The agents must not inherit it: whoever waits at the other end would
		// wait for them, should this process die before it is ready.
		syscall.CloseOnExec(readyFD)
		pipe := os.NewFile(uintptr(readyFD), "ready")
		o.Ready = func(r app.HubReady) {
			_ = json.NewEncoder(pipe).Encode(r)
			_ = pipe.Close()
		}
	}
	return e.app.Hub(ctx, o)
}

// startHub starts a hub in the background and waits until it is ready. The
// second result is true when one was running already.
func (e *env) startHub(ctx context.Context) (app.HubReady, bool, error) {
	h, err := e.open().Home()
	if err != nil {
		return app.HubReady{}, false, err
	}
	if _, err := e.open().Config(); err != nil { // told here, with all its places, not in a log
		return app.HubReady{}, false, err
	}
	if p, up := e.answeringHub(ctx, h); up {
		if why := app.HubStuck(p); why != "" {
			return app.HubReady{PID: p.PID}, true, fika.Errorf(fika.Locked, "up", "%s", why)
		}
		return app.HubReady{PID: p.PID}, true, nil
	}
	if err := h.EnsureDir(h.LogsDir()); err != nil {
		return app.HubReady{}, false, err
	}
	logPath := filepath.Join(h.LogsDir(), "hub.log")
	log, err := folder.OpenLog(logPath)
	if err != nil {
		return app.HubReady{}, false, fika.Wrap(fika.Storage, "hub log", err)
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return app.HubReady{}, false, fika.Wrap(fika.Failed, "up", err)
	}
	defer r.Close()
	err = e.spawnHub(h.Root, log, w)
	_ = w.Close()
	if err != nil {
		return app.HubReady{}, false, fika.Wrap(fika.Failed, "up", err)
	}
	ready, already, err := awaitReady(ctx, r, logPath)
	if err != nil && ctx.Err() == nil {
		if p, up := h.HubProcess(); up { // somebody else's start was quicker
			return app.HubReady{PID: p.PID}, true, nil
		}
	}
	return ready, already, err
}

// answeringHub tells whether there is a hub. One that holds the lock but whose
// bus does not answer is only just starting, stopping, or dying of a signal:
// which of them is known a moment later.
func (e *env) answeringHub(ctx context.Context, h folder.Home) (fika.Process, bool) {
	ctx, cancel := context.WithTimeout(ctx, hubSettles)
	defer cancel()
	for {
		p, up := h.HubProcess()
		if !up || app.HubStuck(p) != "" || e.open().HubAnswers(ctx) {
			return p, up
		}
		select {
		case <-ctx.Done():
			return p, up
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hubSettles bounds how long a hub may hold its lock without answering before
// it is taken for one that is up but in trouble.
const hubSettles = 10 * time.Second

func (e *env) spawnHub(root string, log, ready *os.File) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(binary, "up", "--foreground", "--ready-fd", "3", "--home", root)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = root, log, log, []*os.File{ready}
	cmd.SysProcAttr = process.Group()
	if err := e.open().Children().Keep(cmd); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// awaitReady reads the one line a hub writes when it is ready; a hub that ends
// before that has said why in its log.
func awaitReady(ctx context.Context, r *os.File, logPath string) (app.HubReady, bool, error) {
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	defer stop()
	var ready app.HubReady
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if ctx.Err() != nil {
		return ready, false, fika.Errorf(fika.Detached, "up", "you stopped waiting; the hub goes on starting (fika status)")
	}
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err == nil {
		return ready, false, nil
	}
	last := folder.Tail(logPath, 1)
	if len(last) == 1 {
		// The hub printed its error as any command does: kind and words are there.
		return ready, false, fika.Errorf(fika.Failed, "up", "the hub did not start: %s (all of it: %s)", strings.TrimPrefix(last[0], "fika: "), logPath)
	}
	return ready, false, fika.Errorf(fika.Failed, "up", "the hub did not start; see %s", logPath)
}

func (e *env) showReady(r app.HubReady, asJSON bool) error {
	if asJSON {
		return e.printJSON(r)
	}
	e.say("hub up (pid %d), bus %s", r.PID, r.Bus)
	if r.Warning != "" {
		e.warn(r.Warning)
	}
	bad := 0
	for _, a := range r.Agents {
		if a.OK {
			e.say("%s @%s started (pid: %d)", e.ErrStyle().Green("✓"), a.Name, a.PID)
			continue
		}
		bad++
		e.say("%s @%s did not come up: %s", e.ErrStyle().Red("✗"), a.Name, a.Error)
	}
	if bad > 0 {
		return fika.Errorf(fika.Failed, "up", "%d of %d agents did not come up; fika agent logs NAME tells more", bad, len(r.Agents))
	}
	return nil
}
