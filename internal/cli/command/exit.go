package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fika"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/system/term"
)

// Silent is an error that the person has been told already; only its kind counts.
type Silent struct{ Kind fika.Kind }

// Error returns "", because the person has been told.
func (s Silent) Error() string { return "" }

// ExitCode prints an error once and returns the exit code of its kind.
func (e *Env) ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var quiet Silent
	if errors.As(err, &quiet) {
		return ExitStatus(quiet.Kind)
	}
	e.Complain(err)
	return ExitStatus(ErrorKind(err))
}

// ErrorKind returns the kind of an error that determines the exit status.
func ErrorKind(err error) fika.Kind {
	switch {
	case errors.Is(err, context.Canceled):
		return fika.Interrupted
	case service.IsBusy(err):
		return fika.Locked
	}
	return fika.KindOf(err)
}

// Complain prints an error for the person: what is wrong, and on a line of its own the
// command that helps, if the error has one.
func (e *Env) Complain(err error) {
	hint := fika.HintOf(err)
	text := strings.TrimSuffix(ErrorText(err), " ("+hint+")")
	fmt.Fprintln(e.Err, e.FoldedText(e.ErrStyle().Red("fika:")+" "+term.Clean(config.WithoutSecrets(text))))
	if hint != "" {
		fmt.Fprintln(e.Err, "hint: "+term.Clean(hint))
	}
}

// ErrorText returns the text of an error for a person. What a person can fix by asking
// otherwise is said without the names of inner operations, but for those that name what they
// are about.
func ErrorText(err error) string {
	if joined, is := err.(interface{ Unwrap() []error }); is && len(joined.Unwrap()) == 1 {
		return ErrorText(joined.Unwrap()[0])
	}
	if m, is := err.(*config.ModelError); is {
		return ErrorText(m.Err)
	}
	e, is := err.(*fika.Error)
	if !is {
		return err.Error()
	}
	op := e.Op
	switch e.Kind {
	case fika.Invalid, fika.NotFound, fika.Conflict, fika.Denied, fika.Limit, fika.Locked:
		if !strings.HasPrefix(op, "plugin ") && !strings.HasPrefix(op, "hook ") { // those say which one
			op = ""
		}
	}
	var parts []string
	if e.Msg != "" {
		parts = append(parts, e.Msg)
	}
	if e.Err != nil {
		parts = append(parts, ErrorText(e.Err))
	}
	return (&fika.Error{Op: op, Msg: strings.Join(parts, ": "), Hint: e.Hint}).Error()
}

// ExitStatus returns the exit code of a kind of error, as the help lists them.
func ExitStatus(k fika.Kind) int {
	switch k {
	case "":
		return 0
	case fika.Invalid:
		return 2
	case fika.NotFound:
		return 3
	case fika.Locked, fika.Lost:
		return 4
	case fika.Provider:
		return 5
	case fika.Denied:
		return 6
	case fika.Detached:
		return 7
	case fika.Limit:
		return 8
	case fika.Interrupted:
		return 130
	default:
		return 1
	}
}

// ExitHelp is the section of the help about exit statuses.
const ExitHelp = `Exit status:
  0 done             1 failed           2 usage or config      3 not found
  4 locked or busy   5 model provider   6 denied               8 limit or budget
  130 interrupted    7 you stopped waiting, and the work continues`
