package wire

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"fika"
	"fika/internal/address"
	"fika/internal/llm"
)

// Target says where the calls of a model go, and with which key.
type Target struct {
	URL      string // full URL of the method
	Model    string // the model's name in errors
	APIKey   string // empty: none is sent
	Insecure bool   // the key may cross a network unencrypted
	Header   http.Header
	Client   *http.Client // nil: http.DefaultClient
}

// Endpoint makes the calls of one model. It is safe for concurrent use.
type Endpoint struct {
	host   string
	called string // name in errors: host, port and model, so that two servers on one machine are told apart
	url    string
	secret string
	header http.Header
	client http.Client
}

// NewEndpoint checks a target. It fails with kind Invalid if the URL is not a valid
// address, or if the key would cross a network unencrypted.
func NewEndpoint(t Target) (*Endpoint, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fika.Errorf(fika.Invalid, Op, "base_url is not an http or https address: write it as https://host/v1")
	}
	if t.APIKey != "" && u.Scheme == "http" && !t.Insecure && !address.IsLoopback(u.Hostname()) {
		return nil, fika.Errorf(fika.Invalid, Op, "the API key is not sent to %s over plain http, where others can read it: "+
			"use https, or set insecure = true in the model's [[models]] entry", u.Host)
	}
	called := u.Host
	if t.Model != "" {
		called += " (model " + t.Model + ")"
	}
	e := &Endpoint{host: u.Hostname(), called: called, url: t.URL, secret: t.APIKey, header: t.Header.Clone()}
	if e.header == nil {
		e.header = http.Header{}
	}
	e.header.Set("Content-Type", "application/json")
	e.header.Set("User-Agent", "fika")
	if t.Client != nil {
		e.client = *t.Client
	}
	e.client.CheckRedirect = refuseRedirect
	return e, nil
}

// refuseRedirect follows no redirect: the address that a person wrote is the only one
// that gets their prompts and their key.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Host returns the name of the host that is called, without its port.
func (e *Endpoint) Host() string { return e.host }

// Post sends body, a [Body] or any other value, as JSON. A response with any status is
// not an error; the caller must close its body. Errors are those of net/http.
func (e *Endpoint) Post(ctx context.Context, body any) (*http.Response, error) {
	data, err := EncodeBody(body)
	if err != nil {
		return nil, fika.Wrap(fika.Invalid, Op, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(data))
	if err != nil {
		return nil, fika.Wrap(fika.Invalid, Op, err)
	}
	req.Header = e.header.Clone()
	return e.client.Do(req)
}

// Generate makes one call: it sends r as body, and feeds the stream of the response to the
// Answer that open returns. Whatever arrives is passed to emit.
func (e *Endpoint) Generate(ctx context.Context, r llm.Request, body any, emit func(llm.Event) error, open func(*Call) Answer) (llm.Response, error) {
	within, deadline := NewDeadline(ctx)
	defer deadline.Stop()
	call := &Call{Deadline: deadline, request: r, fail: Failure{Host: e.called, Secrets: []string{e.secret}}, emit: emit}

	res, err := e.Post(within, body)
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
