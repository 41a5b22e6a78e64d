package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"fika"
	"fika/internal/text/hint"
	"fika/internal/text/safetext"
)

// grace is how long ending the session with a remote server may take.
const grace = 2 * time.Second

// remote returns the transport to a remote server. Its client follows no redirect to
// another host, and bounds the size of answers.
func remote(s Server) (sdk.Transport, *requester) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSHandshakeTimeout = min(s.Timeout, 20*time.Second)
	r := &requester{server: s, base: base}
	client := &http.Client{Transport: r, CheckRedirect: sameHost}
	return &sdk.StreamableClientTransport{
		Endpoint: s.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxLine,
	}, r
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
	server Server
	base   *http.Transport
}

// RoundTrip implements [http.RoundTripper]. A token that the server refuses is replaced
// once, if there is another.
func (r *requester) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodDelete { // the end of a session, for which nobody should wait long
		ctx, cancel := context.WithTimeout(req.Context(), grace)
		defer cancel()
		req = req.WithContext(ctx)
	}
	token, err := r.token(req, "")
	if err != nil {
		return nil, err
	}
	resp, err := r.send(req, token)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && token != "" {
		refused := token
		if token, err = r.token(req, refused); err != nil || token != refused {
			resp.Body.Close()
		}
		if err == nil && token != refused {
			resp, err = r.send(req, token)
		}
	}
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusBadRequest && req.Header.Get("Mcp-Session-Id") != "" && kind == "application/json" && answersNobody(resp) {
		resp.StatusCode = http.StatusNotFound // as the protocol says that a session is unknown
	}
	if err := r.refused(resp, token != "", kind); err != nil {
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

// answersNobody reports whether an answer is an error without the id of a request, as
// servers write that they do not know the session: the request was not looked at. The
// answer can still be read.
func answersNobody(resp *http.Response) bool {
	begin, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), resp.Body), resp.Body}
	var said struct {
		ID    any             `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	return err == nil && json.Unmarshal(begin, &said) == nil && said.ID == nil && said.Error != nil
}

// token returns what is sent with a request.
func (r *requester) token(req *http.Request, refused string) (string, error) {
	if r.server.Token == nil {
		return "", nil
	}
	return r.server.Token(req.Context(), refused)
}

// send sends a request, or sends it again.
func (r *requester) send(req *http.Request, token string) (*http.Response, error) {
	out := req.Clone(req.Context())
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	if r.server.Headers != nil {
		more, err := r.server.Headers()
		if err != nil {
			return nil, err
		}
		for name, value := range more {
			out.Header.Set(name, value)
		}
	}
	if req.GetBody != nil {
		var err error
		if out.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return r.base.RoundTrip(out)
}

// refused returns an error for an answer that cannot be of the protocol, or nil if it may
// be. known says whether the server was told who calls.
func (r *requester) refused(resp *http.Response, known bool, kind string) error {
	status := resp.StatusCode
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return r.unauthorized(resp, known)
	}
	switch {
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return fika.Errorf(fika.Failed, "", "it answered HTTP %d (%s)", status, http.StatusText(status))
	case kind == "text/html":
		return fika.Errorf(fika.Invalid, "", "it answered HTTP %d with a page for people: is its url that of an MCP server?", status)
	}
	return nil
}

// unauthorized returns the error for a server that does not accept who calls.
func (r *requester) unauthorized(resp *http.Response, known bool) error {
	name, status := r.server.Name, resp.StatusCode
	switch {
	case !known:
		return needsLogin("it wants to know who calls (HTTP %d); needs login: %s, or bearer_env if it takes a key", status, hint.MCPLogin.With(name))
	case !r.server.ByLogin:
		return fika.Errorf(fika.Denied, "", "it refuses the token (HTTP %d): bearer_env names the variable or stored key that is sent", status)
	case status == http.StatusUnauthorized:
		return needsLogin("it refuses the login (HTTP 401); needs login: %s", hint.MCPLogin.With(name))
	}
	if scope := wantedScope(resp.Header); scope != "" {
		return fika.Errorf(fika.Denied, "", "the login is not enough for this call: %s asks for more", hint.MCPLoginScope.With(name, scope))
	}
	return fika.Errorf(fika.Denied, "", "it does not permit this call to the person who is logged in (HTTP %d)", status)
}

// wantedScope returns the scopes that a server says a call needs, separated by commas.
func wantedScope(h http.Header) string {
	challenges, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return ""
	}
	for _, c := range challenges {
		if c.Params["error"] == "insufficient_scope" {
			return clip(safetext.Line(strings.Join(strings.Fields(c.Params["scope"]), ",")), 200)
		}
	}
	return ""
}

// loginRequired is the cause of an error that a person's login mends, and all of its text.
type loginRequired string

func (e loginRequired) Error() string { return string(e) }

// NeedsLogin reports whether an error of a server is that a person has to log in to it.
func NeedsLogin(err error) bool { return errors.As(err, new(loginRequired)) }

func needsLogin(format string, args ...any) error {
	return fika.Wrap(fika.Denied, "", loginRequired(fmt.Sprintf(format, args...)))
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
