package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fika/internal/report/delivery"
	"fika/internal/system/address"
)

// Sign returns the signature of a message: of its id, the time at which it is sent and its
// body, separated by dots. A secret that begins with whsec_ is base64 behind that.
func Sign(secret, id string, at time.Time, body []byte) string {
	key := []byte(secret)
	if text, coded := strings.CutPrefix(secret, "whsec_"); coded {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			key = raw
		}
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Poster posts messages to one receiver.
type Poster struct {
	url    string
	client *http.Client
}

// NewPoster returns a poster for a receiver. Private says that the name of its host may lead
// to private addresses. Own reports whether an address is the page of the home itself, where
// nothing is sent.
func NewPoster(to string, private bool, own func(netip.AddrPort) bool) *Poster {
	u, err := url.Parse(to)
	if err == nil && !private { // a number is named; a name leads where its owner wants
		_, err := netip.ParseAddr(u.Hostname())
		private = err == nil || address.IsLoopback(u.Hostname())
	}
	return &Poster{url: to, client: delivery.Client(private, own)}
}

// Close ends idle connections.
func (p *Poster) Close() { p.client.CloseIdleConnections() }

// Post sends a message once, with the header traceparent if it is not empty. It returns nil once the receiver has answered that it has it, a
// [delivery.Refused] if it does not want it, and another error if it may want it later.
func (p *Poster) Post(ctx context.Context, secret, id string, at time.Time, trace string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return delivery.Refused{Reason: err.Error()}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "fika-webhook")
	r.Header["webhook-id"] = []string{id}
	r.Header["webhook-timestamp"] = []string{strconv.FormatInt(at.Unix(), 10)}
	r.Header["webhook-signature"] = []string{Sign(secret, id, at, body)}
	if trace != "" {
		r.Header.Set("Traceparent", trace)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return delivery.Unanswered(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, delivery.MaxAnswer) // only so that the connection can be used again
	switch s := answer.StatusCode; {
	case s >= 200 && s < 300:
		return nil
	case s >= 300 && s < 400:
		return delivery.Refused{Reason: fmt.Sprintf("HTTP %d: redirects are not followed", s)}
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		return fmt.Errorf("HTTP %d %s", s, http.StatusText(s))
	default:
		return delivery.Refused{Reason: fmt.Sprintf("HTTP %d %s", s, http.StatusText(s))}
	}
}
