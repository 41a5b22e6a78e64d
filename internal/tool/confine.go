package tool

import (
	"os"
	"syscall"
)

// Confinement limits what the processes of one call can touch. It may be used for
// several processes of the call, in sequence or in parallel.
type Confinement interface {
	// Confine returns how to start a process so that it is confined. An error is of kind
	// Denied: the process must not be started at all.
	Confine(path string, args []string) (Confined, error)
	// Temp returns the folder for the call's temporary files, and the name by which the
	// process knows it. Both are empty if the process shares the system's.
	Temp() (dir, seen string)
	// Tier names how strongly the call is confined, for the record.
	Tier() string
	// Network reports whether the process reaches the network.
	Network() bool
}

// Confined is a process ready to be started: a program, its arguments without its own
// name, and open files that it needs on descriptors 3 and up.
type Confined struct {
	Path  string
	Args  []string
	Env   []string // overrides what the process would otherwise get
	Files []*os.File
	// Group is the folder of the control group that the process starts in; nil: that of
	// its parent.
	Group *os.File
	// User is the user the process runs as; nil: the user of its parent.
	User *syscall.Credential
	// Withheld is what the process does not get, for explaining why it failed.
	Withheld Withheld
	// Traffic is filled by Done; nil: the process has no proxy.
	Traffic *Traffic
	// Done is called once, when the process and everything it started have ended, or
	// when it could not be started. It returns what had to be undone, one line each.
	// nil: there is nothing to check.
	Done func() []string
}

// Withheld is what a confined process does not get.
type Withheld struct {
	Network   bool
	Loopback  bool     // not even a loopback of its own
	ByHost    bool     // it has no network, and a person can be asked about hosts
	Proxied   bool     // it has no network, but a proxy to hosts that are named
	Protected []string // files and folders that it cannot change
}

// Traffic is what a process without the network asked of the proxy that it has in place
// of one: "host:port", each once, the first twenty of each sort.
type Traffic struct {
	Reached []string // a connection was made
	Refused []string
}

// Started closes the files and the group, of which a started process has copies of its
// own. Further calls do nothing.
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

// Ended calls Started and, the first time, Done, and returns what Done returned.
func (c *Confined) Ended() []string {
	c.Started()
	done := c.Done
	c.Done = nil
	if done == nil {
		return nil
	}
	return done()
}
