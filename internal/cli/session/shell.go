package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"fika"
	"fika/internal/cli/input"
	"fika/internal/system/term"
)

// shell runs what the person types after an exclamation mark, with their own rights. It is
// safe for concurrent use.
type shell struct {
	mu    sync.Mutex
	stop  context.CancelFunc // ends the command that runs; nil: none does
	along string             // what goes along with the next message
}

// interrupt ends the command that runs; false: none does.
func (s *shell) interrupt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return false
	}
	s.stop()
	return true
}

// takeAlong returns what goes along with the message that is sent now.
func (s *shell) takeAlong() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.along
	s.along = ""
	return text
}

// maxAlong bounds what a message takes along of a command's output, in bytes.
const maxAlong = 64 << 10

// runShell carries out !COMMAND and !!COMMAND: it runs the command in the person's shell
// until it ends or ctrl-c is pressed, and shows what it prints. With two marks, the
// person's next message also has the command and its output.
func (v *visit) runShell(ctx context.Context, text string) {
	command, along := strings.CutPrefix(text[1:], "!")
	if command = strings.TrimSpace(command); command == "" {
		v.screen.Note("— !COMMAND runs it in your shell; !!COMMAND also gives its output along with your next message")
		return
	}
	program := v.Getenv("SHELL")
	if program == "" {
		program = "/bin/sh"
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	v.shell.mu.Lock()
	v.shell.stop = stop
	v.shell.mu.Unlock()
	cmd := exec.CommandContext(ctx, program, "-c", command)
	cmd.Dir = v.App().Dir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	out := &shellOutput{show: v.screen.Print}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	out.end()
	v.shell.mu.Lock()
	v.shell.stop = nil
	v.shell.mu.Unlock()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		v.screen.Note("— ended by ctrl-c")
	case errors.As(err, &exit):
		v.screen.Note("— " + exit.ProcessState.String())
	case err != nil:
		v.screen.Note("— " + err.Error())
	}
	if !along {
		return
	}
	fence := "```"
	for strings.Contains(out.kept.String(), fence) {
		fence += "`"
	}
	v.shell.mu.Lock()
	v.shell.along += fmt.Sprintf("\n\n%s\n$ %s\n%s\n%s", fence, command, strings.TrimRight(out.kept.String(), "\n"), fence)
	v.shell.mu.Unlock()
	v.screen.Note("— this goes along with your next message")
}

// shellOutput shows the lines that a command prints, and keeps the beginning of them.
type shellOutput struct {
	show func(string)
	rest []byte
	kept bytes.Buffer
}

// Write shows whole lines. It never fails.
func (o *shellOutput) Write(p []byte) (int, error) {
	if room := maxAlong - o.kept.Len(); room > 0 {
		o.kept.WriteString(term.Clean(string(p[:min(len(p), room)])))
	}
	o.rest = append(o.rest, p...)
	if at := bytes.LastIndexByte(o.rest, '\n'); at >= 0 || len(o.rest) > maxAlong {
		if at < 0 {
			at = len(o.rest) - 1
		}
		o.show(term.Clean(string(o.rest[:at+1])))
		o.rest = append([]byte(nil), o.rest[at+1:]...)
	}
	return len(p), nil
}

// end shows an unfinished line.
func (o *shellOutput) end() {
	if len(o.rest) > 0 {
		o.show(term.Clean(string(o.rest)))
	}
}

// showList shows what fika lists of a noun, and how more comes.
func showList(noun, more string) func(*visit, context.Context, input.Line) error {
	return func(v *visit, ctx context.Context, _ input.Line) error {
		if err := v.runOwn(ctx, noun, "list"); err != nil {
			return err
		}
		v.screen.Note("— " + more)
		return nil
	}
}

// showOne shows what fika lists of a noun or, with a number, one of it. Words that are among
// also are commands of the noun.
func showOne(noun string, also ...string) func(*visit, context.Context, input.Line) error {
	return func(v *visit, ctx context.Context, line input.Line) error {
		words := strings.Fields(line.Text)[1:]
		switch {
		case len(words) == 0:
			return v.runOwn(ctx, noun, "list")
		case len(words) == 1 && slices.Contains(also, words[0]):
			return v.runOwn(ctx, noun, words[0])
		case len(words) == 1 && strings.Trim(words[0], "#0123456789") == "":
			return v.runOwn(ctx, noun, "show", words[0])
		}
		return fika.Errorf(fika.Invalid, "", "/%s takes the number of one, or nothing: fika %s --help has the rest", noun, noun)
	}
}

// runOwn runs a command of fika and shows what it prints.
func (v *visit) runOwn(ctx context.Context, words ...string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	at, err := v.App().Standing()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, own, append([]string{"--home", at.Home}, words...)...)
	cmd.Dir = v.App().Dir()
	out, err := cmd.CombinedOutput()
	if text := strings.TrimSpace(term.Clean(string(out))); text != "" {
		v.screen.Print(term.FoldLines(text, v.screen.Width()-1))
	}
	return err
}
