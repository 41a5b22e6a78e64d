package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"fika"
)

// TraceID returns the id of the trace of a chain, as OpenTelemetry has them. Home is the id
// of the database.
func TraceID(home string, chain fika.RequestID) string { return Hash(16, home, "chain", chain) }

// SpanID returns the id of the span of a request, or of one of its steps.
func SpanID(home string, request fika.RequestID, step int) string {
	if step == 0 {
		return Hash(8, home, "request", request)
	}
	return Hash(8, home, "step", request, step)
}

// Hash returns an id of so many bytes that follows from what it is about.
func Hash(size int, of ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", of))
	return hex.EncodeToString(sum[:size])
}

// Parent returns the value of the header traceparent for what a request causes elsewhere.
func Parent(home string, chain, request fika.RequestID) string {
	return "00-" + TraceID(home, chain) + "-" + SpanID(home, request, 0) + "-01"
}
