package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"fika"
	"fika/internal/sandbox/child"
)

// machine returns the architecture as seccomp names it (linux/audit.h).
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
	s := &Sandbox{tier: Full, bwrap: path, namespaces: true}
	if s.try(ctx) == nil {
		return s, nil
	}
	s = &Sandbox{tier: Full, bwrap: path}
	return s, s.try(ctx)
}

// openLandlock returns the built-in tier, or none; fuller is the reason why there is no
// full tier.
func openLandlock(ctx context.Context, fuller string) *Sandbox {
	s := &Sandbox{tier: Landlock, why: fuller}
	if err := s.try(ctx); err != nil {
		return &Sandbox{tier: None, why: fuller + "; " + err.Error()}
	}
	return s
}

func (s *Sandbox) fullCommand(p Profile, path string, args []string) (Command, error) {
	// Without the network the call has interfaces and abstract sockets of its own; with
	// it, the abstract sockets of the whole machine would be reachable.
	program, err := s.filter(sockets{unix: !p.Network || len(p.Sockets) > 0, inet: true})
	if err != nil {
		return Command{}, err
	}
	if s.namespaces && p.User == nil {
		return s.namespaceCommand(p, program, path, args)
	}
	f, err := memory(program)
	if err != nil {
		return Command{}, fika.Wrap(fika.Failed, "sandbox", err)
	}
	out := Command{Path: s.bwrap, Args: append(bubblewrap(p, "3"), "--"), Files: []*os.File{f}}
	if !p.proxied() {
		out.Args = append(append(out.Args, path), args...)
		return out, nil
	}
	var last child.Program // between bubblewrap and the command
	handOver(&last, 5, p.Proxy.port)
	giveUp(&last)
	last.Exec(path, append([]string{path}, args...))
	image, err := last.Open()
	if err != nil {
		f.Close()
		return Command{}, fika.Wrap(fika.Failed, "sandbox", err)
	}
	out.Args, out.Files = append(out.Args, "/proc/self/fd/4"), append(out.Files, image, p.Proxy.theirs)
	return out, nil
}

// CannotShare says why a process of user u cannot share its namespaces with others; empty
// if it can.
func (s *Sandbox) CannotShare(u *syscall.Credential) string {
	switch {
	case s.Tier() == Landlock:
		return "the built-in sandbox has no loopback and cannot end all of a command's processes; bubblewrap can be installed"
	case s.Tier() != Full:
		return "nothing confines it"
	case u != nil:
		return "it would run as another user"
	case !s.namespaces:
		return "on this machine only bubblewrap can make namespaces, and nothing can join those"
	}
	return ""
}

// proxied reports whether a process of tier full makes a listener and hands it over.
func (p Profile) proxied() bool { return p.Proxy != nil && !p.Network }

// systemFolders can be read in tier landlock: programs, libraries, settings of the
// machine, and what the kernel reports about itself.
var systemFolders = [...]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys", "/snap"}

// addSystemFolders grants the system folders. Landlock cannot exclude part of a folder, so
// what one that contains something hidden holds is granted entry by entry.
func (g *grants) addSystemFolders(hidden []string) {
	for _, dir := range systemFolders {
		parts := without(dir, hidden)
		if g.read = append(g.read, parts...); len(parts) > 1 {
			g.list = append(g.list, dir)
		}
	}
}

// without returns the paths that together are dir without what is hidden.
func without(dir string, hidden []string) []string {
	hidden = slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return !Within(dir, h) })
	if len(hidden) == 0 {
		return []string{dir}
	}
	if slices.Contains(hidden, dir) {
		return nil
	}
	var out []string
	entries, _ := os.ReadDir(dir) // what cannot be listed is not granted
	for _, e := range entries {
		out = append(out, without(filepath.Join(dir, e.Name()), hidden)...)
	}
	return out
}

func (s *Sandbox) landlockCommand(p Profile, path string, args []string) (Command, error) {
	// Landlock cannot restrict UDP and raw sockets, so the filter lets no such socket be
	// opened.
	program, err := s.filter(sockets{unix: len(p.Sockets) > 0, inet: p.Network})
	if err != nil {
		return Command{}, err
	}
	g := grants{list: p.Listed, devices: devices[:], network: p.Network}
	g.addSystemFolders(slices.Concat(p.Hidden, p.Secrets, p.Private))
	resolve := NewResolver()
	for _, path := range p.trusted(resolve)(slices.Concat(p.Shown, p.Readable)) {
		if real, err := resolve.Real(path); err == nil {
			g.read = append(g.read, real)
		}
	}
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
	var env []string
	if p.Temp != "" {
		g.write = append(g.write, p.Temp)
		env = append(env, "TMPDIR="+p.Temp)
	}
	rules, err := g.ruleset()
	if err != nil {
		return Command{}, fika.Wrap(fika.Denied, "landlock", err)
	}
	image, err := restricted(program, path, args)
	if err != nil {
		rules.Close()
		return Command{}, fika.Wrap(fika.Failed, "sandbox", err)
	}
	return Command{Path: imagePath, Env: env, Files: []*os.File{image, rules}}, nil
}

// The descriptors, besides the usual ones, of a process that confines itself.
const (
	imageDescriptor   = 3
	rulesetDescriptor = 4
	imagePath         = "/proc/self/fd/3"
)

// restricted returns a program that restricts itself by the Landlock ruleset on its
// descriptor and executes a command.
func restricted(filter []byte, path string, args []string) (*os.File, error) {
	var p child.Program
	giveUp(&p)
	p.Call("landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, child.Number(rulesetDescriptor), child.Number(0))
	filterCalls(&p, filter)
	p.Exec(path, append([]string{path}, args...))
	return p.Open()
}

// maxCapability is beyond the last capability of any kernel.
const maxCapability = 64

// giveUp closes all descriptors except the usual three when the command is executed, and
// drops privileges that a program with another owner, or root, would regain.
func giveUp(p *child.Program) {
	p.Call("close descriptors", unix.SYS_CLOSE_RANGE, child.Number(imageDescriptor), child.Number(^uint32(0)), child.Number(unix.CLOSE_RANGE_CLOEXEC))
	for c := range maxCapability { // refused beyond the last one, and for a process without capabilities
		p.Try(unix.SYS_PRCTL, child.Number(unix.PR_CAPBSET_DROP), child.Number(c))
	}
	p.Call("no new privileges", unix.SYS_PRCTL, child.Number(unix.PR_SET_NO_NEW_PRIVS), child.Number(1))
}

// filterCalls makes the filter decide about all calls that follow.
func filterCalls(p *child.Program, filter []byte) {
	const bytesOfOneInstruction = 8
	count := child.Number(len(filter) / bytesOfOneInstruction) // struct sock_fprog: a short and a pointer
	p.Call("seccomp", unix.SYS_PRCTL, child.Number(unix.PR_SET_SECCOMP), child.Number(unix.SECCOMP_MODE_FILTER), p.Words(count, p.Bytes(filter)))
}
