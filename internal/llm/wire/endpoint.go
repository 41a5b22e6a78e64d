package wire

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"fika"
	"fika/internal/llm"
	"fika/internal/system/address"
)

// Options says where a model is.
type Options struct {
	BaseURL    string            // up to and including the version; empty: the provider's own
	APIKey     string            // empty: no key is sent
	Headers    map[string]string // sent with each call besides what the wire needs
	Insecure   bool              // the key may be sent over plain http to another machine
	Model      string
	HTTPClient *http.Client // nil: http.DefaultClient
}

// Endpoint makes the calls of one model. It is safe for concurrent use.
type Endpoint struct {
	host   string
	called string // name in errors: host, port and model, so that two servers on one machine are told apart
	url    string
	secret string
	header http.Header
	client http.Client
	wrong  error // what is wrong with the options; nil: nothing
}

// NewEndpoint returns what makes the calls of a model at a full URL of the method, with
// headers of the provider's. If the options are wrong (no model, no valid
// address, a key that would cross a network unencrypted), every call fails with kind
// Invalid.
func NewEndpoint(o Options, at string, header http.Header) *Endpoint {
	e := &Endpoint{url: at, secret: o.APIKey, header: header.Clone()}
	var u *url.URL
	if u, e.wrong = checkAddress(o, at); e.wrong != nil {
		return e
	}
	e.host, e.called = u.Hostname(), u.Host+" (model "+o.Model+")"
	if e.header == nil {
		e.header = http.Header{}
	}
	e.header.Set("Accept", "text/event-stream")
	e.header.Set("Content-Type", "application/json")
	e.header.Set("User-Agent", "fika")
	for name, value := range o.Headers {
		e.header.Set(name, value)
	}
	if o.HTTPClient != nil {
		e.client = *o.HTTPClient
	}
	e.client.CheckRedirect = refuseRedirect
	return e
}

func checkAddress(o Options, at string) (*url.URL, error) {
	if o.Model == "" {
		return nil, fika.Errorf(fika.Invalid, Op, "no model id is set")
	}
	u, err := url.Parse(at)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fika.Errorf(fika.Invalid, Op, "base_url is not an http or https address: write it as https://host/v1")
	}
	if o.APIKey != "" && u.Scheme == "http" && !o.Insecure && !address.IsLoopback(u.Hostname()) {
		return nil, fika.Errorf(fika.Invalid, Op, "the API key is not sent to %s over plain http, where others can read it: "+
			"use https, or set insecure = true in the model's [[models]] entry", u.Host)
	}
	return u, nil
}

// refuseRedirect follows no redirect: the address that a person wrote is the only one
// that gets their prompts and their key.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Host returns the name of the host that is called, without its port; empty if the
// options are wrong.
func (e *Endpoint) Host() string { return e.host }

// Post sends body, a [Body] or any other value, as JSON. A response with any status is
// not an error; the caller must close its body. Errors are those of net/http.
func (e *Endpoint) Post(ctx context.Context, body any) (*http.Response, error) {
	return e.post(ctx, body, "")
}

func (e *Endpoint) post(ctx context.Context, body any, trace string) (*http.Response, error) {
	data, err := EncodeBody(body)
	if err != nil {
		return nil, fika.Wrap(fika.Invalid, Op, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(data))
	if err != nil {
		return nil, fika.Wrap(fika.Invalid, Op, err)
	}
	req.Header = e.header.Clone()
	if trace != "" {
		req.Header.Set("Traceparent", trace)
	}
	return e.client.Do(req)
}

// Generate makes one call: it sends r as body, and feeds the stream of the response to the
// Answer that open returns. Whatever arrives is passed to emit.
func (e *Endpoint) Generate(ctx context.Context, r llm.Request, body any, emit func(llm.Event) error, open func(*Call) Answer) (llm.Response, error) {
	if e.wrong != nil {
		return llm.Response{}, e.wrong
	}
	within, deadline := NewDeadline(ctx)
	defer deadline.Stop()
	call := &Call{Deadline: deadline, request: r, fail: Failure{Host: e.called, Secrets: []string{e.secret}}, emit: emit}

	res, err := e.post(within, body, r.Trace)
	if err != nil {
		return llm.Response{}, call.fail.Transport(ctx, err)
	}
	call.fail.RequestID = requestID(res.Header, e.secret)
	answer, err := ReadAnswer(ctx, res, open(call))
	answer.RequestID = call.fail.RequestID
	return answer, err
}

// requestID returns a provider's name for a call, which its support asks for; empty: none
// that can be shown.
func requestID(h http.Header, secret string) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "Apim-Request-Id", "X-Goog-Request-Id"} {
		id := strings.TrimSpace(h.Get(name))
		shown := strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
		if id != "" && len(id) <= 128 && shown && !(secret != "" && strings.Contains(id, secret)) {
			return id
		}
	}
	return ""
}

// redirectWords says where a response redirects the caller, who does not follow.
func redirectWords(res *http.Response) string {
	to, err := res.Location()
	if err != nil {
		return "a redirect, which is not followed: is base_url right?"
	}
	return fmt.Sprintf("a redirect to %s://%s, which is not followed: set base_url to that address if you trust it", to.Scheme, to.Host)
}
