package retry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"fika/internal/llm"
)

// WithoutRefused returns m for providers that may not know all that a call can hold: the
// schema of its answer, and documents and pictures in the results of tools. A call that is
// refused is made again without the first of these that it has, then without the next; if that
// works, so are later ones from the start. A result says so in place of what it has lost. What
// a person sends is not left out.
func WithoutRefused(m llm.Model) llm.Model {
	return &sparing{inner: m, parts: []*part{
		{drop: func(r llm.Request) (llm.Request, bool) {
			had := len(r.Schema) > 0
			r.Schema = nil
			return r, had
		}},
		{drop: func(r llm.Request) (llm.Request, bool) { return withoutImages(r, "document", isDocument) }},
		{drop: func(r llm.Request) (llm.Request, bool) {
			return withoutImages(r, "picture", func(i llm.Image) bool { return !isDocument(i) })
		}},
	}}
}

type sparing struct {
	inner llm.Model
	parts []*part
}

// part is something that a call can do without.
type part struct {
	drop    func(llm.Request) (without llm.Request, had bool)
	refused atomic.Bool
}

// Generate implements [llm.Model].
func (m *sparing) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	for _, p := range m.parts {
		if p.refused.Load() {
			r, _ = p.drop(r)
		}
	}
	res, err := m.inner.Generate(ctx, r, emit)
	for _, p := range m.parts {
		if err == nil || !mayRefuse(err) {
			return res, err
		}
		without, had := p.drop(r)
		if !had {
			continue
		}
		r = without
		wasted := res.Wasted.Add(res.Usage)
		if res, err = m.inner.Generate(ctx, r, emit); err == nil {
			p.refused.Store(true)
		}
		res.Wasted = res.Wasted.Add(wasted)
	}
	return res, err
}

// mayRefuse reports whether an error may mean that the provider does not take a part of the
// call: it says that the call itself is wrong. llama-server refuses pictures with a 500.
func mayRefuse(err error) bool {
	var p *llm.ProviderError
	if !errors.As(err, &p) || p.Visible || llm.IsTooLong(err) {
		return false
	}
	switch p.Status {
	case 400, 404, 415, 422, 501:
		return true
	}
	return p.Status == 500 && strings.Contains(p.Message, "image input")
}

func isDocument(i llm.Image) bool { return i.MIME == "application/pdf" }

// withoutImages returns a request without some of the pictures and documents in results, and
// whether it had any.
func withoutImages(r llm.Request, what string, drop func(llm.Image) bool) (llm.Request, bool) {
	had := false
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != llm.ToolRole {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(m.Images), drop)
		if n := len(m.Images) - len(left); n > 0 {
			had, m.Images = true, left
			m.Text += fmt.Sprintf("\n[not shown, because this model takes no %ss: %d %s%s]", what, n, what, plural(n))
		}
	}
	return r, had
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
