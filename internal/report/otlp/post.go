package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fika/internal/report/delivery"
)

// errLarge is the error of a collector that wants fewer spans at once.
var errLarge = errors.New("HTTP 413 Request Entity Too Large")

// failing is the error of a collector that may take the spans later.
type failing struct {
	reason string
	after  time.Duration // not sooner, says the collector; 0: it says nothing
	broken bool          // it fails with these spans, and may always do
}

func (f failing) Error() string { return f.reason }

// Unset returns the error of a setting that a person has to see to: the spans wait.
func Unset(err error) error { return failing{reason: err.Error()} }

// Poster posts spans to one collector.
type Poster struct {
	url    string
	client *http.Client
}

// NewPoster returns a poster for a collector. Own reports whether an address is the page of
// the home itself, where nothing is sent. Redirects are not followed, and proxies of the
// environment are not used.
func NewPoster(endpoint string, own func(netip.AddrPort) bool) *Poster {
	return &Poster{url: endpoint, client: delivery.Client(true, own)}
}

// Close ends idle connections.
func (p *Poster) Close() { p.client.CloseIdleConnections() }

// Post sends a body once, with headers as NAME=VALUE,NAME=VALUE. It returns how many of the
// spans the collector rejected, and why, once it has taken the others; a [delivery.Refused] if it
// wants none of them ever, and another error if it may want them later.
func (p *Poster) Post(ctx context.Context, headers string, body []byte) (rejects int64, why string, err error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(body) // into memory it cannot fail
	_ = z.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, &packed)
	if err != nil {
		return 0, "", failing{reason: err.Error()}
	}
	if err := setHeaders(r.Header, headers); err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("User-Agent", "fika-otlp")
	answer, err := p.client.Do(r)
	if err != nil {
		return 0, "", failing{reason: delivery.Unanswered(err).Error()}
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, delivery.MaxAnswer)) // what is missing is not read
	status := fmt.Sprintf("HTTP %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	switch s := answer.StatusCode; {
	case s >= 200 && s < 300:
		rejects, why = rejected(said)
		return rejects, why, nil
	case s >= 300 && s < 400:
		return 0, "", failing{reason: status + ": redirects are not followed"}
	case s == http.StatusRequestEntityTooLarge:
		return 0, "", errLarge
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusNotFound, s == http.StatusMethodNotAllowed, s == http.StatusProxyAuthRequired,
		s == http.StatusRequestTimeout, s == http.StatusTooManyRequests, s == http.StatusBadGateway, s == http.StatusServiceUnavailable, s == http.StatusGatewayTimeout:
		return 0, "", failing{reason: status, after: retryAfter(answer.Header.Get("Retry-After"))} // of the setting, or of now
	case s >= 500:
		return 0, "", failing{reason: status, broken: true}
	default:
		return 0, "", delivery.Refused{Reason: status}
	}
}

func retryAfter(header string) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(header))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, delivery.LastWait)
}

// setHeaders sets NAME=VALUE,NAME=VALUE, percent-encoded, as OpenTelemetry's variables have
// them. The error names no value, nor does that of the client, which checks them.
func setHeaders(h http.Header, list string) error {
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return failing{reason: "the headers are not NAME=VALUE,NAME=VALUE, percent-encoded"}
		}
		h.Set(name, value)
	}
	return nil
}
