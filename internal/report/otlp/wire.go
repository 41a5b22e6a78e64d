package otlp

import (
	"encoding/json"
	"strconv"
	"time"
)

// Span is a span as OTLP's JSON has it.
type Span struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Links      []link      `json:"links,omitempty"`
	Status     *status     `json:"status,omitempty"` // nil: unset
}

// The kinds of spans that there are.
const (
	internalKind = 1
	clientKind   = 3
)

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

type link struct {
	Trace string `json:"traceId"`
	ID    string `json:"spanId"`
}

type status struct {
	Code    int    `json:"code"` // 2: an error
	Message string `json:"message,omitempty"`
}

func text(key, value string) attribute {
	return attribute{key, map[string]any{"stringValue": value}}
}

func number(key string, value int64) attribute { // 64 bits are text in this JSON
	return attribute{key, map[string]any{"intValue": strconv.FormatInt(value, 10)}}
}

func amount(key string, value float64) attribute {
	return attribute{key, map[string]any{"doubleValue": value}}
}

func flag(key string) attribute { return attribute{key, map[string]any{"boolValue": true}} }

func nanos(t time.Time) string { return strconv.FormatInt(max(0, t.UnixNano()), 10) }

// Resource is what spans come from.
type Resource struct {
	Home    string // id of the database
	Version string // of fika
}

// export returns the body of an export of spans, each in JSON.
func (r Resource) export(spans []json.RawMessage) ([]byte, error) {
	type scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	type scopeSpans struct {
		Scope scope             `json:"scope"`
		Spans []json.RawMessage `json:"spans"`
	}
	type resource struct {
		Attributes []attribute `json:"attributes"`
	}
	type resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributes := []attribute{text("service.name", "fika"), text("service.instance.id", r.Home)}
	if r.Version != "" {
		attributes = append(attributes, text("service.version", r.Version))
	}
	return json.Marshal(struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}{[]resourceSpans{{resource{attributes}, []scopeSpans{{scope{"fika", r.Version}, spans}}}}})
}

// partial is what a collector says that has taken only a part.
type partial struct {
	PartialSuccess struct {
		RejectedSpans json.RawMessage `json:"rejectedSpans"` // a number, or text
		ErrorMessage  string          `json:"errorMessage"`
	} `json:"partialSuccess"`
}

// rejected returns how many spans an answer says were rejected, and why. An answer that
// cannot be read rejects none.
func rejected(answer []byte) (n int64, why string) {
	var p partial
	if json.Unmarshal(answer, &p) != nil {
		return 0, ""
	}
	raw := string(p.PartialSuccess.RejectedSpans)
	if text, err := strconv.Unquote(raw); err == nil {
		raw = text
	}
	n, _ = strconv.ParseInt(raw, 10, 64) // missing: 0
	return n, p.PartialSuccess.ErrorMessage
}
