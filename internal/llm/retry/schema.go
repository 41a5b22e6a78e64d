package retry

import (
	"context"
	"errors"
	"sync/atomic"

	"fika/internal/llm"
)

// WithoutRefusedSchema returns m for providers that may not know structured answers. A call
// that is refused with its schema is made again without it; if that works, so are later ones
// from the start. What the answer has to be is then the prompt's to say.
func WithoutRefusedSchema(m llm.Model) llm.Model { return &schemaModel{inner: m} }

type schemaModel struct {
	inner   llm.Model
	refused atomic.Bool
}

// Generate implements [llm.Model].
func (m *schemaModel) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	if m.refused.Load() {
		r.Schema = nil
	}
	res, err := m.inner.Generate(ctx, r, emit)
	if err == nil || len(r.Schema) == 0 || !mayRefuseSchema(err) {
		return res, err
	}
	r.Schema = nil
	wasted := res.Wasted.Add(res.Usage)
	if res, err = m.inner.Generate(ctx, r, emit); err == nil {
		m.refused.Store(true)
	}
	res.Wasted = res.Wasted.Add(wasted)
	return res, err
}

// mayRefuseSchema reports whether an error may mean that the provider does not take the
// schema: it says that the call itself is wrong.
func mayRefuseSchema(err error) bool {
	var p *llm.ProviderError
	if !errors.As(err, &p) || p.Visible || llm.IsTooLong(err) {
		return false
	}
	return p.Status == 400 || p.Status == 404 || p.Status == 422 || p.Status == 501
}
