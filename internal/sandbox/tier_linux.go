package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"fika"
	"fika/internal/sandbox/child"
)

// machine is the architecture as seccomp tells it (linux/audit.h).
func machine() (uint32, error) {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64, nil
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64, nil
	}
	return 0, fika.Errorf(fika.Failed, "", "no filter of system calls is written for %s", runtime.GOARCH)
}

func openFull(ctx context.Context) (*Sandbox, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fika.Errorf(fika.NotFound, "", "bubblewrap is not installed (bwrap is not in PATH)")
	}
	s := &Sandbox{tier: Full, bwrap: path}
	return s, s.try(ctx)
}

// openLandlock gives the built-in tier, or none; fuller is why there is no full.
func openLandlock(ctx context.Context, fuller string) *Sandbox {
	s := &Sandbox{tier: Landlock, why: fuller}
	if err := s.try(ctx); err != nil {
		return &Sandbox{tier: None, why: fuller + "; " + err.Error()}
	}
	return s
}

func (s *Sandbox) fullCommand(p Profile, path string, args []string) (Command, error) {
	// Without the network the interfaces are the call's own, and so are abstract
	// sockets; with it those of the whole machine would be in reach.
	program, err := s.filter(sockets{unix: !p.Network || len(p.Sockets) > 0, inet: true})
	if err != nil {
		return Command{}, err
	}
	f, err := memory(program)
	if err != nil {
		return Command{}, fika.Wrap(fika.Failed, "sandbox", err)
	}
	line := append(bubblewrap(p, "3"), "--", path)
	return Command{Path: s.bwrap, Args: append(line, args...), Files: []*os.File{f}}, nil
}

// systemFolders can be read in tier landlock: programs, libraries, settings of
// the machine, and what the kernel says of itself.
var systemFolders = [...]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys", "/snap"}

// systemFolders are those that hold nothing that is to be hidden: nothing can be
// taken out of one.
func (p Profile) systemFolders() []string {
	return slices.DeleteFunc(slices.Clone(systemFolders[:]), func(dir string) bool {
		return slices.ContainsFunc(p.Hidden, func(hidden string) bool { return within(dir, hidden) })
	})
}

var devices = [...]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

func (s *Sandbox) landlockCommand(p Profile, path string, args []string) (Command, error) {
	// UDP and raw sockets are not Landlock's to close, so none is opened.
	program, err := s.filter(sockets{unix: len(p.Sockets) > 0, inet: p.Network})
	if err != nil {
		return Command{}, err
	}
	g := grants{read: slices.Concat(p.systemFolders(), p.Shown, p.Readable), list: p.Listed, devices: devices[:], network: p.Network}
	for _, root := range append([]string{p.Workspace}, p.Writable...) {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if root == p.Workspace && p.ReadOnly {
			g.read = append(g.read, root)
		} else {
			g.write = append(g.write, root)
		}
	}
	env := []string{child.Variable + "=1"}
	if p.Temp != "" {
		g.write = append(g.write, p.Temp)
		env = append(env, "TMPDIR="+p.Temp)
	}
	self, err := os.Executable()
	if err != nil {
		return Command{}, fika.Wrap(fika.Failed, "sandbox", err)
	}
	if p.User != nil {
		self = "/proc/self/exe" // where it lies may be closed to that user
	}
	rules, err := g.ruleset()
	if err != nil {
		return Command{}, fika.Wrap(fika.Denied, "landlock", err)
	}
	spec, err := memory(child.Spec{Filter: program, Path: path, Args: append([]string{path}, args...)}.Encode())
	if err != nil {
		rules.Close()
		return Command{}, fika.Wrap(fika.Failed, "sandbox", err)
	}
	return Command{Path: self, Env: env, Files: []*os.File{spec, rules}}, nil
}
