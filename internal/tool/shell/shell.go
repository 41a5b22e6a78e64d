package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"fika"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/proc"
)

const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 2 * time.Hour
	maxCommand     = 96 << 10 // one argument of execve can hold 128 KiB
)

// Options configures the tool; the zero value is ready to use.
type Options struct {
	Limits  tool.Limits
	Timeout time.Duration // for a command without one; 0: 120 s
	// Environ is the environment to choose from; nil: fika's own.
	Environ []string
	// Env is added unchanged, as "NAME=value": the FIKA_* variables of an agent.
	Env []string
	// Children of this process, among which commands run; may be nil.
	Children *process.Children
	// Jobs starts commands in the background; nil: here they cannot be.
	Jobs Jobs
}

// Jobs runs commands that outlast their calls.
type Jobs interface {
	// Start starts a command for the call of a turn, and returns once it runs or has
	// ended. The command is ended after the time given at the latest; 0: after its own.
	Start(ctx context.Context, c tool.Call, cmd proc.Cmd, about About) (tool.Result, error)
}

// About says what a command in the background is.
type About struct {
	Command     string
	Description string        // for people; may be empty
	Longest     time.Duration // it is ended then; 0: as late as any other
}

// Tool is the bash tool.
type Tool struct {
	opts  Options
	shell string
	env   []string
}

var _ tool.Tool = (*Tool)(nil)

// New returns the bash tool. It runs bash, or sh if there is no bash.
func New(o Options) *Tool {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	t := &Tool{opts: o, shell: "/bin/sh"}
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			t.shell = path
			break
		}
	}
	t.env = append(VisibleEnvironment(o.Environ), o.Env...)
	return t
}

// VisibleEnvironment returns the part of environ that any command may see: PATH, HOME,
// LANG, LC_*, TERM, TMPDIR, USER, LOGNAME, SHELL, TZ and FIKA_*, except secrets and the
// mark of a step that this process itself runs for.
func VisibleEnvironment(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if ok && harmless(name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func harmless(name string) bool {
	switch name {
	case "PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ":
		return true
	case process.Mark:
		return false
	}
	if strings.HasPrefix(name, "FIKA_") {
		for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "URL"} {
			if strings.Contains(name, word) {
				return false
			}
		}
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// Spec implements [tool.Tool].
func (t *Tool) Spec() tool.Spec {
	return tool.Spec{
		Name:        "bash",
		Description: "Run a shell command; what it leaves running is ended, but for background.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},` +
			`"timeout_seconds":{"type":"integer"},"background":{"type":"boolean"},"hosts":{"type":"string"},"description":{"type":"string"}},"required":["command"]}`),
		Checked: true, ByName: true, Effect: fika.Unsafe,
		Timeout: maxTimeout + time.Minute, // the command's own timeout comes first
	}
}

type args struct {
	Command     string  `json:"command"`
	Timeout     float64 `json:"timeout_seconds"`
	Background  bool    `json:"background"`
	Description string  `json:"description"` // for people who watch
	// Hosts are the names of those that the command has to reach, with spaces between. What
	// becomes of them is decided before the call is made.
	Hosts string `json:"hosts"`
}

// Call implements [tool.Tool].
func (t *Tool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var a args
	if err := tool.Decode(t.Spec(), c, &a); err != nil {
		return tool.Refusal(err), nil
	}
	timeout, err := t.check(a)
	if err != nil {
		return tool.Refusal(err), nil
	}
	cmd := proc.Cmd{Path: t.shell, Args: []string{"-c", a.Command}, Dir: c.Workspace, Env: t.env, Children: t.opts.Children}
	if a.Background {
		return t.start(ctx, c, cmd, a)
	}
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd.Step, cmd.Stdin, cmd.Limits, cmd.Progress, cmd.Started, cmd.Confine = c.Step, c.Stdin, t.opts.Limits, c.Progress, c.Started, c.Confine
	exit, err := proc.Run(inner, cmd)
	r := tool.Result{Text: exit.Output.Text, Spool: exit.Output.Spool}
	if c.Confine != nil {
		r.Tier = c.Confine.Tier()
	}
	switch {
	case c.Confine == nil || c.Confine.Network():
		r.Taint = "bash with the network"
	case len(exit.Traffic.Reached) > 0:
		r.Taint = "bash with " + exit.Traffic.Reached[0]
	}
	if ctx.Err() != nil && err != nil {
		return r.WithLines(exit.Undone), err
	}
	out := t.outcome(r, exit, err, timeout)
	switch {
	case len(exit.Traffic.Refused) > 0:
		out = out.WithLines([]string{refusedLine(exit.Traffic.Refused)})
	case err == nil && exit.Code != 0, errors.Is(err, context.DeadlineExceeded):
		out = out.WithLines(explain(r.Text, c.Workspace, exit.Withheld))
		out.Offline = exit.Withheld.Network && wantedNetwork(r.Text)
	case err == nil && exit.Withheld.Network && wantedNetwork(r.Text):
		// A script may go on after a failure, and end with success.
		out.Text = strings.TrimSuffix(out.Text, "\n") + "\n" + offlineLine(exit.Withheld)
	}
	return out.WithLines(exit.Undone), nil
}

// start starts a command in the background.
func (t *Tool) start(ctx context.Context, c tool.Call, cmd proc.Cmd, a args) (tool.Result, error) {
	if t.opts.Jobs == nil {
		return tool.Errorf("not started: commands run in the background only for an agent with a process of its own on this machine; run it without background"), nil
	}
	return t.opts.Jobs.Start(ctx, c, cmd, About{Command: a.Command, Description: a.Description, Longest: time.Duration(a.Timeout * float64(time.Second))})
}

// outcome adds to the result how the command ended.
func (t *Tool) outcome(r tool.Result, exit proc.Exit, err error, timeout time.Duration) tool.Result {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failed(r, fmt.Sprintf("stopped after %s: it took too long (timeout_seconds)", timeout))
	case fika.IsKind(err, fika.Denied):
		return tool.Refusal(err)
	case err != nil:
		return tool.Errorf(err.Error())
	case exit.Signal != "":
		return failed(r, "ended by signal: "+exit.Signal)
	case exit.Code != 0:
		return failed(r, fmt.Sprintf("exit status %d", exit.Code))
	case r.Text == "":
		r.Text = "(no output)"
	}
	return r
}

func (t *Tool) check(a args) (time.Duration, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return 0, fika.Errorf(fika.Invalid, "bash", "command is empty")
	case strings.ContainsRune(a.Command, 0):
		return 0, fika.Errorf(fika.Invalid, "bash", "command has a zero byte in it")
	case len(a.Command) > maxCommand:
		return 0, fika.Errorf(fika.Invalid, "bash", "command has %d bytes, %d is the most: write a script with create and run it", len(a.Command), maxCommand)
	case a.Timeout < 0:
		return 0, fika.Errorf(fika.Invalid, "bash", "timeout_seconds must be more than 0")
	case a.Timeout == 0:
		return t.opts.Timeout, nil
	}
	return time.Duration(min(a.Timeout, maxTimeout.Seconds()) * float64(time.Second)), nil
}

// failed adds an error after the output, where it is read last.
func failed(r tool.Result, what string) tool.Result { return r.WithLines([]string{what}) }
