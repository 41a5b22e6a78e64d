package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"strings"

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

// apiVersion is the version of the wire format that this package speaks.
const apiVersion = "2023-06-01"

type model struct {
	opts   Options
	host   string
	bad    error
	header http.Header
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
	m.header = http.Header{"Accept": {"text/event-stream"}, "Anthropic-Version": {apiVersion}}
	if o.APIKey != "" {
		m.header.Set("X-Api-Key", o.APIKey)
	}
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

	res, err := wire.Post(call, m.opts.HTTPClient, m.opts.BaseURL+"/v1/messages", m.header, m.body(r))
	if err != nil {
		return llm.Response{}, fail.Transport(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return llm.Response{}, fail.Status(res)
	}
	a := &answer{fail: fail, emit: emit, deadline: deadline, blocks: map[int]*block{}}
	err = wire.Stream(res, fail, a.take)
	switch {
	case a.halted != nil:
		return llm.Response{}, a.halted
	case err != nil && a.reason == "":
		return llm.Response{}, a.fail.Transport(ctx, err)
	case ctx.Err() != nil && a.reason == "":
		return llm.Response{}, a.fail.Transport(ctx, ctx.Err())
	}
	return a.finish()
}
