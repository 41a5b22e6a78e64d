package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/clock"
	"fika/internal/config"
	"fika/internal/crash"
	"fika/internal/executor"
	"fika/internal/folder"
	"fika/internal/process"
	"fika/internal/store"
	"fika/internal/worker"
)

// executorLease is how long an executor is believed to live without a sign.
const executorLease = 15 * time.Second

// executorEnds is how long an executor has to finish its calls when the hub ends.
const executorEnds = 10 * time.Second

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
	_ = process.Private() // as for agents
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
	lock, err := lockExecutor(h, o.Name)
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
	lease, err := s.AcquireExecutor(ctx, store.ExecutorID(home, o.Name), process.Owner(), entry.User, executorLease)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.ReleaseExecutor(context.Background(), lease)) }()
	wake, stop := wakeExecutor(ctx, a, o)
	defer stop()
	o.Tell(fmt.Sprintf("executor %s is ready%s", o.Name, runsAs(entry.User)))
	return executor.New(executor.Options{
		Lease: lease, Store: s, Runner: worker.Execution{App: a, Name: o.Name, User: as}, Wake: wake,
		Still: func() error { return stillExecutor(a, *entry) }, Poll: crash.Pace(pollTime), Lasts: executorLease, Tell: o.Tell,
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

// lockExecutor makes sure that one process is an executor of this home.
func lockExecutor(h folder.Home, name string) (*os.File, error) {
	const op = "executor"
	if err := h.EnsureDir(h.RunDir()); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(executorLock(h, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	switch err := process.LockFile(f); {
	case errors.Is(err, process.ErrHeld):
		f.Close()
		return nil, fika.Errorf(fika.Locked, op, "the executor %s runs already (pid %d): let it be, or end it with kill", name, executorProcess(h, name).PID)
	case err != nil:
		f.Close()
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	_ = f.Truncate(0)
	p := process.Self()
	_, err = fmt.Fprintln(f, p.PID, p.Start, p.BootID)
	return f, fika.Wrap(fika.Storage, op, err)
}

// executorProcess is the process that is an executor; PID 0: none is.
func executorProcess(h folder.Home, name string) (p fika.Process) {
	data, _ := os.ReadFile(executorLock(h, name))
	if _, err := fmt.Sscan(string(data), &p.PID, &p.Start, &p.BootID); err != nil || !executorHeld(h, name) {
		return fika.Process{}
	}
	return p
}

func executorLock(h folder.Home, name string) string {
	return filepath.Join(h.RunDir(), "executor-"+name+".lock")
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

// usedExecutors are those that somebody's tools go to.
func usedExecutors(c *config.Config) (out []string) {
	for _, x := range c.Executors {
		used := x.Name == c.Tools.Executor
		for i := range c.Agents {
			used = used || x.Name == c.Agents[i].Executor
		}
		if used {
			out = append(out, x.Name)
		}
	}
	return out
}

func (k *executors) startMissing(c *config.Config) {
	for _, name := range usedExecutors(c) {
		if k.running[name] != nil || time.Now().Before(k.next[name]) || executorHeld(k.hub.home, name) {
			continue
		}
		k.next[name] = time.Now().Add(5 * time.Second)
		if err := k.start(name); err != nil {
			k.hub.app.Log().Warn("executor " + name + ": " + err.Error())
		}
	}
}

// executorHeld reports whether some process is an executor.
func executorHeld(h folder.Home, name string) bool {
	f, err := os.Open(executorLock(h, name))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(process.LockFileShared(f), process.ErrHeld)
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
	cmd.SysProcAttr = process.Group()
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
	h := k.hub.home
	var left []fika.Process
	if c, err := k.hub.app.Config(); err == nil {
		for _, x := range c.Executors {
			if p := executorProcess(h, x.Name); p.PID != 0 {
				_ = process.Wake(p, syscall.SIGTERM)
				left = append(left, p)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), executorEnds)
	defer cancel()
	for _, p := range left {
		for process.Alive(p) && clock.Sleep(ctx, 10*time.Millisecond) == nil {
		}
		if process.Alive(p) {
			_ = process.Kill(p)
		}
	}
	for len(k.running) > 0 {
		delete(k.running, <-k.ended)
	}
}
