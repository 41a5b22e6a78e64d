package tool

import (
	"os"
	"syscall"
)

// Confinement limits what the processes of one call can touch. It may be used
// for several processes of the call, one after the other or side by side.
type Confinement interface {
	// Confine says how a process is started so that it is confined. An error is
	// of kind Denied: the process must not be started at all.
	Confine(path string, args []string) (Confined, error)
	// Temp is the folder for temporary files of the call, and the name that the
	// process knows it by. Both are empty where it shares the system's.
	Temp() (dir, seen string)
	// Tier names how strongly the call is confined, for the record.
	Tier() string
	// Network reports whether the process reaches the network.
	Network() bool
}

// Confined is a process that can be started: a program, its arguments without
// its own name, and open files that it needs on descriptors 3 and up.
type Confined struct {
	Path  string
	Args  []string
	Env   []string // overrides what the process would get
	Files []*os.File
	// Group is the folder of the control group that the process begins in; nil: that
	// of who starts it.
	Group *os.File
	// User is whom the process runs as; nil: who starts it.
	User *syscall.Credential
	// Withheld is what the process does not get, for who explains why it failed.
	Withheld Withheld
	// Done is called once, when the process and all that it started have ended,
	// or when it could not be started. It says what had to be undone, a line
	// each. Nil: there is nothing to look at.
	Done func() []string
}

// Withheld is what a confined process does not get.
type Withheld struct {
	Network   bool
	Loopback  bool     // not even one of its own
	Protected []string // files and folders that it cannot change
}

// Started closes the files and the group, which a started process has of its own. It may be
// called twice.
func (c *Confined) Started() {
	for _, f := range c.Files {
		f.Close()
	}
	c.Files = nil
	if c.Group != nil {
		c.Group.Close()
		c.Group = nil
	}
}

// Ended calls Done, once.
func (c *Confined) Ended() []string {
	c.Started()
	done := c.Done
	c.Done = nil
	if done == nil {
		return nil
	}
	return done()
}
