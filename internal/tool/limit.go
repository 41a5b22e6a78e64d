package tool

import (
	"context"

	"fika/internal/safetext"
)

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
		r.Text = safetext.Plain(r.Text)
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
func VerifierOf(t Tool) (Verifier, bool) { return unwrappedAs[Verifier](t) }
