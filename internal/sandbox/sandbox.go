package sandbox

import (
	"context"
	"os"
	"os/exec"
	"sync"

	"fika"
)

// Tier is how a process is confined.
type Tier string

// The tiers, from the strongest.
const (
	Full     Tier = "full"     // bubblewrap
	Landlock Tier = "landlock" // built in
	None     Tier = "none"     // nothing works here
)

// Mode is what a person wants.
type Mode string

// The modes.
const (
	Best     Mode = "best"     // the strongest tier that works
	Required Mode = "required" // full, or the call is refused
	Off      Mode = "off"
)

// Sandbox confines calls in one tier. The zero Sandbox confines nothing.
type Sandbox struct {
	tier  Tier
	bwrap string // path of the program
	// namespaces says that fika makes them itself where it can, which is quicker:
	// for processes that run as whoever starts them.
	namespaces bool
	why        string // why no stronger tier works; empty: there is none

	filters sync.Map // programs of system calls, by the sockets they allow
	seen    sync.Map // map[string]content of protected paths, as [Sandbox.KeepProtected] read them last
}

// Open finds the strongest tier that works here by confining one process in
// each, strongest first. With mode Required anything but [Full] is an error of
// kind Denied that says which step failed.
func Open(ctx context.Context, mode Mode) (*Sandbox, error) {
	if mode == Off {
		return &Sandbox{tier: None, why: "switched off"}, nil
	}
	s, err := openFull(ctx)
	if err == nil {
		return s, nil
	}
	if mode == Required {
		return nil, fika.Wrap(fika.Denied, "sandbox", err)
	}
	return openLandlock(ctx, err.Error()), nil
}

// Tier says how calls are confined.
func (s *Sandbox) Tier() Tier {
	if s == nil || s.tier == "" {
		return None
	}
	return s.tier
}

// Lacks lists, in words, what this tier does not keep a process from.
func (s *Sandbox) Lacks() []string {
	switch s.Tier() {
	case Full:
		return []string{"Unix sockets that somebody binds during the call can be reached"}
	case Landlock:
		return []string{
			"folders cannot be taken out of a writable one: protected files are compared and put back after the call",
			"names of files can be listed, though not read, above the workspace",
			"/tmp is closed instead of private (TMPDIR names the folder to use), and so is /dev/shm",
			"permissions and times of files outside can be changed, though not what is in them",
			"command lines of other processes can be read",
			"there is no loopback interface of its own: without the network nothing listens",
		}
	default:
		return []string{"commands have all the rights of the user: " + s.why}
	}
}

// WhyWeaker says what keeps a stronger tier from working; empty: nothing does.
func (s *Sandbox) WhyWeaker() string { return s.why }

// Command is a confined process that can be started: what to execute, and open
// files that it needs on descriptors 3 and up. Close them when it has started.
type Command struct {
	Path  string
	Args  []string // without the program's own name
	Env   []string // to be added
	Files []*os.File
}

// Close closes the files. It may be called twice.
func (c *Command) Close() {
	for _, f := range c.Files {
		f.Close()
	}
	c.Files = nil
}

// Command confines path with args to p.
func (s *Sandbox) Command(p Profile, path string, args ...string) (Command, error) {
	switch s.Tier() {
	case Full:
		return s.fullCommand(p, path, args)
	case Landlock:
		return s.landlockCommand(p, path, args)
	}
	return Command{Path: path, Args: args}, nil
}

// try starts a confined true(1) and waits for it.
func (s *Sandbox) try(ctx context.Context) error {
	path, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	c, err := s.Command(Profile{Workspace: "/nonexistent"}, path)
	if err != nil {
		return err
	}
	defer c.Close()
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.ExtraFiles, cmd.Env = c.Files, c.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fika.Errorf(fika.Failed, "", "tier %s: %v: %.300s", s.tier, err, out)
	}
	return nil
}
