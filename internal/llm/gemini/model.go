package gemini

import (
	"context"
	"net/http"
	"net/url"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// DefaultBaseURL is used if the options have no BaseURL.
const DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// Options says where a model is.
type Options = wire.Options

type model struct {
	name     string
	endpoint *wire.Endpoint
}

// New returns a model; o.BaseURL goes up to and including the version. The first call
// reports wrong options, as an error of kind Invalid.
func New(o Options) llm.Model {
	header := http.Header{}
	if o.APIKey != "" {
		header.Set("X-Goog-Api-Key", o.APIKey)
	}
	at := wire.BaseURL(o.BaseURL, DefaultBaseURL) + "/models/" + url.PathEscape(o.Model) + ":streamGenerateContent?alt=sse"
	return &model{name: o.Model, endpoint: wire.NewEndpoint(o, at, header)}
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	return m.endpoint.Generate(ctx, r, encodeBody(m.name, r), emit, func(c *wire.Call) wire.Answer {
		return &answer{Call: c, limit: max(r.MaxTokens, 0)}
	})
}
