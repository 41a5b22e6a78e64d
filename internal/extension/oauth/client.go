package oauth

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fika"
	"fika/internal/system/address"
)

const (
	answerWait = 30 * time.Second // for one answer of a server
	maxAnswer  = 1 << 20
)

// client returns a client for the servers that take part in a login to the server at a
// URL. It goes to https or this machine only, to hosts that are not public only if the
// server itself is not, and follows redirects to the same host only. close ends its
// connections.
func client(ctx context.Context, server *url.URL) (c *http.Client, close func()) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ResponseHeaderTimeout = answerWait
	if proxy, err := proxyFor(base, server); err == nil && proxy == nil { // a proxy dials by itself
		dialer := &address.Dialer{AllowPrivate: !isPublic(ctx, server.Hostname())}
		base.DialContext = dialer.DialContext
	}
	c = &http.Client{Transport: careful{base}, CheckRedirect: sameHost, Timeout: answerWait}
	return c, base.CloseIdleConnections
}

func proxyFor(t *http.Transport, u *url.URL) (*url.URL, error) {
	if t.Proxy == nil {
		return nil, nil
	}
	return t.Proxy(&http.Request{URL: u})
}

// isPublic reports whether all addresses of a host are public.
func isPublic(ctx context.Context, host string) bool {
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, ip := range addrs {
		if !address.IsPublic(ip) {
			return false
		}
	}
	return err == nil
}

func sameHost(req *http.Request, via []*http.Request) error {
	switch first := via[0].URL; {
	case req.URL.Host != first.Host || req.URL.Scheme != first.Scheme:
		return fika.Errorf(fika.Denied, "", "%s redirects to %s://%s, which is not followed", first.Host, req.URL.Scheme, req.URL.Host)
	case len(via) >= 5:
		return fika.Errorf(fika.Failed, "", "%s redirects again and again", first.Host)
	}
	return nil
}

// safe returns an error unless what is sent to u stays between its host and this machine.
func safe(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && address.IsLoopback(u.Hostname()) {
		return nil
	}
	return fika.Errorf(fika.Denied, "", "%s://%s is not https, so others could read what is sent", u.Scheme, u.Host)
}

// careful bounds requests to safe addresses, and answers.
type careful struct{ base http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (c careful) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := safe(req.URL); err != nil {
		return nil, err
	}
	resp, err := c.base.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// naming adds the resource (RFC 8707) to requests for a token, which the library leaves
// out when it renews one.
type naming struct {
	base     http.RoundTripper
	resource string
}

// RoundTrip implements [http.RoundTripper].
func (n naming) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	form := fmt.Sprintf("%s&resource=%s", body, url.QueryEscape(n.resource))
	req = req.Clone(req.Context())
	req.Body, req.GetBody = io.NopCloser(strings.NewReader(form)), nil
	req.ContentLength = int64(len(form))
	return n.base.RoundTrip(req)
}
