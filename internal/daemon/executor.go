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
	"fika/internal/config"
	"fika/internal/crash"
	"fika/internal/executor"
	"fika/internal/folder"
	"fika/internal/process"
	"fika/internal/store"
	"fika/internal/worker"
)

const (
	// executorLease is how long an executor is believed to live without a sign.
	executorLease = 15 * time.Second
	// executorPause is between two starts of an executor by the hub.
	executorPause = 5 * time.Second
	// executorEnds is how long executors have to finish their calls when the hub ends.
	executorEnds = 10 * time.Second
)

// ExecutorOptions are of the process of an executor.
type ExecutorOptions struct {
	Name  string
	Tell  func(string) // a line for a person
	ByHub bool
}

// RunExecutor runs an executor until ctx ends. Error kinds: Invalid when no
// [[executors]] entry has that name, Locked when it runs already, NotFound and
// Denied when its user is not there or cannot be used, Lost when another process
// took its place.
func RunExecutor(ctx context.Context, a *app.App, o ExecutorOptions) (err error) {
	_ = process.MakePrivate() // as for agents
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return err
	}
	entry := c.Executor(o.Name)
	if entry == nil {
		return fika.Errorf(fika.Invalid, "", "%s", c.UnknownExecutor(o.Name))
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
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	home, err := h.ID()
	if err != nil {
		return err
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
		Lease: lease, Store: s, Runner: worker.Execution{App: a, Name: o.Name, User: as}, Wake: wake,
		Still: func() error { return stillExecutor(a, *entry) }, Poll: crash.Pace(pollTime), Lasts: lasts, Tell: o.Tell,
	}).Run(ctx)
}

// stillExecutor says that the settings make something else of an executor now. One
// that the hub looks after is started again as that.
func stillExecutor(a *app.App, was config.Executor) error {
	c, err := a.Config()
	if err != nil {
		return nil // what was read last holds
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

// wakeExecutor hears when there may be work. Without a bus nothing is lost: it looks
// by itself as well.
func wakeExecutor(ctx context.Context, a *app.App, o ExecutorOptions) (<-chan struct{}, func()) {
	wake := make(chan struct{}, 1)
	none := func() {}
	conn, err := a.Bus(ctx, busnats.UserHub, true) // a member would keep the hub from its rest
	if err != nil {
		o.Tell("no bus, so that calls are found later: " + err.Error())
		return wake, none
	}
	subjects, err := a.Subjects()
	if err != nil {
		return wake, none
	}
	sub, err := conn.Subscribe(subjects.Executor(o.Name), func(bus.Msg) { // what it says does not matter
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

// keepExecutors starts the executors that agents of this home name, and starts them
// again when they have ended, until ctx ends; then they are ended. One that
// somebody else has started is left alone.
func (h hubHome) keepExecutors(ctx context.Context) {
	k := executors{hub: h, running: map[string]*exec.Cmd{}, next: map[string]time.Time{}, ended: make(chan string)}
	for ctx.Err() == nil {
		if c, err := h.app.Config(); err == nil {
			k.startMissing(c)
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

// executors are those that this hub has started.
type executors struct {
	hub     hubHome
	running map[string]*exec.Cmd
	next    map[string]time.Time // not started again before
	ended   chan string
}

func (k *executors) startMissing(c *config.Config) {
	for _, x := range app.UsedExecutors(c) {
		name := x.Name
		if k.running[name] != nil || time.Now().Before(k.next[name]) {
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

// endAll asks all executors of the home to end, those that it did not start
// included, and kills what does not.
func (k *executors) endAll() {
	process.EndAll(k.hub.home.ExecutorProcesses(), executorEnds)
	for len(k.running) > 0 {
		delete(k.running, <-k.ended)
	}
}
