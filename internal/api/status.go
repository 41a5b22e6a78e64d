package api

import (
	"context"
	"errors"
	"time"
)

// Status says how something stands, as a code with its arguments.
type Status struct {
	Code        Code              `json:"code"`
	Args        map[string]string `json:"args,omitempty"`
	Parts       []Status          `json:"parts,omitempty"`        // what it comes from or consists of
	Until       time.Time         `json:"until,omitzero"`         // when it changes by itself, if known
	NeedsPerson bool              `json:"needs_person,omitempty"` // it does not change by itself
	Help        []Help            `json:"help,omitempty"`         // what helps, the best first
}

// Help is a verb that helps. The command line writes a command, a page draws a button.
type Help struct {
	Verb   string `json:"verb"` // the name of a [Verb]
	Object Object `json:"object"`
	How    string `json:"how,omitempty"` // of a verb with several ways: now
}

// ErrorCode classifies an [Error]. A door maps each code to its own numbers.
type ErrorCode string

// The codes of errors.
const (
	Invalid         ErrorCode = "invalid"         // malformed: repeating it cannot help
	Unauthenticated ErrorCode = "unauthenticated" // nobody asks
	Denied          ErrorCode = "denied"
	NotFound        ErrorCode = "not_found"
	Conflict        ErrorCode = "conflict"   // it exists already, or has changed meanwhile
	KeyReused       ErrorCode = "key_reused" // the key belongs to another write
	Limit           ErrorCode = "limit"
	Busy            ErrorCode = "busy"
	Locked          ErrorCode = "locked"
	Reset           ErrorCode = "reset" // the cursor is unknown here
	TooLarge        ErrorCode = "too_large"
	ProviderFailed  ErrorCode = "provider"    // the model provider failed
	Unavailable     ErrorCode = "unavailable" // a part is not reachable: try again
	Storage         ErrorCode = "storage"     // the database or a disk failed
	Interrupted     ErrorCode = "interrupted"
	Internal        ErrorCode = "internal"
)

// Error is what every call fails with.
type Error struct {
	Code  ErrorCode     `json:"code"`
	Field string        `json:"field,omitempty"` // of an invalid value: its name
	Why   Status        `json:"why"`
	Retry time.Duration `json:"retry,omitempty"` // in nanoseconds; 0: not known
	// Detail is the message of the cause, for a log. Nothing compares it.
	Detail string `json:"detail,omitempty"`
	Err    error  `json:"-"`
}

// Error joins the codes and the detail: "denied: agent.not_callable: DETAIL".
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Why.Code != "" {
		s += ": " + string(e.Why.Code)
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf classifies any error: the code of the outermost [Error] in its chain,
// [Interrupted] for an ended context, else [Internal]. For nil it returns "".
func CodeOf(err error) ErrorCode {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Interrupted
	}
	return Internal
}
