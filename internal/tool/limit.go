package tool

import (
	"context"

	"fika/internal/text/safetext"
)

// WithLimit returns t with the Text of every Result kept within l: valid UTF-8, no
// terminal escapes, only head and tail of a long text, the whole of which is in a file.
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

// Shorten does to one result what [WithLimit] does. The name of the spool file begins
// with name; the request/n of a step is suitable.
func Shorten(r Result, name string, l Limits) Result {
	// A tool that shortened its own text added a few words around the cut: leave those.
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

// VerifierOf returns the [Verifier] of a tool, looking through its decorators.
func VerifierOf(t Tool) (Verifier, bool) { return unwrappedAs[Verifier](t) }
