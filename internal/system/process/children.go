package process

import (
	"os/exec"
	"sync"
	"time"
)

// Children tracks the processes that this process starts, with everything that they leave
// behind. One value serves a whole process, because the kernel hands orphans to the
// process and not to a part of it; every child has to be started through it. Its methods
// are safe for concurrent use.
type Children struct {
	forks   sync.RWMutex // read-locked by a start, write-locked by a look: it sees no half-registered child
	mu      sync.Mutex
	adopts  bool // orphans of the children become our own (subreaper)
	started map[int]child
	until   time.Duration // see [Children.Until]; 0: nothing limits them
	dog     *watchdog     // nil: it does not run
}

// child is a process that was started here and has not been forgotten yet.
type child struct {
	mark string // the step it works for; "" if none
	kept bool   // it is to outlive this process
	// served: a server that answers calls of many steps; what it starts belongs to it as
	// long as it runs.
	served bool
}

// NewChildren returns the Children of a process that has started none so far.
func NewChildren() *Children { return &Children{started: map[int]child{}} }

// Start starts cmd, which works for the step mark, or for none (""). After waiting for
// it, the caller must call [Children.Forget].
func (c *Children) Start(cmd *exec.Cmd, mark string) error {
	return c.startChild(cmd, child{mark: mark})
}

// Serve starts cmd, a server that works for many steps and carries a mark of its own.
// Processes with that mark are left alone until the server is forgotten.
func (c *Children) Serve(cmd *exec.Cmd, mark string) error {
	return c.startChild(cmd, child{mark: mark, served: true})
}

// Keep starts cmd, a process that is to outlive this one and that the caller does not
// wait for.
func (c *Children) Keep(cmd *exec.Cmd) error { return c.startChild(cmd, child{kept: true}) }

func (c *Children) startChild(cmd *exec.Cmd, kind child) error {
	c.forks.RLock()
	defer c.forks.RUnlock()
	if err := c.beforeStart(kind); err != nil {
		return err
	}
	err := cmd.Start()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.afterStart(0, kind)
		return err
	}
	c.started[cmd.Process.Pid] = kind
	c.afterStart(cmd.Process.Pid, kind)
	return nil
}

// Forget says that a child has been waited for, so that its pid may belong to another
// process from now on.
func (c *Children) Forget(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.afterEnd(pid, c.started[pid])
	delete(c.started, pid)
}
