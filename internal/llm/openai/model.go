package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// DefaultBaseURL is used if Options has no BaseURL.
const DefaultBaseURL = "https://api.openai.com/v1"

// ReasoningStyle is how reasoning is requested on the wire.
type ReasoningStyle string

// The styles. The zero value chooses by host: an object for openrouter.ai,
// the plain field elsewhere.
const (
	ReasoningByHost ReasoningStyle = ""
	ReasoningEffort ReasoningStyle = "effort" // reasoning_effort: "medium"
	ReasoningObject ReasoningStyle = "object" // reasoning: {effort | max_tokens}
	ReasoningNone   ReasoningStyle = "none"   // never requested
)

// Options says where a model is and how to ask it.
type Options struct {
	BaseURL        string            // up to and including /v1; empty: OpenAI
	APIKey         string            // empty: no Authorization header is sent
	Insecure       bool              // the key may be sent over plain http to another machine
	Headers        map[string]string // sent with each call besides what the wire needs
	Model          string
	HTTPClient     *http.Client // nil: http.DefaultClient
	ReasoningStyle ReasoningStyle
	// CacheMarks marks what may be cached with cache_control, as gateways to Claude want it.
	CacheMarks bool
	CacheHour  bool // what is marked is cached for an hour instead of five minutes
}

type model struct {
	opts     Options
	endpoint *wire.Endpoint
}

// New returns a model. The first call reports wrong options, as an error of kind
// Invalid.
func New(o Options) llm.Model {
	o.BaseURL = strings.TrimSuffix(wire.BaseURL(o.BaseURL, DefaultBaseURL), "/chat/completions")
	m := &model{opts: o}
	header := http.Header{}
	if o.APIKey != "" {
		header.Set("Authorization", "Bearer "+o.APIKey)
		if u, err := url.Parse(o.BaseURL); err == nil && isAzure(u.Hostname()) {
			header.Set("Api-Key", o.APIKey)
		}
	}
	at := wire.Options{APIKey: o.APIKey, Insecure: o.Insecure, Headers: o.Headers, Model: o.Model, HTTPClient: o.HTTPClient}
	m.endpoint = wire.NewEndpoint(at, o.BaseURL+"/chat/completions", header)
	if isHost(m.endpoint.Host(), "openrouter.ai") && strings.HasPrefix(o.Model, "anthropic/") {
		m.opts.CacheMarks = true
	}
	if o.ReasoningStyle == ReasoningByHost {
		m.opts.ReasoningStyle = styleOf(m.endpoint.Host())
	}
	return m
}

func styleOf(host string) ReasoningStyle {
	if isHost(host, "openrouter.ai") {
		return ReasoningObject
	}
	return ReasoningEffort
}

// isAzure reports whether a host is one of Azure's, which take the key in a header of
// their own and, like OpenAI, refuse max_tokens for newer models.
func isAzure(host string) bool {
	return isHost(host, "openai.azure.com") || isHost(host, "cognitiveservices.azure.com") || isHost(host, "services.ai.azure.com")
}

func isHost(host, domain string) bool {
	host = strings.ToLower(host)
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	return m.endpoint.Generate(ctx, r, m.encodeBody(r), emit, func(c *wire.Call) wire.Answer {
		return &answer{Call: c, limit: max(r.MaxTokens, 0)}
	})
}
