package tool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fika"
)

// WithTimeout ends each call of t after its Spec's Timeout, or after def when
// the Spec has none; 0 is no limit. A call that ran out of time is a Result
// with IsError, and Unknown when t is not pure.
func WithTimeout(t Tool, def time.Duration) Tool { return &timed{Tool: t, def: def} }

type timed struct {
	Tool
	def time.Duration
}

func (t *timed) Unwrap() Tool { return t.Tool }

func (t *timed) Call(ctx context.Context, c Call) (Result, error) {
	spec := t.Spec()
	d := spec.Timeout
	if d == 0 {
		d = t.def
	}
	if d <= 0 {
		return t.Tool.Call(ctx, c)
	}
	inner, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	r, err := t.Tool.Call(inner, c)
	if err != nil && ctx.Err() == nil && errors.Is(inner.Err(), context.DeadlineExceeded) {
		return Result{Text: fmt.Sprintf("%s was stopped after %s: it took too long", spec.Name, d), IsError: true,
			File: r.File, Spool: r.Spool, Unknown: spec.Effect != fika.Pure}, nil
	}
	return r, err
}

// WithLimit keeps the Text of every Result of t within l: valid UTF-8, no
// terminal escapes, head and tail of what is too long, the whole in a file.
func WithLimit(t Tool, l Limits) Tool { return &limited{Tool: t, limits: l} }

type limited struct {
	Tool
	limits Limits
}

func (t *limited) Unwrap() Tool { return t.Tool }

func (t *limited) Call(ctx context.Context, c Call) (Result, error) {
	r, err := t.Tool.Call(ctx, c)
	return Shorten(r, c.Step, t.limits), err
}

// Shorten is what [WithLimit] does to one result. name begins the name of the
// spool file; the request/n of a step is right.
func Shorten(r Result, name string, l Limits) Result {
	// What a tool shortened itself has a few words around the cut: leave those.
	l = l.orDefault()
	if len(r.Text) <= l.Head+l.Tail+slack {
		r.Text = Clean(r.Text)
		return r
	}
	o := NewOutput(name, l)
	_, _ = o.Write([]byte(r.Text)) // an Output never refuses
	got := o.Finish()
	r.Text = got.Text
	if r.Spool == "" {
		r.Spool = got.Spool
	}
	return r
}

// VerifierOf finds the [Verifier] of a tool through its decorators.
func VerifierOf(t Tool) (Verifier, bool) { return unwrapped[Verifier](t) }
