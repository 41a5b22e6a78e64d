package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// DefaultBaseURL is used where Options name none.
const DefaultBaseURL = "https://api.anthropic.com"

// Options say where a model is.
type Options struct {
	BaseURL    string // with or without /v1; empty: Anthropic
	APIKey     string // empty: no key is sent
	Model      string
	HTTPClient *http.Client // nil: http.DefaultClient
}

type model struct {
	opts    Options
	host    string
	bad     error
	service sdk.MessageService
}

// New makes a model. Wrong options are reported by the first call, as Invalid.
func New(o Options) llm.Model {
	o.BaseURL = wire.BaseURL(o.BaseURL, DefaultBaseURL)
	o.BaseURL = strings.TrimSuffix(strings.TrimSuffix(o.BaseURL, "/messages"), "/v1")
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
	options := []option.RequestOption{option.WithBaseURL(o.BaseURL + "/"), option.WithMaxRetries(0)}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	if o.HTTPClient != nil {
		options = append(options, option.WithHTTPClient(o.HTTPClient))
	}
	m.service = sdk.NewMessageService(options...)
	return m
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
	return wire.Receive(ctx, res, &answer{fail: fail, emit: emit, deadline: deadline, blocks: map[int]*block{}})
}

// send makes the HTTP call. An answer of any status is returned as it is.
func (m *model) send(ctx context.Context, r llm.Request) (*http.Response, error) {
	var res *http.Response
	stream := m.service.NewStreaming(ctx, m.params(r),
		option.WithResponseBodyInto(&res),
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return wire.BoundErrors(req, next)
		}),
	)
	err := stream.Err()
	if res != nil && res.Body != nil && res.StatusCode >= 400 {
		return res, nil
	}
	if err != nil && res != nil && res.Body != nil {
		res.Body.Close()
	}
	if err == nil && res == nil {
		err = context.Canceled
	}
	return res, err
}
