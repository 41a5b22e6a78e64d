package gemini

import (
	"context"
	"net/http"
	"net/url"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// DefaultBaseURL is used if Options has no BaseURL.
const DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// Options says where a model is.
type Options struct {
	BaseURL    string // up to and including the version; empty: Google
	APIKey     string // empty: no key is sent
	Insecure   bool   // the key may be sent over plain http to another machine
	Model      string
	HTTPClient *http.Client // nil: http.DefaultClient
}

type model struct {
	name     string
	endpoint *wire.Endpoint
	bad      error
}

// New returns a model. The first call reports wrong options, as an error of kind
// Invalid.
func New(o Options) llm.Model {
	m := &model{name: o.Model}
	if o.Model == "" {
		m.bad = fika.Errorf(fika.Invalid, wire.Op, "no model id is set")
		return m
	}
	header := http.Header{"Accept": {"text/event-stream"}}
	if o.APIKey != "" {
		header.Set("X-Goog-Api-Key", o.APIKey)
	}
	m.endpoint, m.bad = wire.NewEndpoint(wire.Target{
		URL:   wire.BaseURL(o.BaseURL, DefaultBaseURL) + "/models/" + url.PathEscape(o.Model) + ":streamGenerateContent?alt=sse",
		Model: o.Model, APIKey: o.APIKey, Insecure: o.Insecure, Header: header, Client: o.HTTPClient,
	})
	return m
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	if m.bad != nil {
		return llm.Response{}, m.bad
	}
	return m.endpoint.Generate(ctx, r, encodeBody(m.name, r), emit, func(c *wire.Call) wire.Answer {
		return &answer{Call: c, limit: max(r.MaxTokens, 0)}
	})
}
