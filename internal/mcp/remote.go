package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika"
)

// remote makes the transport to a remote server. Its client follows no redirect
// to another host, and reads no answer without end.
func remote(s Server) (sdk.Transport, *requester, error) {
	bearer := ""
	if s.Bearer != nil {
		var err error
		if bearer, err = s.Bearer(); err != nil {
			return nil, nil, err
		}
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ResponseHeaderTimeout = s.Timeout
	base.TLSHandshakeTimeout = min(s.Timeout, 20*time.Second)
	r := &requester{bearer: bearer, base: base}
	client := &http.Client{Transport: r, CheckRedirect: sameHost}
	return &sdk.StreamableClientTransport{
		Endpoint: s.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxLine,
	}, r, nil
}

// sameHost refuses a redirect to another host, which would be given the token.
func sameHost(req *http.Request, via []*http.Request) error {
	switch first := via[0].URL; {
	case req.URL.Host != first.Host || req.URL.Scheme != first.Scheme:
		return fika.Errorf(fika.Denied, "", "it redirects to %s://%s, which is not followed: if that is where the server is, give it as its url", req.URL.Scheme, req.URL.Host)
	case len(via) >= 5:
		return errors.New("it redirects again and again")
	}
	return nil
}

// requester sends the token, bounds answers and words what HTTP says.
type requester struct {
	bearer string
	base   *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (r *requester) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.bearer != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+r.bearer)
	}
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		resp.Body.Close()
		return nil, fika.Errorf(fika.Denied, "", "it refuses the token (HTTP %d): bearer_env names the variable or stored key that is sent", resp.StatusCode)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // whose events are bounded one by one
		resp.Body = &bounded{ReadCloser: resp.Body, left: maxLine}
	}
	return resp, nil
}

func (r *requester) close() { r.base.CloseIdleConnections() }

// bounded fails where an answer goes on for too long.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it sent an answer of more than %d MiB", maxLine>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
