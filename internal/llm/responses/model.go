package responses

import (
	"context"
	"net/http"
	"strings"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// DefaultBaseURL is used if Options has no BaseURL.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options says where a model is.
type Options struct {
	BaseURL    string // up to and including /v1; empty: OpenAI
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
		header.Set("Authorization", "Bearer "+o.APIKey)
		header.Set("Api-Key", o.APIKey) // Azure's
	}
	base := strings.TrimSuffix(wire.BaseURL(o.BaseURL, DefaultBaseURL), "/responses")
	m.endpoint, m.bad = wire.NewEndpoint(wire.Target{
		URL: base + "/responses", Model: o.Model, APIKey: o.APIKey, Insecure: o.Insecure, Header: header, Client: o.HTTPClient,
	})
	return m
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	if m.bad != nil {
		return llm.Response{}, m.bad
	}
	return m.endpoint.Generate(ctx, r, encodeBody(m.name, r), emit, func(c *wire.Call) wire.Answer {
		return &answer{Call: c, items: map[int]*item{}, limit: max(r.MaxTokens, 0)}
	})
}
