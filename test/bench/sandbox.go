package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"fika/internal/rights/guard"
	"fika/internal/sandbox"
	"fika/internal/sandbox/confine"
	"fika/internal/tool/proc"
)

// sandboxCalls is how often a confined call is measured.
const sandboxCalls = 200

// sandboxed measures the cost of confining a call, in each tier: true(1) in a
// repository, in an empty home folder and in one with 5,000 entries, against the least
// program that does something similar; and a command of 300 ms, for which the sandbox
// must not be noticeable.
func sandboxed(ctx context.Context, l *lab) ([]result, error) {
	path := os.Getenv("PATH")
	defer os.Setenv("PATH", path)
	b, err := newSandboxBench(ctx, l)
	if err != nil {
		return nil, err
	}
	var out []result
	for _, tier := range []sandbox.Tier{sandbox.Full, sandbox.Landlock} {
		if tier == sandbox.Landlock { // what works without bubblewrap
			if err := os.Setenv("PATH", filepath.Join(l.dir, "sandbox")); err != nil {
				return nil, err
			}
		}
		probe := &confine.Probe{}
		if found, err := probe.Open(sandbox.Best); err != nil || found.Tier() != tier {
			continue // not on this machine
		}
		more, err := b.tier(ctx, tier, probe)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// sandboxBench is the setting in which calls are confined and measured.
type sandboxBench struct {
	small, large project
	quick        string // a program that ends at once
	sleep        string
	empty        string // a static program that executes another
}

func newSandboxBench(ctx context.Context, l *lab) (b sandboxBench, err error) {
	if b.quick, err = exec.LookPath("true"); err != nil {
		return b, err
	}
	if b.sleep, err = exec.LookPath("sleep"); err != nil {
		return b, err
	}
	if b.small, err = newProject(filepath.Join(l.dir, "sandbox"), b.quick, 0); err != nil {
		return b, err
	}
	if b.large, err = newProject(filepath.Join(l.dir, "sandbox-5000"), b.quick, 5000); err != nil {
		return b, err
	}
	b.empty, err = emptyProgram(ctx, l.dir)
	return b, err
}

// project is a repository in a person's home folder.
type project struct{ person, work string }

// newProject makes a project beside that many other entries of the home folder, and a
// link to the program quick.
func newProject(dir, quick string, entries int) (project, error) {
	p := project{dir, filepath.Join(dir, "project")}
	if err := os.MkdirAll(p.work, 0o700); err != nil {
		return p, err
	}
	for i := range entries {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("entry-%d", i)), nil, 0o600); err != nil {
			return p, err
		}
	}
	err := os.Symlink(quick, filepath.Join(dir, "true"))
	if err == nil {
		err = exec.Command("git", "init", "-q", p.work).Run()
	}
	return p, err
}

// confined returns a function that runs one command as a tool of an agent does.
func (p project) confined(ctx context.Context, probe *confine.Probe) func(string, ...string) error {
	c := confine.New(confine.Options{
		Probe: probe, Mode: sandbox.Best, Paths: guard.Paths{Persons: []string{p.person}, Homes: []string{filepath.Join(p.person, ".fika")}},
		Temp: filepath.Join(p.person, "tmp"), Aside: filepath.Join(p.person, "aside"), Calls: filepath.Join(p.person, "calls"), Caches: filepath.Join(p.person, "cache"),
		Getenv: os.Getenv,
	}).Tools(p.work)
	return func(path string, args ...string) error {
		exit, err := proc.Run(ctx, proc.Cmd{Path: path, Args: args, Dir: p.work, Confine: c})
		if err == nil && exit.Code != 0 {
			err = fmt.Errorf("%s: exit %d: %s", path, exit.Code, exit.Output.Text)
		}
		return err
	}
}

// tier measures one tier.
func (b sandboxBench) tier(ctx context.Context, tier sandbox.Tier, probe *confine.Probe) ([]result, error) {
	floorName, most, floor := "bwrap --unshare-all", 1.3, func() error {
		return bare(ctx, b.small.work, "bwrap", "--unshare-all", "--ro-bind", "/", "/", b.quick)
	}
	if tier == sandbox.Landlock {
		floorName, most, floor = "an empty static program that executes true", 1.5, func() error { return bare(ctx, b.small.work, b.empty, b.quick) }
	}
	in, crowded := b.small.confined(ctx, probe), b.large.confined(ctx, probe)
	call, among, least, err := threeSeries(sandboxCalls, func() error { return in(b.quick) }, func() error { return crowded(b.quick) }, floor)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("confined call, tier %s", tier)
	out := []result{
		compare(name, call, floorName, least, most),
		compare(name+", home folder of 5,000 entries", among, floorName, least, most),
	}
	slow, plain, _, err := threeSeries(10, func() error { return in(b.sleep, "0.3") }, func() error { return bare(ctx, b.small.work, b.sleep, "0.3") }, func() error { return nil })
	if err != nil {
		return nil, err
	}
	return append(out, compare(fmt.Sprintf("a command of 300 ms, tier %s", tier), slow, "the same, not confined", plain, 1.1)), nil
}

// threeSeries measures three things in turns, so that all meet the same conditions.
func threeSeries(n int, a, b, c func() error) (x, y, z *series, err error) {
	all := [...]*series{{}, {}, {}}
	for i := range n + 2 {
		for k, f := range []func() error{a, b, c} {
			started := time.Now()
			if err := f(); err != nil {
				return nil, nil, nil, err
			}
			if i >= 2 {
				all[k].took(time.Since(started))
			}
		}
	}
	return all[0], all[1], all[2], nil
}

// emptyProgram builds a static program that does nothing but execute another.
func emptyProgram(ctx context.Context, dir string) (string, error) {
	const source = "package main\n\nimport (\n\t\"os\"\n\t\"syscall\"\n)\n\nfunc main() { _ = syscall.Exec(os.Args[1], os.Args[1:], os.Environ()) }\n"
	file, out := filepath.Join(dir, "empty.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, file)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return out, nil
}
