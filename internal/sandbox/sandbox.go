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
	Full     Tier = "full"     // namespaces, on a machine with bubblewrap
	Landlock Tier = "landlock" // needs nothing installed
	None     Tier = "none"     // nothing works here
)

// Mode is what a person asks for.
type Mode string

// The modes.
const (
	Best     Mode = "best"     // the strongest tier that works
	Required Mode = "required" // full, or the call is refused
	Off      Mode = "off"
)

// Sandbox confines calls in one tier. The zero Sandbox confines nothing. It is safe for
// concurrent use.
type Sandbox struct {
	tier  Tier
	bwrap string // path of bwrap
	// namespaces says that processes make their namespaces themselves where they can,
	// which is quicker: those that run as the user who starts them.
	namespaces bool
	why        string // why no stronger tier works; empty if there is no stronger one

	filters sync.Map // seccomp programs, by the sockets they allow
	seen    sync.Map // map[string]content of protected paths, as [Sandbox.KeepProtected] last read them
}

// Open finds the strongest tier that works here by confining one process in each,
// strongest first. With mode Required any tier but [Full] is an error of kind Denied that
// says which step failed.
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

// Tier returns the tier in which calls are confined.
func (s *Sandbox) Tier() Tier {
	if s == nil || s.tier == "" {
		return None
	}
	return s.tier
}

// Lacks lists, in words, what this tier does not protect against.
func (s *Sandbox) Lacks() []string {
	switch s.Tier() {
	case Full:
		return []string{"outside of home folders, /run and folders for temporary files, Unix sockets can be reached that are bound during the call, by a relative path, or renamed, and FIFOs that may be written"}
	case Landlock:
		return []string{
			"folders cannot be taken out of a writable one: protected files are compared and put back after the call",
			"whether a file exists can be found out for any name, though not what is in it",
			"/tmp is closed instead of private (TMPDIR names the folder to use), and so is /dev/shm",
			"permissions and times of files outside can be changed, though not what is in them",
			"command lines of other processes can be read",
			"there is no loopback interface of its own: without the network nothing listens",
		}
	default:
		return []string{"commands have all the rights of the user: " + s.why}
	}
}

// WhyWeaker says why no stronger tier works; empty if there is no stronger one.
func (s *Sandbox) WhyWeaker() string { return s.why }

// Command describes how to start a confined process: what to execute, and the open files
// that it needs on descriptors 3 and up. The caller must Close it once the process has
// started.
type Command struct {
	Path  string
	Args  []string // without the program's own name
	Env   []string // additional variables
	Files []*os.File
}

// Close closes the files. It may be called twice.
func (c *Command) Close() {
	for _, f := range c.Files {
		f.Close()
	}
	c.Files = nil
}

// Command returns how to start path with args, confined to p. Error kinds: Denied,
// Failed.
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
