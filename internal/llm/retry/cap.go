package retry

import (
	"context"

	"fika"
	"fika/internal/llm"
)

// DefaultCap is the limit that [CapLength] uses when it is given 0, in bytes.
const DefaultCap = 8 << 20

type capper struct {
	inner llm.Model
	limit int64
}

// CapLength ends a call whose text and reasoning together exceed limit bytes (0:
// [DefaultCap]), with an error of kind Limit, which is not retried. The providers
// themselves bound tool arguments.
func CapLength(m llm.Model, limit int64) llm.Model {
	if limit <= 0 {
		limit = DefaultCap
	}
	return &capper{m, limit}
}

// Generate implements [llm.Model].
func (c *capper) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	var seen int64
	return c.inner.Generate(ctx, r, func(e llm.Event) error {
		if e.Kind == llm.TextDelta || e.Kind == llm.ReasoningDelta {
			seen += int64(len(e.Text))
		}
		if seen > c.limit {
			return fika.Errorf(fika.Limit, op, "the model's answer is longer than %d bytes and was cut off", c.limit)
		}
		return emit(e)
	})
}
