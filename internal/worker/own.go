package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"fika/internal/app"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/proc"
)

// own runs programs of the person's in a folder. They see the environment of the hub but for
// what is fika's own, and nobody who could be asked for a password. mark names their
// processes, which do not outlive a call.
type own struct {
	app  *app.App
	dir  string
	mark string
}

// CommandForHost runs a command of the person's that starts or stops the host of a name, with
// the name as FIKA_HOST, in a home. It returns why that has failed, with the last words of
// the command; empty: it has not.
func CommandForHost(ctx context.Context, a *app.App, root, home, host, command string, longest time.Duration) (why string, err error) {
	o := own{a, root, home + "-host/" + host}
	said, why, err := o.shell(ctx, longest, append(o.environ(), "FIKA_HOST="+host), command)
	if why != "" {
		why += ": " + lastWords(said)
	}
	return why, err
}

// shell runs a command with the shell and returns what it printed, and why it has failed;
// empty: it has not.
func (o own) shell(ctx context.Context, longest time.Duration, env []string, command string) (said, why string, err error) {
	said, code, over, err := o.run(ctx, longest, env, "/bin/sh", "-c", command)
	switch {
	case err != nil:
	case over:
		why = fmt.Sprintf("did not end within %s", longest)
	case code != 0:
		why = fmt.Sprintf("has failed (exit status %d)", code)
	}
	return said, why, err
}

// run runs a program and returns what it printed. over reports whether it was ended because
// it took too long.
func (o own) run(ctx context.Context, longest time.Duration, env []string, path string, args ...string) (said string, code int, over bool, err error) {
	process.EndMarked(o.mark) // what a process that was killed has left
	bounded, end := context.WithTimeout(ctx, longest)
	defer end()
	e, err := proc.Run(bounded, proc.Cmd{
		Path: path, Args: args, Dir: o.dir, Env: env, Step: o.mark, Children: o.app.Children(),
		Limits: tool.Limits{Head: 4 << 10, Tail: 24 << 10, SpoolMax: 1, Keys: o.app.Secrets()},
	})
	said = withoutLogin(e.Output.Text)
	if err != nil && ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return said, 0, true, nil
	}
	return said, e.Code, false, err
}

// withoutLogin takes the name and the password out of the addresses in a text.
func withoutLogin(text string) string {
	parts := strings.Split(text, "://")
	for i, rest := range parts[1:] {
		end := strings.IndexAny(rest, "/@ \t\n'\"")
		if end >= 0 && rest[end] == '@' {
			parts[i+1] = rest[end+1:]
		}
	}
	return strings.Join(parts, "://")
}

// environ returns the environment of the person's own programs. It points git at no other
// repository, and names no program that could open a window to ask for a password.
func (o own) environ() []string {
	env := []string{"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never", "LC_ALL=C"}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
			"GIT_TERMINAL_PROMPT", "GIT_ASKPASS", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GCM_INTERACTIVE", "LC_ALL", process.Mark:
			continue
		}
		if !strings.HasPrefix(name, "FIKA_") {
			env = append(env, kv)
		}
	}
	return env
}
