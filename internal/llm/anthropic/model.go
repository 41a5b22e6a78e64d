package anthropic

import (
	"context"
	"net/http"
	"strings"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// DefaultBaseURL is used if Options has no BaseURL.
const DefaultBaseURL = "https://api.anthropic.com"

// apiVersion is the version of the API whose shapes this package knows.
const apiVersion = "2023-06-01"

// Options says where a model is.
type Options struct {
	BaseURL    string            // with or without /v1; empty: Anthropic
	APIKey     string            // empty: no key is sent
	Insecure   bool              // the key may be sent over plain http to another machine
	Headers    map[string]string // sent with each call besides what the wire needs
	Model      string
	MaxOutput  int64        // the most tokens that the model can write, thinking included; 0: unknown
	Window     int64        // the most tokens of prompt and answer together; 0: unknown
	CacheHour  bool         // what is sent is cached for an hour instead of five minutes
	HTTPClient *http.Client // nil: http.DefaultClient
}

type model struct {
	opts     Options
	family   family
	endpoint *wire.Endpoint
}

// New returns a model. The first call reports wrong options, as an error of kind
// Invalid.
func New(o Options) llm.Model {
	o.BaseURL = wire.BaseURL(o.BaseURL, DefaultBaseURL)
	o.BaseURL = strings.TrimSuffix(strings.TrimSuffix(o.BaseURL, "/messages"), "/v1")
	m := &model{opts: o, family: familyOf(o.Model)}
	header := http.Header{"Anthropic-Version": {apiVersion}}
	if o.APIKey != "" {
		header.Set("X-Api-Key", o.APIKey)
	}
	if m.family.bound {
		header.Set("Anthropic-Beta", bindingBeta)
	}
	at := wire.Options{APIKey: o.APIKey, Insecure: o.Insecure, Headers: o.Headers, Model: o.Model, HTTPClient: o.HTTPClient}
	m.endpoint = wire.NewEndpoint(at, o.BaseURL+"/v1/messages", header)
	return m
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	b := m.encodeBody(r)
	return m.endpoint.Generate(ctx, r, b, emit, func(c *wire.Call) wire.Answer {
		return &answer{Call: c, blocks: map[int]*block{}, limit: b.options.MaxTokens}
	})
}
