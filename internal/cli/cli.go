package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"fika/internal/cli/command"
	"fika/internal/system/term"
)

// Main runs one command line and returns its exit code.
func Main(args []string, s *term.Streams, getenv func(string) string) int {
	e := command.New(s, getenv)
	e.Version = builtVersion()
	return execute(e, args)
}

func execute(e *command.Env, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	// The second Ctrl-C has its default effect and ends the process. A hangup and SIGTERM
	// do not: a terminal that dies sends the one twice, timeout(1) the other, to the process
	// and to its group, and there is work to put in order. The default effect of SIGQUIT is
	// pages of stack traces, which tell a person nothing.
	context.AfterFunc(ctx, func() {
		stop()
		signal.Ignore(syscall.SIGHUP, syscall.SIGQUIT)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM) // ignored here, and not by programs that are started
	})
	if e.InTTY {
		e.Keyboard = term.ReadUntil(ctx, e.In)
	}
	args = seedSpellings(append([]string{}, args...)) // for nil, cobra would use the arguments of the process
	root := newRoot(e, args...)
	root.SetArgs(args)
	root.SetIn(e.In)
	root.SetOut(e.Out) // help text is an answer
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

// sayUpgraded tells the person, once, what has changed in a home made by an older fika.
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
