package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"fika/internal/cli/command"
	"fika/internal/term"
)

// Main runs one command line and returns its exit code.
func Main(args []string, s *term.Streams, getenv func(string) string) int {
	e := command.New(s, getenv)
	return execute(e, args)
}

func execute(e *command.Env, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	// The second signal ends the process the usual way, but for a hangup: a
	// terminal that dies sends it twice, and there are things to put back. The
	// usual way of SIGQUIT is a trace of pages, which tells a person nothing.
	context.AfterFunc(ctx, func() {
		stop()
		signal.Ignore(syscall.SIGHUP, syscall.SIGQUIT)
	})
	if e.InTTY {
		e.Keyboard = term.ReadUntil(ctx, e.In)
	}
	args = seedSpellings(append([]string{}, args...)) // nil would be the arguments of the process
	root := newRoot(e, args...)
	root.SetArgs(args)
	root.SetIn(e.In)
	root.SetOut(e.Out) // a help text is an answer
	root.SetErr(e.Err)
	err := root.ExecuteContext(ctx)
	sayUpgraded(e)
	if e.Opened != nil {
		err = errors.Join(err, e.Opened.Close())
	}
	status := e.ExitCode(e.CheckAnswered(err))
	if status != 0 {
		e.KeepTyped()
	}
	return status
}

// sayUpgraded tells, once, what is different in a home of an older fika.
func sayUpgraded(e *command.Env) {
	if e.Opened == nil {
		return
	}
	notes := e.Opened.UpgradeNotes()
	if len(notes) == 0 {
		return
	}
	e.Say("this home was made by an older fika; what is different now:")
	for _, n := range notes {
		e.Say("  - %s", n)
	}
}
