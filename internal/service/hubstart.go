package service

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/hub"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
	"fika/internal/text/words"
)

// Start starts a hub in the background and waits until it is ready. already reports
// that one was running; then only its process id is known. delayed, if
// it is not nil, is called with the reason if it takes some seconds longer.
func (s *Hub) Start(ctx context.Context, delayed func(why string)) (ready hub.Ready, already bool, err error) {
	h, err := s.app.Home()
	if err != nil {
		return hub.Ready{}, false, err
	}
	if _, err := s.app.Config(); err != nil { // reported here, with all positions, rather than in a log
		return hub.Ready{}, false, err
	}
	if p, up := s.answering(ctx, h); up {
		if _, err := s.app.Store(ctx); fika.IsKind(err, fika.Locked) { // it waits for that, too
			return hub.Ready{PID: p.PID}, true, err
		}
		if why := HubStuck(p); !why.IsClear() {
			return hub.Ready{PID: p.PID}, true, words.Error(fika.Locked, "up", why)
		}
		return hub.Ready{PID: p.PID}, true, nil
	}
	if err := h.EnsureDir(h.LogsDir()); err != nil {
		return hub.Ready{}, false, err
	}
	logPath := filepath.Join(h.LogsDir(), "hub.log")
	log, err := folder.OpenLog(logPath)
	if err != nil {
		return hub.Ready{}, false, fika.Wrap(fika.Storage, "hub log", err)
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return hub.Ready{}, false, fika.Wrap(fika.Failed, "up", err)
	}
	defer r.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err == nil {
		err = s.spawn(h.Root, log, w)
	}
	_ = w.Close()
	if err != nil {
		return hub.Ready{}, false, fika.Wrap(fika.Failed, "up", err)
	}
	ready, already, err = awaitReady(ctx, r, logPath, before, delayed)
	if err != nil && ready.Waits == "" && ctx.Err() == nil {
		if p, up := h.HubProcess(); up { // another start was quicker
			return hub.Ready{PID: p.PID}, true, nil
		}
	}
	return ready, already, err
}

// answering returns the hub, if there is one. A hub that holds the lock but whose bus
// does not answer is starting, stopping, or being killed; a moment later it is known
// which.
func (s *Hub) answering(ctx context.Context, h folder.Home) (fika.Process, bool) {
	ctx, cancel := context.WithTimeout(ctx, hubSettles)
	defer cancel()
	for {
		p, up := h.HubProcess()
		if !up || !HubStuck(p).IsClear() || s.answers(ctx) {
			return p, up
		}
		if sleep.For(ctx, 20*time.Millisecond) != nil {
			return p, up
		}
	}
}

// hubSettles bounds how long a hub may hold its lock without answering before it counts
// as running but in trouble.
const hubSettles = 10 * time.Second

func (s *Hub) spawn(root string, log, ready *os.File) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(binary, "up", "--foreground", "--ready-fd", "3", "--home", root)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = root, log, log, []*os.File{ready}
	cmd.SysProcAttr = process.OwnGroup()
	if err := s.app.Children().Keep(cmd); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// awaitReady reads the line that a hub writes when it is ready, and before it those that
// say why it is delayed. A hub that ends before that has written the reason to its log,
// beyond the size that this had before.
func awaitReady(ctx context.Context, r *os.File, logPath string, before int64, delayed func(why string)) (hub.Ready, bool, error) {
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	defer stop()
	lines := json.NewDecoder(r)
	var ready hub.Ready
	err := lines.Decode(&ready)
	for err == nil && ready.Delayed != "" {
		if delayed != nil {
			delayed(ready.Delayed)
		}
		ready = hub.Ready{}
		err = lines.Decode(&ready)
	}
	if ctx.Err() != nil {
		return ready, false, fika.WithHint(fika.Errorf(fika.Detached, "up", "you stopped waiting; the hub continues starting"), hint.Status)
	}
	if err == nil && ready.Waits != "" {
		return ready, false, fika.Errorf(fika.Locked, "up", "the hub waits (process %d): %s", ready.PID, ready.Waits)
	}
	if err == nil {
		return ready, false, nil
	}
	why := ""
	for _, line := range linesAfter(logPath, before) {
		// The hub prints its error as any command does, with kind and words.
		if text, is := strings.CutPrefix(line, "fika: "); is {
			why = text
		}
	}
	if why == "" {
		return ready, false, fika.Errorf(fika.Failed, "up", "the hub ended while it started, and did not say why (was it killed?); see %s", logPath)
	}
	return ready, false, fika.Errorf(fika.Failed, "up", "the hub did not start: %s (all of it: %s)", why, logPath)
}

// linesAfter returns what was added to a log since it had a size.
func linesAfter(path string, size int64) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < size { // begun anew meanwhile
		size = 0
	}
	data, _ := io.ReadAll(io.NewSectionReader(f, size, 1<<20))
	return strings.Split(string(data), "\n")
}

// EnsureHub makes sure that a hub runs for the following requests. It starts one if
// none runs and [hub] autostart allows it, but not inside a tool, because what a tool
// starts ends with the tool, and a hub serves everybody. starting is called before
// that with what is done, and again if it takes some seconds longer. EnsureHub returns what
// a person should know about what they send now.
func (c *Service) EnsureHub(ctx context.Context, starting func(doing string)) (notes []api.Status, err error) {
	if _, up := c.home.HubProcess(); !up {
		if notes, err = c.startHub(ctx, starting); err != nil {
			return notes, err
		}
		l, err := lineOf(c.app)
		if err != nil {
			return notes, err
		}
		l.dial(ctx)
		c.use(l)
	}
	if !c.trouble.IsClear() {
		notes = append(notes, api.Stands(api.HubKept).With(c.trouble))
	}
	return notes, nil
}

func (c *Service) startHub(ctx context.Context, starting func(doing string)) (notes []api.Status, err error) {
	switch {
	case c.who.Kind != api.Person:
		return []api.Status{api.Stands(api.HubNotByTool)}, nil
	case !c.config().Hub.Autostart:
		return []api.Status{api.Stands(api.HubNone)}, nil
	}
	starting("starting the hub")
	ready, _, err := c.Hub.Start(ctx, starting)
	if err != nil {
		return nil, err
	}
	for _, a := range ready.Agents {
		if !a.OK {
			notes = append(notes, api.Stands(api.AgentNotUp, "agent", string(a.Name), "reason", a.Error))
		}
	}
	return notes, nil
}
