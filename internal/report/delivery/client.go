package delivery

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"fika"
	"fika/internal/system/address"
)

const (
	// AnswerTime is how long a receiver may take for its answer, and MaxAnswer how many bytes
	// of it are read.
	AnswerTime = 15 * time.Second
	MaxAnswer  = 64 << 10
)

// Refused is the error of a receiver that does not want what was sent, and of an address
// that nothing is sent to: to try again would not help.
type Refused struct{ Reason string }

func (r Refused) Error() string { return r.Reason }

// Client returns a client for one receiver, which whoever has it closes. It follows no
// redirects and uses no proxy of the environment. It goes to private addresses only if
// private says so, and not where own reports an address to be the page of the home itself.
func Client(private bool, own func(netip.AddrPort) bool) *http.Client {
	d := &address.Dialer{AllowPrivate: private, Closed: own}
	return &http.Client{
		Timeout: AnswerTime,
		Transport: &http.Transport{
			DialContext: d.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: AnswerTime, MaxResponseHeaderBytes: MaxAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Unanswered returns why a call of a [Client] has no answer, without the address, which is
// known.
func Unanswered(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		err = fmt.Errorf("no answer within %s", AnswerTime)
	}
	if fika.IsKind(err, fika.Denied) {
		err = fmt.Errorf("nothing is sent there: %w", err)
	}
	return err
}
