package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	"fika"
)

// maxOutput bounds what is read of one command's output.
const maxOutput = 64 << 20

// Run runs git in a folder and returns what it printed. No hook, filter, file
// system monitor, pager, editor, external diff or merge driver is run, whatever
// the repository's settings say, and nobody is asked for a password. Error kinds:
// NotFound (no git, or no repository there), Limit (too much output), Interrupted
// (ctx ended), else Failed with what git said.
func Run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	named, err := run(ctx, dir, append(quiet(), "config", "--list", "-z", "--name-only"))
	if err != nil {
		return nil, err
	}
	off, err := switchedOff(strings.Split(string(named), "\x00"))
	if err != nil {
		return nil, err
	}
	if len(args) > 0 && slices.Contains([]string{"diff", "log", "show"}, args[0]) {
		args = slices.Insert(slices.Clone(args), 1, "--no-ext-diff", "--no-textconv")
	}
	return run(ctx, dir, slices.Concat(quiet(), off, args))
}

// quiet are the settings that keep git from starting programs that it knows by
// one name.
func quiet() []string {
	return []string{
		"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.editor=false",
		"-c", "core.sshCommand=false", "-c", "core.askPass=", "-c", "credential.helper=", "-c", "diff.external=",
		"-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	}
}

// switchedOff are the settings that take their commands from the drivers that
// the settings name. A name that cannot be set on a command line is refused.
func switchedOff(settings []string) ([]string, error) {
	var out []string
	for _, name := range settings {
		lower := strings.ToLower(name)
		value, off := "", false
		switch key := lower[strings.LastIndexByte(lower, '.')+1:]; {
		case strings.HasPrefix(lower, "filter."):
			off = key == "clean" || key == "smudge" || key == "process" || key == "required"
			if key == "required" {
				value = "false"
			}
		case strings.HasPrefix(lower, "diff."):
			off = key == "command" || key == "textconv"
		case strings.HasPrefix(lower, "merge."):
			off = key == "driver"
		}
		if !off {
			continue
		}
		if strings.ContainsAny(name, "=\n") {
			return nil, fika.Errorf(fika.Denied, "git", "the settings of the repository name a program in a way that cannot be switched off (%q): git is not run", name)
		}
		out = append(out, "-c", name+"="+value)
	}
	return out, nil
}

func run(ctx context.Context, dir string, args []string) ([]byte, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fika.Errorf(fika.NotFound, "git", "git is not installed")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = dir, environment()
	out, said := &bounded{most: maxOutput}, &bounded{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, said
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fika.Wrap(fika.Interrupted, "git", context.Cause(ctx))
	case out.over:
		return nil, fika.Errorf(fika.Limit, "git", "git printed more than %d bytes", maxOutput)
	case err == nil:
		return out.Bytes(), nil
	}
	text := strings.TrimSpace(said.String())
	if strings.Contains(text, "not a git repository") {
		return nil, fika.Errorf(fika.NotFound, "git", "%s is in no git repository", dir)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && text != "" {
		err = errors.New(text)
	}
	return out.Bytes(), fika.Wrap(fika.Failed, "git", err)
}

// environment is what git needs of ours, and says that nobody is there to ask.
func environment() []string {
	env := []string{"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C"}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.Len()
	if len(p) > room {
		b.over = true
		b.Buffer.Write(p[:max(0, room)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
