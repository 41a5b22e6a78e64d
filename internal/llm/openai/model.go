package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// DefaultBaseURL is used where Options name none.
const DefaultBaseURL = "https://api.openai.com/v1"

// ReasoningStyle is how reasoning is asked for on the wire.
type ReasoningStyle string

// The styles. The zero value chooses by host: an object for openrouter.ai,
// the plain field elsewhere.
const (
	ReasoningByHost ReasoningStyle = ""
	ReasoningEffort ReasoningStyle = "effort" // reasoning_effort: "medium"
	ReasoningObject ReasoningStyle = "object" // reasoning: {effort | max_tokens}
	ReasoningNone   ReasoningStyle = "none"   // never asked for
)

// Options say where a model is and how to ask it.
type Options struct {
	BaseURL        string // up to and including /v1; empty: OpenAI
	APIKey         string // empty: no Authorization header is sent
	Model          string
	HTTPClient     *http.Client // nil: http.DefaultClient
	ReasoningStyle ReasoningStyle
}

type model struct {
	opts    Options
	host    string
	bad     error
	service sdk.ChatCompletionService
}

// New makes a model. Wrong options are reported by the first call, as Invalid.
func New(o Options) llm.Model {
	o.BaseURL = strings.TrimSuffix(wire.BaseURL(o.BaseURL, DefaultBaseURL), "/chat/completions")
	m := &model{opts: o}
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		m.bad = fika.Errorf(fika.Invalid, wire.Op, "base_url is not an http or https address: write it as https://host/v1")
		return m
	case o.Model == "":
		m.bad = fika.Errorf(fika.Invalid, wire.Op, "no model id is set")
		return m
	}
	m.host = u.Hostname()
	if o.ReasoningStyle == ReasoningByHost {
		m.opts.ReasoningStyle = styleOf(m.host)
	}
	options := []option.RequestOption{option.WithBaseURL(o.BaseURL), option.WithMaxRetries(0)}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	if o.HTTPClient != nil {
		options = append(options, option.WithHTTPClient(o.HTTPClient))
	}
	m.service = sdk.NewChatCompletionService(options...)
	return m
}

func styleOf(host string) ReasoningStyle {
	if isHost(host, "openrouter.ai") {
		return ReasoningObject
	}
	return ReasoningEffort
}

func isHost(host, domain string) bool {
	host = strings.ToLower(host)
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	if m.bad != nil {
		return llm.Response{}, m.bad
	}
	fail := wire.Failure{Host: m.host, Secrets: []string{m.opts.APIKey}}
	call, deadline := wire.NewDeadline(ctx)
	defer deadline.Stop()

	res, err := m.send(call, r)
	if err != nil {
		return llm.Response{}, fail.Transport(ctx, err)
	}
	return wire.Receive(ctx, res, &answer{fail: fail, emit: emit, deadline: deadline})
}

// send makes the HTTP call. An answer of any status is returned as it is; its
// error body is bounded before the client library reads it.
func (m *model) send(ctx context.Context, r llm.Request) (*http.Response, error) {
	params, err := m.params(r)
	if err != nil {
		return nil, err
	}
	var res *http.Response
	_, err = m.service.New(ctx, params,
		option.WithResponseBodyInto(&res),
		option.WithHeader("Accept", "text/event-stream"),
		option.WithMiddleware(wire.BoundErrors),
	)
	if res != nil && res.Body != nil && res.StatusCode >= 400 {
		return res, nil
	}
	if err != nil && res != nil && res.Body != nil {
		res.Body.Close()
	}
	return res, err
}
