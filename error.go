package fika

import (
	"context"
	"errors"
	"fmt"
)

// Kind says what sort of trouble an [Error] is. The command line maps each
// kind to one exit code; nothing else about an error decides behaviour.
type Kind string

// The kinds, with the exit code the command line gives them.
const (
	Failed      Kind = "failed"      // 1: it was tried and did not work
	Invalid     Kind = "usage"       // 2: wrong flags, bad names, broken config
	NotFound    Kind = "not_found"   // 3: no such agent, chat, request …
	Locked      Kind = "locked"      // 4: somebody else holds it, or it is busy
	Provider    Kind = "provider"    // 5: the model provider failed
	Denied      Kind = "denied"      // 6: not permitted
	Detached    Kind = "detached"    // 7: you stopped waiting; the work goes on
	Limit       Kind = "limit"       // 8: a limit or budget ended it
	Interrupted Kind = "interrupted" // 130: cancelled by a person or a signal

	Conflict Kind = "conflict" // 1: it exists already, or with other content
	Storage  Kind = "storage"  // 1: the database or a disk refuses
	Lost     Kind = "lost"     // 4: the right to write has gone to another owner
)

// Error is the one error type that crosses package borders. Op names what was
// being done ("open store"), Msg says in lower case what is wrong and what to
// do, Err is the cause, if any.
type Error struct {
	Kind Kind
	Op   string
	Msg  string
	Err  error
}

// Error joins what is known: "op: message: cause".
func (e *Error) Error() string {
	s := e.Msg
	if e.Err != nil {
		if s != "" {
			s += ": "
		}
		s += e.Err.Error()
	}
	if e.Op != "" && s != "" {
		return e.Op + ": " + s
	}
	return e.Op + s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an [Error] without a cause.
func Errorf(kind Kind, op, format string, args ...any) error {
	return &Error{Kind: kind, Op: op, Msg: fmt.Sprintf(format, args...)}
}

// Wrap gives err a kind and an operation; nil stays nil. An error that already
// is an [Error] keeps its own kind when kind is empty.
func Wrap(kind Kind, op string, err error) error {
	if err == nil {
		return nil
	}
	if kind == "" {
		kind = KindOf(err)
	}
	return &Error{Kind: kind, Op: op, Err: err}
}

// KindOf classifies any error: the kind of the outermost [Error] in its chain,
// [Interrupted] for a cancelled context, else [Failed]. nil gives "".
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

// IsKind reports whether err is of one of the kinds.
func IsKind(err error, kinds ...Kind) bool {
	k := KindOf(err)
	for _, want := range kinds {
		if k == want && err != nil {
			return true
		}
	}
	return false
}
