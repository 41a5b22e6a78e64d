package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"fika"
	"fika/internal/tool"
	"fika/internal/tool/proc"
)

// maxStderr is how many of the last bytes on stderr are kept for an error.
const maxStderr = 2 << 10

// launch says how to start a plugin once.
type launch struct {
	file    *file
	args    []string
	env     *environment
	dir     string
	step    string
	timeout time.Duration
	limits  tool.Limits
	data    []byte    // the arguments, or the data of a hook
	stdin   io.Reader // the person's terminal; nil: stdin is data
	started func(fika.Process)
	told    func([]byte)
}

// ended is the outcome of a start.
type ended struct {
	exit     proc.Exit
	stderr   string // the last of its stderr
	timedOut bool
	asked    bool // a person could have been asked
}

// runPlugin starts a plugin and waits for it. Error kinds: Failed when it could not be
// started, Denied when it could not be confined, Interrupted when ctx ended, Limit when it
// took longer than its timeout, Storage when its environment could not be built.
func (p *Plugins) runPlugin(ctx context.Context, l launch) (ended, error) {
	defer l.env.removeFiles()
	if err := l.env.buildFailure(); err != nil {
		return ended{}, err
	}
	inner, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	last := &tail{to: p.opts.Stderr, mu: &p.stderr}
	input := l.stdin
	if input == nil && l.data != nil {
		input = bytes.NewReader(l.data)
	}
	exit, err := startAgain(inner, proc.Cmd{
		Children: p.opts.Children,
		Path:     l.file.Path, Args: l.args, Dir: l.dir, Env: l.env.vars, Step: l.step,
		Stdin: input, Stderr: last, Limits: l.limits, Progress: l.told, Started: l.started, Confine: l.env.confine,
	})
	e := ended{exit: exit, stderr: last.lastText(), asked: l.stdin != nil}
	switch {
	case err == nil:
		return e, nil
	case ctx.Err() != nil:
		return e, fika.Wrap(fika.Interrupted, "plugin "+l.file.Name, context.Cause(ctx))
	case inner.Err() != nil:
		e.timedOut = true
		return e, fika.Errorf(fika.Limit, "plugin "+l.file.Name, "stopped after %s: it took too long", l.timeout)
	}
	return e, explainStart(l.file, err)
}

// reportUndone reports what a plugin did to protected files outside a call.
func (p *Plugins) reportUndone(f *file, e ended) {
	for _, line := range e.exit.Undone {
		p.reportError(f.Name, fika.Errorf(fika.Denied, "plugin "+f.Name, "%s", line))
	}
}

// startAgain runs c, and retries while the file is busy: a file that was just written may
// still be open in a process that is being started elsewhere, which passes by itself.
func startAgain(ctx context.Context, c proc.Cmd) (proc.Exit, error) {
	pause := 2 * time.Millisecond
	for {
		exit, err := proc.Run(ctx, c)
		if !errors.Is(err, syscall.ETXTBSY) || pause > 200*time.Millisecond {
			return exit, err
		}
		select {
		case <-ctx.Done():
			return exit, err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// explainStart says what to do about a file that the system cannot start.
func explainStart(f *file, err error) error {
	op := "plugin " + f.Name
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fika.Errorf(fika.Failed, op, "%s is not a program: a script needs a first line such as #!/bin/sh", f.Path)
	case errors.Is(err, fs.ErrNotExist):
		return fika.Errorf(fika.Failed, op, "%s cannot be started: it, or the program its #! line names, is not there", f.Path)
	case errors.Is(err, fs.ErrPermission):
		return fika.Errorf(fika.Failed, op, "%s cannot be started: permission denied (is it executable, and the disk not mounted noexec?)", f.Path)
	case errors.Is(err, syscall.E2BIG):
		return fika.Errorf(fika.Failed, op, "%s cannot be started: the environment is too large", f.Path)
	}
	return fika.Wrap("", op, err)
}

// askSchema calls a plugin with --schema. Error kinds: Invalid for a bad schema, Limit
// when it took too long or printed too much, otherwise those of runPlugin.
func (p *Plugins) askSchema(ctx context.Context, f *file, timeout time.Duration) (*schema, error) {
	op := "plugin " + f.Name
	e, err := p.runPlugin(ctx, launch{
		file: f, args: []string{"--schema"}, env: p.environmentOf(f, p.opts.Workspace), dir: p.opts.Workspace,
		timeout: max(timeout, p.settingsOf(f).Timeout), limits: tool.Limits{Head: maxSchema, Tail: 1},
	})
	p.reportUndone(f, e)
	if err != nil {
		return nil, fika.Wrap("", "--schema", err)
	}
	if e.exit.Code != 0 {
		return nil, fika.Errorf(fika.Failed, op, "--schema failed: %s", e.failureText())
	}
	if e.exit.Output.Cut {
		return nil, fika.Errorf(fika.Limit, op, "--schema printed %d bytes; at most %d are taken", e.exit.Output.Total, maxSchema)
	}
	s, err := parseSchema([]byte(e.exit.Output.Text))
	return s, fika.Wrap("", op, err)
}

// failureText says how a process failed, with the end of its stderr.
func (e ended) failureText() string {
	s := fmt.Sprintf("exit status %d", e.exit.Code)
	if e.exit.Signal != "" {
		s = "ended by a signal (" + e.exit.Signal + ")"
	}
	if e.stderr != "" {
		s += ": " + e.stderr
	}
	return s
}
