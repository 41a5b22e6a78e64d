package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fika"
	"fika/internal/llm"
)

// Op is the operation in every error of a model call.
const Op = "model call"

// maxWords bounds a quotation of a provider's words, in bytes.
const maxWords = 2000

// Failure makes the error of a failed call from what is known about it. Secrets (API
// keys) are kept out of every text.
type Failure struct {
	Host      string // with port and model, as people are shown it
	Secrets   []string
	Visible   bool   // text was already emitted
	RequestID string // the provider's name for the call; empty: none
}

// Status returns the error for a response whose status is not a success. It reads up to
// 64 KiB of res.Body; the caller must close it.
func (f Failure) Status(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	words := ErrorMessage(body)
	switch {
	case res.StatusCode >= 300 && res.StatusCode <= 399:
		words = redirectWords(res)
	case words == "":
		words = http.StatusText(res.StatusCode)
	}
	code, after := errorDetails(body)
	return f.fromProvider(&llm.ProviderError{
		Status:     res.StatusCode,
		Code:       code,
		Message:    fmt.Sprintf("%s answered %d: %s", f.Host, res.StatusCode, words),
		RetryAfter: max(RetryAfter(res.Header, time.Now()), after),
	})
}

// Stated returns the error for trouble that the provider reports in the body of a
// successful response, with the HTTP status it would have had.
func (f Failure) Stated(status int, body []byte) error {
	words := ErrorMessage(body)
	if words == "" {
		words = "it gave no reason"
	}
	code, after := errorDetails(body)
	return f.fromProvider(&llm.ProviderError{
		Status: status, Code: code, RetryAfter: after, Message: fmt.Sprintf("%s broke off the answer (%d): %s", f.Host, status, words),
	})
}

// errorDetails returns the provider's word for an error, and the wait that Google's
// errors ask for in their details.
func errorDetails(body []byte) (code string, after time.Duration) {
	body = onlyElement(body)
	var e struct {
		Error   json.RawMessage `json:"error"`
		Code    Text            `json:"code"`
		Type    Text            `json:"type"`
		Details []struct {
			RetryDelay string `json:"retryDelay"`
		} `json:"details"`
	}
	if json.Unmarshal(body, &e) != nil {
		return "", 0
	}
	if len(e.Error) > 0 && e.Error[0] == '{' {
		return errorDetails(e.Error)
	}
	for _, d := range e.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			after = min(wait, 1000*time.Hour)
		}
	}
	for _, word := range []Text{e.Code, e.Type} {
		if _, err := strconv.Atoi(string(word)); word != "" && len(word) <= 64 && err != nil {
			return string(word), after
		}
	}
	return "", after
}

// Broken returns the error for an answer that cannot be used; another call may succeed.
func (f Failure) Broken(format string, args ...any) error {
	return f.fromProvider(&llm.ProviderError{Message: f.Host + ": " + fmt.Sprintf(format, args...)})
}

// Transport returns the error for a call that got no answer, or whose answer broke off:
// of kind Interrupted if ctx ended, else of kind Provider without a status. It returns a
// *fika.Error unchanged.
func (f Failure) Transport(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fika.Wrap(fika.Interrupted, Op, context.Cause(ctx))
	}
	var known *fika.Error
	if errors.As(err, &known) {
		return err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // its text repeats the URL, which may carry a secret
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return f.Broken("the connection was closed before the answer was complete")
	}
	if why := unreachable(err); why != "" {
		return f.fromProvider(&llm.ProviderError{Message: "cannot reach " + f.Host + ": " + why})
	}
	return f.Broken("no answer: %v", err)
}

// unreachable says in plain words why there is no connection to a host; "" if there was one.
func unreachable(err error) string {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return "its name is not found (offline?)"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETDOWN):
		return "no network (offline?)"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	}
	return ""
}

func (f Failure) fromProvider(e *llm.ProviderError) error {
	e.Message = RedactSecrets(oneLine(e.Message), f.Secrets...)
	e.Visible, e.RequestID = f.Visible, f.RequestID
	return fika.Wrap(fika.Provider, Op, e)
}

// RedactSecrets replaces every secret in s.
func RedactSecrets(s string, secrets ...string) string {
	for _, secret := range secrets {
		if len(secret) >= 4 {
			s = strings.ReplaceAll(s, secret, "[secret removed]")
		}
	}
	return s
}

// oneLine returns a provider's words as one bounded line.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return r <= ' ' || r == 0x7f
	}), " ")
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[:maxWords], "") + " …"
	}
	return s
}

// onlyElement returns the element of a list of one, as which Google's errors come, else body.
func onlyElement(body []byte) []byte {
	var list []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) && json.Unmarshal(body, &list) == nil && len(list) == 1 {
		return list[0]
	}
	return body
}

// ErrorMessage returns the message in the body of an error: {"error":{"message"}},
// {"error":"…"}, {"message"}, {"detail"}, else the body itself unless it is an HTML
// page.
func ErrorMessage(body []byte) string {
	body = onlyElement(body)
	var known struct {
		Error   json.RawMessage `json:"error"`
		Message Text            `json:"message"`
		Detail  Text            `json:"detail"`
	}
	if json.Unmarshal(body, &known) == nil {
		if len(known.Error) > 0 && known.Error[0] == '{' {
			if inner := ErrorMessage(known.Error); inner != "" {
				return inner + upstreamWords(known.Error)
			}
		}
		var plain string
		if json.Unmarshal(known.Error, &plain) == nil && plain != "" {
			return plain
		}
		if known.Message != "" {
			return string(known.Message)
		}
		if known.Detail != "" {
			return string(known.Detail)
		}
	}
	s := strings.TrimSpace(string(body))
	if plain := ""; json.Unmarshal(body, &plain) == nil && plain != "" {
		s = plain
	}
	if strings.HasPrefix(s, "<") {
		return "(a page of HTML)"
	}
	return s
}

// upstreamWords returns the words of the provider behind a router.
func upstreamWords(raw []byte) string {
	var e struct {
		Metadata struct {
			Raw Text `json:"raw"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Metadata.Raw == "" {
		return ""
	}
	return ": " + string(e.Metadata.Raw)
}

// RetryAfter returns the wait that a provider asks for, in retry-after-ms, in
// retry-after as seconds, or there as a date. 0: it did not ask, or the value makes no
// sense.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	v := h.Get("Retry-After")
	if d, ok := parseWait(v, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func parseWait(v string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsNaN(f) || f < 0 {
		return 0, false
	}
	if f > float64(1000*time.Hour)/float64(unit) {
		return 1000 * time.Hour, true
	}
	return time.Duration(f * float64(unit)), true
}
