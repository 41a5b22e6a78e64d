package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/executor"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/crash"
	"fika/internal/system/process"
	"fika/internal/worker"
)

const (
	// executorLease is how long an executor counts as alive without a sign of life.
	executorLease = 15 * time.Second
	// executorPause is the time between two starts of an executor by the hub.
	executorPause = 5 * time.Second
	// executorEnds is how long executors may take to finish their calls when the hub
	// ends.
	executorEnds = 10 * time.Second
)

// ExecutorOptions are the options of an executor process.
type ExecutorOptions struct {
	Name  string
	Tell  func(string) // receives lines for a person
	ByHub bool
}

// RunExecutor runs an executor until ctx ends. Error kinds: NotFound if no [[executors]]
// entry has that name or its user does not exist, Denied if that user cannot be used, Locked
// if it already runs, Lost if another process took its place.
func RunExecutor(ctx context.Context, a *app.App, o ExecutorOptions) (err error) {
	_ = process.MakePrivate() // as for agents
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return err
	}
	entry := c.Executor(o.Name)
	if entry == nil {
		return fika.Errorf(fika.NotFound, "", "%s", c.UnknownExecutor(o.Name))
	}
	var as *process.User
	if entry.User != "" {
		if as, err = process.FindUser(entry.User); err != nil {
			return err
		}
	}
	lock, err := h.LockExecutor(o.Name)
	if err != nil {
		return err
	}
	defer lock.Close()
	if as != nil {
		defer worker.ClearTemps(as, h)
	}
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	home, err := h.ID()
	if err != nil {
		return err
	}
	switch at, err := a.ExecutorHome(ctx, s, *entry); {
	case err != nil:
		return err
	case at != home:
		return fika.Errorf(fika.Invalid, "", "the executor %s runs on the host %s ([[executors]] host)", o.Name, entry.Host)
	}
	if err := a.Children().Adopt(); err != nil {
		o.Tell(err.Error() + "; what a tool leaves running may outlive its call")
	}
	a.FollowConfig(o.Tell)
	lasts := crash.Pace(executorLease)
	lease, err := s.AcquireExecutor(ctx, store.ExecutorID(home, o.Name), process.OwnerName(), entry.User, lasts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.ReleaseExecutor(context.Background(), lease)) }()
	wake, stop := wakeExecutor(ctx, a, o)
	defer stop()
	o.Tell(fmt.Sprintf("executor %s is ready%s", o.Name, runsAs(entry.User)))
	return executor.New(executor.Options{
		Lease: lease, Store: s, Runner: worker.Execution{App: a, Name: o.Name, User: as, Away: entry.Host != ""}, Wake: wake,
		Still: func() error { return stillExecutor(a, *entry) }, Poll: crash.Pace(pollTime), Lasts: lasts, Tell: o.Tell,
	}).Run(ctx)
}

// stillExecutor returns an error if the settings of an executor have changed. If the
// hub looks after the executor, it starts it again with the new settings.
func stillExecutor(a *app.App, was config.Executor) error {
	c, err := a.Config()
	if err != nil {
		return nil // the last readable settings apply
	}
	if now := c.Executor(was.Name); now == nil || *now != was {
		return fika.Errorf(fika.Invalid, "", "the settings of the executor %s are others now: it has to be started again", was.Name)
	}
	return nil
}

func runsAs(user string) string {
	if user == "" {
		return ""
	}
	return ": tools run as " + user
}

// wakeExecutor returns a channel that receives a value when there may be work. Without
// a bus nothing is lost, because the executor also looks by itself.
func wakeExecutor(ctx context.Context, a *app.App, o ExecutorOptions) (<-chan struct{}, func()) {
	wake := make(chan struct{}, 1)
	none := func() {}
	conn, err := a.Bus(ctx, busnats.UserHub, true) // a member would keep the hub from resting
	if err != nil {
		o.Tell("no bus, so that calls are found later: " + err.Error())
		return wake, none
	}
	subjects, err := a.Subjects()
	if err != nil {
		return wake, none
	}
	sub, err := conn.Subscribe(subjects.Executor(o.Name), func(bus.Msg) { // its content does not matter
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return wake, none
	}
	return wake, func() { _ = sub.Close() }
}

// keepExecutors starts the executors that agents of this home name, and restarts those
// that have ended, until ctx ends; then it ends them. It leaves alone executors that
// somebody else has started.
func (h hubHome) keepExecutors(ctx context.Context) {
	k := executors{hub: h, running: map[string]*exec.Cmd{}, next: map[string]time.Time{}, ended: make(chan string)}
	for ctx.Err() == nil {
		if c, err := h.app.Config(); err == nil {
			k.startMissing(c, h.runsHere)
		}
		timer := time.NewTimer(crash.Pace(pollTime))
		select {
		case name := <-k.ended:
			delete(k.running, name)
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	k.endAll()
}

// runsHere reports whether an executor is for this host to run.
func (h hubHome) runsHere(x config.Executor) bool {
	return x.Host == "" || h.host != nil && h.host.host().Name == x.Host
}

// executors are the executors that this hub has started.
type executors struct {
	hub     hubHome
	running map[string]*exec.Cmd
	next    map[string]time.Time // no restart before this time
	ended   chan string
}

func (k *executors) startMissing(c *config.Config, here func(config.Executor) bool) {
	for _, x := range app.UsedExecutors(c) {
		name := x.Name
		if !here(x) || k.running[name] != nil || time.Now().Before(k.next[name]) {
			continue
		}
		if _, runs := k.hub.home.ExecutorProcess(name); runs {
			continue
		}
		k.next[name] = time.Now().Add(crash.Pace(executorPause))
		if err := k.start(name); err != nil {
			k.hub.app.Log().Warn("executor " + name + ": " + err.Error())
		}
	}
}

func (k *executors) start(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h := k.hub.home
	if err := h.EnsureDir(h.LogsDir()); err != nil {
		return err
	}
	log, err := folder.OpenLog(filepath.Join(h.LogsDir(), "executor-"+name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, "executor", name, "--by-hub", "--home", h.Root)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = process.OwnGroup()
	if err := cmd.Start(); err != nil {
		return err
	}
	k.running[name] = cmd
	go func() {
		_ = cmd.Wait()
		k.ended <- name
	}()
	return nil
}

// endAll asks all executors of the home to end, including those that the hub did not
// start, and kills those that do not.
func (k *executors) endAll() {
	process.EndAll(k.hub.home.ExecutorProcesses(), executorEnds)
	for len(k.running) > 0 {
		delete(k.running, <-k.ended)
	}
}
