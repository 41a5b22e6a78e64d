package tool

import (
	"context"

	"fika/internal/text/redact"
)

// redacted removes keys from a tool's result and from its progress.
type redacted struct {
	Tool
	keys *redact.Keys
}

func (t *redacted) Unwrap() Tool { return t.Tool }

func (t *redacted) Call(ctx context.Context, c Call) (Result, error) {
	if tell := c.Progress; tell != nil {
		stream := t.keys.Stream()
		c.Progress = func(p []byte) {
			if p = stream.Next(p); len(p) > 0 {
				tell(p)
			}
		}
		defer func() {
			if rest := stream.End(); len(rest) > 0 {
				tell(rest)
			}
		}()
	}
	r, err := t.Tool.Call(ctx, c)
	r.Text = t.keys.Text(r.Text)
	return r, err
}
