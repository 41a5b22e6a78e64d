package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/address"
)

const (
	// answerTime is how long a receiver may take for its answer.
	answerTime = 15 * time.Second
	// maxAnswer is how much of an answer is read, so that its connection can be used again.
	maxAnswer = 64 << 10
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

// Refused is the error of a receiver that does not want a message, and of an address that
// nothing is sent to: to try again would not help.
type Refused struct{ Reason string }

func (r Refused) Error() string { return r.Reason }

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
	d := &address.Dialer{AllowPrivate: private, Closed: own}
	return &Poster{url: to, client: &http.Client{
		Timeout: answerTime,
		Transport: &http.Transport{
			DialContext: d.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: answerTime, MaxResponseHeaderBytes: maxAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close ends idle connections.
func (p *Poster) Close() { p.client.CloseIdleConnections() }

// Post sends a message once, with the header traceparent if it is not empty. It returns nil once the receiver has answered that it has it, a
// [Refused] if it does not want it, and another error if it may want it later.
func (p *Poster) Post(ctx context.Context, secret, id string, at time.Time, trace string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return Refused{err.Error()}
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
		var inner *url.Error
		if errors.As(err, &inner) { // without the address, which is known
			err = inner.Err
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			err = fmt.Errorf("no answer within %s", answerTime)
		}
		if fika.IsKind(err, fika.Denied) {
			err = fmt.Errorf("nothing is sent there: %w", err)
		}
		return err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // only so that the connection can be used again
	switch s := answer.StatusCode; {
	case s >= 200 && s < 300:
		return nil
	case s >= 300 && s < 400:
		return Refused{fmt.Sprintf("HTTP %d: redirects are not followed", s)}
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		return fmt.Errorf("HTTP %d %s", s, http.StatusText(s))
	default:
		return Refused{fmt.Sprintf("HTTP %d %s", s, http.StatusText(s))}
	}
}
