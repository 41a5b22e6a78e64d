package fika

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Kind classifies an [Error]. The command line maps each kind to one exit code; nothing
// else about an error decides behaviour.
type Kind string

// The kinds, with the exit codes that the command line gives them.
const (
	Failed      Kind = "failed"      // 1: it was tried and did not work
	Invalid     Kind = "usage"       // 2: wrong flags, bad names, broken configuration
	NotFound    Kind = "not_found"   // 3: there is no such agent, chat, request …
	Locked      Kind = "locked"      // 4: somebody else holds it, or it is busy
	Provider    Kind = "provider"    // 5: the model provider failed
	Denied      Kind = "denied"      // 6: not permitted
	Detached    Kind = "detached"    // 7: the caller stopped waiting; the work goes on
	Limit       Kind = "limit"       // 8: a limit or budget ended it
	Interrupted Kind = "interrupted" // 130: cancelled by a person or a signal

	Conflict Kind = "conflict" // 1: it already exists, or exists with other content
	Storage  Kind = "storage"  // 1: the database or a disk failed
	Lost     Kind = "lost"     // 4: another owner now has the right to write
)

// Error is the one error type that crosses package boundaries. Op names the operation
// ("open store"), Msg says in lower case what is wrong and what to do, and Err is the
// cause, if any. Hint is a command that helps, as it is typed.
type Error struct {
	Kind Kind
	Op   string
	Msg  string
	Err  error
	Hint string
}

// Error joins the parts that are set: "op: message: cause (hint)". The operation is left
// out where the message begins with its words.
func (e *Error) Error() string {
	s := e.Msg
	if e.Err != nil {
		if s != "" {
			s += ": "
		}
		s += e.Err.Error()
	}
	switch {
	case s == "":
		s = e.Op
	case e.Op != "" && !strings.HasPrefix(s, e.Op+" "):
		s = e.Op + ": " + s
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an [Error] without a cause.
func Errorf(kind Kind, op, format string, args ...any) error {
	return &Error{Kind: kind, Op: op, Msg: fmt.Sprintf(format, args...)}
}

// Wrap returns an [Error] of the given kind and operation with err as its cause, or nil
// if err is nil. If kind is empty, the kind of err is kept.
func Wrap(kind Kind, op string, err error) error {
	if err == nil {
		return nil
	}
	if kind == "" {
		kind = KindOf(err)
	}
	return &Error{Kind: kind, Op: op, Err: err}
}

// WithHint returns err with a command that helps, of the same kind; nil if err is nil, and err
// as it is if nothing helps.
func WithHint[C ~string](err error, command C) error {
	if err == nil || command == "" {
		return err
	}
	if e, is := err.(*Error); is && e.Hint == "" {
		hinted := *e
		hinted.Hint = string(command)
		return &hinted
	}
	return &Error{Kind: KindOf(err), Err: err, Hint: string(command)}
}

// HintOf returns the command that helps against an error, as the outermost [Error] in its
// chain that has one says; "" if none does.
func HintOf(err error) string {
	for e := (*Error)(nil); errors.As(err, &e); err = e.Err {
		if e.Hint != "" {
			return e.Hint
		}
	}
	return ""
}

// ReasonOf returns the message of an error, with what helps, and without the operation and
// the cause; all of the error's text if it is no [Error] with a message.
func ReasonOf(err error) string {
	e, is := err.(*Error)
	switch {
	case !is || e.Msg == "":
		return err.Error()
	case e.Hint != "":
		return e.Msg + " (" + e.Hint + ")"
	}
	return e.Msg
}

// KindOf classifies any error. It returns the kind of the outermost [Error] in its
// chain, [Interrupted] for a cancelled context, and [Failed] otherwise; for nil it
// returns "".
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return Interrupted
	default:
		return Failed
	}
}

// IsKind reports whether err is of one of the given kinds. It is false for a nil error.
func IsKind(err error, kinds ...Kind) bool {
	k := KindOf(err)
	for _, want := range kinds {
		if k == want && err != nil {
			return true
		}
	}
	return false
}
