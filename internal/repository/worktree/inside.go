package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"fika"
	"fika/internal/repository/git"
	"fika/internal/tool"
)

// patience bounds how long git works in an agent's tree: what is there may have been made
// to keep it busy.
const patience = 60 * time.Second

// inside runs a shell script in the tree, confined as the agent's commands are: git obeys
// what an agent has planted there.
func (t Tree) inside(ctx context.Context, script string, args ...string) (string, error) {
	if t.Confine == nil {
		return "", fika.Errorf(fika.Denied, "worktree", "nothing confines git in %s", t.Root)
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var confined tool.Confined
	defer func() { confined.Ended() }()
	out, err := git.RunCall(ctx, git.Call{Dir: t.Root, Script: script, Args: args, Env: t.IdentityEnv(), Prepare: func(cmd *exec.Cmd) (err error) {
		if confined, err = t.Confine.Confine(cmd.Path, cmd.Args[1:]); err != nil {
			return err
		}
		cmd.Path, cmd.Args = confined.Path, append([]string{confined.Path}, confined.Args...)
		cmd.Env, cmd.ExtraFiles = append(cmd.Env, confined.Env...), confined.Files
		if confined.User != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: confined.User}
		}
		return nil
	}})
	return strings.TrimSpace(string(out)), err
}

// Shell starts a shell for a person in the tree, confined as the agent's commands are,
// and waits for its end. ok reports that it ended with status 0.
func (t Tree) Shell(ctx context.Context, in io.Reader, out, errs io.Writer) (ok bool, err error) {
	if err := t.check(ctx); err != nil {
		return false, err
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		shell = "/bin/sh"
	}
	confined, err := t.Confine.Confine(shell, nil)
	if err != nil {
		return false, err
	}
	runtime.LockOSThread() // a confined process ends with the thread that started it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, confined.Path, confined.Args...)
	cmd.Dir, cmd.ExtraFiles = t.Root, confined.Files
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	for _, name := range []string{"PATH", "HOME", "TERM", "LANG", "LC_ALL", "USER", "LOGNAME"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(append(cmd.Env, t.IdentityEnv()...), confined.Env...)
	if confined.User != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: confined.User}
	}
	err = cmd.Run()
	for _, line := range confined.Ended() {
		fmt.Fprintln(errs, line)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, fika.Wrap(fika.Failed, "shell", err)
}

// fetch brings commits of the tree into the person's repository: the program that reads
// the tree is confined, the one that writes runs no hook and checks every object.
func (t Tree) fetch(ctx context.Context, refspecs ...string) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	confined, err := t.Confine.Confine("/bin/sh", []string{"-c", `exec git upload-pack --timeout=60 "$1"`, "sh", t.Root})
	if err != nil {
		return err
	}
	defer func() { confined.Ended() }()
	command := []string{"env"}
	for _, word := range append(append(confined.Env, confined.Path), confined.Args...) {
		command = append(command, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	args := []string{
		"-c", "protocol.file.allow=always", "-c", "fetch.fsckObjects=true", "-c", "transfer.fsckObjects=true", "-c", "fetch.writeCommitGraph=false", "-c", "fetch.unpackLimit=1000",
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--no-show-forced-updates", "--prune",
		"--upload-pack=" + strings.Join(command, " "), "--", t.Root,
	}
	_, err = git.RunCall(ctx, git.Call{Dir: t.Project, Args: append(args, refspecs...), Prepare: func(cmd *exec.Cmd) error {
		cmd.ExtraFiles = confined.Files
		return nil
	}})
	if err != nil {
		return &fika.Error{Kind: fika.KindOf(err), Op: "worktree", Msg: "the commits of " + t.whose() + " cannot be read", Err: err}
	}
	return nil
}
