package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fika"
)

// maxOutput is the most bytes read of one command's output, maxWords the most kept of
// git's message about a failure.
const (
	maxOutput = 64 << 20
	maxWords  = 8 << 10
)

// Call is one run of git.
type Call struct {
	Dir  string   // working directory
	Args []string // arguments of git
	Env  []string // added to its environment, such as GIT_INDEX_FILE
	// Script is run by the shell instead of git, with Args as its arguments and the
	// settings that git gets.
	Script string
	Stdin  string
	// Prepare may change how the process is started, so that it is confined. Its filters
	// and drivers are then left as they are. The process and its children are ended with
	// ctx.
	Prepare func(*exec.Cmd) error
}

// Run runs git in a folder and returns its output. Whatever the repository's settings
// say, no hook, filter, file system monitor, pager, editor, external diff or merge
// driver is run, and nobody is asked for a password. Error kinds: NotFound (no git, or
// no repository there), Limit (too much output), Interrupted (ctx ended), else Failed
// with git's message, together with the output so far.
func Run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return RunCall(ctx, Call{Dir: dir, Args: args})
}

// RunLine is [Run] for an answer of one line, returned without its newline.
func RunLine(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := Run(ctx, dir, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// RunCall is [Run] for a [Call], which may add to the environment.
func RunCall(ctx context.Context, c Call) ([]byte, error) {
	if c.Script != "" {
		return run(ctx, c, quiet())
	}
	drivers, err := replacedDrivers(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	if len(c.Args) > 0 && slices.Contains([]string{"diff", "diff-tree", "log", "show"}, c.Args[0]) {
		c.Args = slices.Insert(slices.Clone(c.Args), 1, "--no-ext-diff", "--no-textconv")
	}
	return run(ctx, c, append(quiet(), drivers...))
}

// HookPath returns where git finds a hook of a repository, whether or not there is
// one.
func HookPath(ctx context.Context, dir, hook string) (string, error) {
	settings := slices.DeleteFunc(quiet(), func(s setting) bool { return s.key == "core.hooksPath" })
	out, err := run(ctx, Call{Dir: dir, Args: []string{"rev-parse", "--path-format=absolute", "--git-path", "hooks/" + hook}}, settings)
	return strings.TrimSuffix(string(out), "\n"), err
}

// ExitStatus returns git's exit status from err: 0 for a nil error, -1 for an error
// that is not about the exit status.
func ExitStatus(err error) int {
	var e exited
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.status
	}
	return -1
}

// exited is the error of a git that failed.
type exited struct {
	status int
	words  string
}

// Error returns git's own words.
func (e exited) Error() string {
	if e.words == "" {
		return "exit status " + strconv.Itoa(e.status)
	}
	return e.words
}

// setting is one entry of git's configuration.
type setting struct{ key, value string }

// quiet returns the settings that keep git from starting programs configured under a
// fixed key, and that make its output the same for every user.
func quiet() []setting {
	return []setting{
		{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.editor", "false"}, {"core.pager", "cat"},
		{"core.sshCommand", "false"}, {"core.askPass", ""}, {"credential.helper", ""}, {"protocol.allow", "never"},
		{"diff.external", ""}, {"diff.noprefix", "false"}, {"diff.mnemonicPrefix", "false"}, {"color.ui", "false"}, {"core.quotePath", "false"},
		{"commit.gpgSign", "false"}, {"log.showSignature", "false"}, {"merge.verifySignatures", "false"}, {"gpg.program", "false"},
		{"merge.stat", "false"}, {"merge.autoStash", "false"}, {"merge.conflictStyle", "merge"}, {"rerere.enabled", "false"},
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"submodule.recurse", "false"},
	}
}

// ownMerge is the merge that git itself does where no driver is named.
const ownMerge = "git merge-file --marker-size=%L %A %O %B"

// replacedDrivers returns settings that replace the filters and drivers named in a
// repository's settings. A merge driver is replaced by git's own merge, because an
// empty one would silently take our side.
func replacedDrivers(ctx context.Context, dir string) ([]setting, error) {
	out, err := run(ctx, Call{Dir: dir, Args: []string{"config", "--list", "-z", "--name-only"}}, quiet())
	if err != nil {
		return nil, err
	}
	var list []setting
	seen := map[string]bool{}
	for _, key := range strings.Split(string(out), "\x00") {
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if first < 0 || first == last || seen[key[:last]] {
			continue
		}
		name := key[:last]
		seen[name] = true
		switch strings.ToLower(key[:first]) {
		case "filter":
			list = append(list, setting{name + ".clean", ""}, setting{name + ".smudge", ""}, setting{name + ".process", ""}, setting{name + ".required", "false"})
		case "merge":
			list = append(list, setting{name + ".driver", ownMerge})
		case "diff":
			list = append(list, setting{name + ".command", ""}, setting{name + ".textconv", ""})
		}
	}
	return list, nil
}

// run runs git with settings that override all others. They are passed in the
// environment, where a name may contain any character.
func run(ctx context.Context, c Call, settings []setting) ([]byte, error) {
	path, err := exec.LookPath("git")
	if err != nil || !filepath.IsAbs(path) { // a relative path may be a program of the repository
		return nil, fika.Errorf(fika.NotFound, "git", "git is not installed")
	}
	cmd := exec.CommandContext(ctx, path, slices.Insert(slices.Clone(c.Args), 0, "--no-pager")...)
	if c.Script != "" {
		cmd = exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", c.Script, "sh"}, c.Args...)...)
	}
	cmd.Dir, cmd.WaitDelay = c.Dir, 5*time.Second
	cmd.Env = append(append(environment(), c.Env...), "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		n := strconv.Itoa(i)
		cmd.Env = append(cmd.Env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	out, said := &bounded{most: maxOutput}, &bounded{most: maxWords}
	cmd.Stdout, cmd.Stderr = out, said
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	if c.Prepare != nil {
		// A confined process ends with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := c.Prepare(cmd); err != nil {
			return nil, err
		}
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Setpgid = true
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
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
		return nil, fika.Errorf(fika.NotFound, "git", "%s is in no git repository", c.Dir)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = exited{exit.ExitCode(), text}
	}
	return out.Bytes(), fika.Wrap(fika.Failed, "git", err)
}

// environment returns the variables that git needs from ours, and those that say that
// nobody can be asked. It passes nothing that points git at another repository.
func environment() []string {
	env := []string{"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_MERGE_AUTOEDIT=no", "LC_ALL=C"}
	for _, name := range []string{
		"PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "TZ",
		"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL",
	} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// bounded keeps the first most bytes written to it.
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
