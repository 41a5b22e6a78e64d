package session

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"time"

	"fika"
	"fika/internal/cli/command"
)

// maxEdited bounds what an editor may make of a line, in bytes.
const maxEdited = 8 << 20

// editorOf returns what has the person change a text in their own editor, $VISUAL or $EDITOR,
// else vi. The text is a file in dir meanwhile, which is removed.
func editorOf(env *command.Env, dir string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, text string) (string, error) { return editIn(ctx, env, dir, text) }
}

func editIn(ctx context.Context, env *command.Env, dir, text string) (string, error) {
	const op = "edit"
	f, err := os.CreateTemp(dir, "line-*.md")
	if err != nil {
		return "", fika.Wrap(fika.Storage, op, err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return "", fika.Wrap(fika.Storage, op, err)
	}
	editor := cmp.Or(env.Getenv("VISUAL"), env.Getenv("EDITOR"), "vi")
	// As git does, the variable is a command for the shell: it may have arguments.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$@"`, "sh", f.Name())
	cmd.Dir, cmd.WaitDelay = env.App().Dir(), time.Second
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", fika.Wrap(fika.Failed, op, err)
	}
	defer tty.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Run(); err != nil {
		return "", fika.Errorf(fika.Failed, op, "%s: %v", editor, err)
	}
	data, err := os.ReadFile(f.Name())
	if err == nil && len(data) > maxEdited {
		return "", fika.Errorf(fika.Invalid, op, "the text is longer than %d MiB", maxEdited>>20)
	}
	return string(data), fika.Wrap(fika.Storage, op, err)
}
