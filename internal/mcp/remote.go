package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika"
)

// grace is how long ending the session with a remote server may take.
const grace = 2 * time.Second

// remote returns the transport to a remote server. Its client follows no redirect to
// another host, and bounds the size of answers.
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

// sameHost refuses a redirect to another host, which would receive the token.
func sameHost(req *http.Request, via []*http.Request) error {
	switch first := via[0].URL; {
	case req.URL.Host != first.Host || req.URL.Scheme != first.Scheme:
		return fika.Errorf(fika.Denied, "", "it redirects to %s://%s, which is not followed: if that is where the server is, give it as its url", req.URL.Scheme, req.URL.Host)
	case len(via) >= 5:
		return errors.New("it redirects again and again")
	}
	return nil
}

// requester sends the token, bounds answers and explains HTTP errors.
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
	if req.Method == http.MethodDelete { // the end of a session, for which nobody should wait long
		ctx, cancel := context.WithTimeout(req.Context(), grace)
		defer cancel()
		req = req.WithContext(ctx)
	}
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err := r.refused(resp.StatusCode, kind); err != nil {
		resp.Body.Close()
		return nil, err
	}
	if kind == "text/event-stream" { // its events are bounded one by one
		resp.Body = &eventStream{ReadCloser: resp.Body, request: req}
	} else {
		resp.Body = &bounded{ReadCloser: resp.Body, left: maxLine}
	}
	return resp, nil
}

// refused returns an error for an answer that cannot be of the protocol, or nil if it may
// be.
func (r *requester) refused(status int, kind string) error {
	switch {
	case (status == http.StatusUnauthorized || status == http.StatusForbidden) && r.bearer == "":
		return fika.Errorf(fika.Denied, "", "it wants to know who calls (HTTP %d): bearer_env names the variable or stored key that is sent as a token", status)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fika.Errorf(fika.Denied, "", "it refuses the token (HTTP %d): bearer_env names the variable or stored key that is sent", status)
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return fika.Errorf(fika.Failed, "", "it answered HTTP %d (%s)", status, http.StatusText(status))
	case kind == "text/html":
		return fika.Errorf(fika.Invalid, "", "it answered HTTP %d with a page for people: is its url that of an MCP server?", status)
	}
	return nil
}

func (r *requester) close() { r.base.CloseIdleConnections() }

// eventStream is the answer to a call as a stream of events. If it ends before the call
// was answered, it adds an error in the protocol's format, because the library would wait
// for ever.
type eventStream struct {
	io.ReadCloser
	request *http.Request
	ended   bool
	values  valueCounter // of an event
	rest    []byte
}

func (s *eventStream) Read(p []byte) (int, error) {
	if !s.ended {
		n, err := s.ReadCloser.Read(p)
		if many := s.values.add(p[:n]); many != nil {
			return 0, many
		}
		if n > 0 || err == nil {
			return n, nil
		}
		s.ended = true
		if s.request.Context().Err() != nil {
			return 0, err
		}
		s.rest = s.lastEvent()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// codeCutShort is the error code for a call whose connection was lost.
const codeCutShort = -32099

// lastEvent returns an error as the answer to the call, which is ignored if there was an
// answer before. It returns nil if the request is not a call.
func (s *eventStream) lastEvent() []byte {
	if s.request.GetBody == nil {
		return nil
	}
	body, err := s.request.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	if json.NewDecoder(body).Decode(&call) != nil || call.ID == nil {
		return nil
	}
	return fmt.Appendf(nil, "\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":\"it closed the connection before it had answered\"}}\n\n", call.ID, codeCutShort)
}

// bounded fails when an answer is longer than left bytes, or has too many values.
type bounded struct {
	io.ReadCloser
	left   int
	values valueCounter
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it sent an answer of more than %d MiB", maxLine>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	if many := b.values.add(p[:n]); many != nil {
		return 0, many
	}
	return n, err
}
