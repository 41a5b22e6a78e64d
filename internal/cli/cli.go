package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/spelling"
	"fika/internal/term"
)

// env is what every command gets: the streams, the environment, and an app
// whose parts are made when they are asked for.
type env struct {
	*term.Streams
	getenv func(string) string
	clock  func() time.Time // nil: the usual one
	app    *app.App
	home   string // --home
	typed  string // what a person has typed and no request holds yet

	looks    bool // the command writes nothing
	lastGood bool // the command works with the settings that could be read last, too
}

// Main runs one command line and returns its exit code.
func Main(args []string, s *term.Streams, getenv func(string) string) int {
	e := newEnv(s, getenv)
	return e.main(args)
}

// newEnv returns what a command gets. Its stdout remembers whether all of the
// answer was written.
func newEnv(s *term.Streams, getenv func(string) string) *env {
	checked := *s
	checked.Out = term.NewAnswer(s.Out)
	return &env{Streams: &checked, getenv: getenv}
}

func (e *env) main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	// The second signal ends the process the usual way, but for a hangup: a
	// terminal that dies sends it twice, and there are things to put back. The
	// usual way of SIGQUIT is a trace of pages, which tells a person nothing.
	context.AfterFunc(ctx, func() {
		stop()
		signal.Ignore(syscall.SIGHUP, syscall.SIGQUIT)
	})
	root := newRoot(e)
	root.SetArgs(seedSpellings(args))
	root.SetIn(e.In)
	root.SetOut(e.Out) // a help text is an answer
	root.SetErr(e.Err)
	err := root.ExecuteContext(ctx)
	e.sayUpgraded()
	if e.app != nil {
		err = errors.Join(err, e.app.Close())
	}
	status := e.exit(e.answered(err))
	if status != 0 {
		e.keepTyped()
	}
	return status
}

// sayUpgraded tells, once, what is different in a home of an older fika.
func (e *env) sayUpgraded() {
	if e.app == nil {
		return
	}
	notes := e.app.UpgradeNotes()
	if len(notes) == 0 {
		return
	}
	e.say("this home was made by an older fika; what is different now:")
	for _, n := range notes {
		e.say("  - %s", n)
	}
}

// open makes the app of this invocation; flags are known by now.
func (e *env) open() *app.App {
	if e.app == nil {
		e.app = app.New(app.Options{Root: e.home, Getenv: e.getenv, Now: e.clock, LastGood: e.lastGood, Looks: e.looks, Warn: e.warn})
	}
	return e.app
}

// now is the time by which rows are stamped.
func (e *env) now() time.Time { return e.open().Now() }

// say writes a line for the person.
func (e *env) say(format string, args ...any) {
	fmt.Fprintln(e.Err, term.CleanStyled(fmt.Sprintf(format, args...)))
}

// warn writes a warning for the person.
func (e *env) warn(text string) {
	fmt.Fprintln(e.Err, e.ErrStyle().Yellow("warning:")+" "+term.Clean(config.WithoutSecrets(text)))
}

// usageError makes an error of the command line itself.
func usageError(format string, args ...any) error {
	return fika.Errorf(fika.Invalid, "", format, args...)
}

// exactly is cobra's argument check in fika's words; names are those of the
// arguments, as in "AGENT PROMPT".
func exactly(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError("%s takes %s, but got %s; see %s --help", cmd.CommandPath(), names, counted(len(args)), cmd.CommandPath())
		}
		return nil
	}
}

// atLeastOne is the check of a command that takes one or more of something.
func atLeastOne(names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError("%s takes %s; see %s --help", cmd.CommandPath(), names, cmd.CommandPath())
		}
		return nil
	}
}

func counted(n int) string {
	switch n {
	case 0:
		return "none"
	case 1:
		return "one"
	}
	return fmt.Sprint(n)
}

// group is a command that only holds others.
func group(use, short, long, example string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(subs...)
	return c
}

func unknownCommand(cmd *cobra.Command, word string) error {
	msg := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), word)
	if near := spelling.Nearest(word, commandNames(cmd)); near != "" {
		msg += fmt.Sprintf("; did you mean %s %s?", cmd.CommandPath(), near)
	} else {
		msg += fmt.Sprintf("; %s --help lists them", cmd.CommandPath())
	}
	return usageError("%s", msg)
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
			names = append(names, c.Aliases...)
		}
	}
	return names
}
