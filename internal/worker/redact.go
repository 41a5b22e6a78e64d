package worker

import (
	"context"
	"io"

	"fika/internal/extension/hook"
	"fika/internal/text/redact"
)

// redactedHooks removes keys from the answers of hooks.
type redactedHooks struct {
	hook.Runner
	keys *redact.Keys
}

// Fire implements [hook.Runner].
func (c redactedHooks) Fire(ctx context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	out, err := c.Runner.Fire(ctx, at, p)
	for name, v := range out {
		if s, ok := v.(string); ok {
			out[name] = c.keys.Text(s)
		}
	}
	return out, err
}

// redactedWriter removes keys from each piece that is written, for a person who is
// shown every piece at once.
type redactedWriter struct {
	io.Writer
	keys *redact.Keys
}

// Write implements [io.Writer].
func (c redactedWriter) Write(p []byte) (int, error) {
	if _, err := c.Writer.Write(c.keys.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
