package responses

import (
	"context"
	"net/http"
	"strings"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// DefaultBaseURL is used if the options have no BaseURL.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options says where a model is.
type Options = wire.Options

type model struct {
	name     string
	endpoint *wire.Endpoint
}

// New returns a model; o.BaseURL goes up to and including /v1. The first call reports
// wrong options, as an error of kind Invalid.
func New(o Options) llm.Model {
	header := http.Header{}
	if o.APIKey != "" {
		header.Set("Authorization", "Bearer "+o.APIKey)
		header.Set("Api-Key", o.APIKey) // Azure's
	}
	at := strings.TrimSuffix(wire.BaseURL(o.BaseURL, DefaultBaseURL), "/responses") + "/responses"
	return &model{name: o.Model, endpoint: wire.NewEndpoint(o, at, header)}
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	return m.endpoint.Generate(ctx, r, encodeBody(m.name, r), emit, func(c *wire.Call) wire.Answer {
		return &answer{Call: c, limit: max(r.MaxTokens, 0)}
	})
}
