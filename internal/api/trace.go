package api

import (
	"context"
	"regexp"
)

// traceKey is the key of a context's traceparent.
type traceKey struct{}

// traceparent is the form of the header, as W3C Trace Context has it: a version, the id of a
// trace and that of a span, neither of them 0, and flags.
const traceparent = `^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`

// WithTrace returns a context in which what is asked for was caused by a span of somebody
// else's, given the header traceparent of their request.
func WithTrace(ctx context.Context, header string) context.Context {
	if trace, _ := ParseTrace(header); trace == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, header)
}

// TraceIn returns the traceparent of a context; "" if it has none.
func TraceIn(ctx context.Context) string {
	header, _ := ctx.Value(traceKey{}).(string)
	return header
}

// ParseTrace returns the ids in a traceparent; empty ones if it is none.
func ParseTrace(header string) (trace, span string) {
	m := regexp.MustCompile(traceparent).FindStringSubmatch(header)
	if m == nil || header[:2] == "ff" || m[1] == "00000000000000000000000000000000" || m[2] == "0000000000000000" {
		return "", ""
	}
	return m[1], m[2]
}
