package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"fika"
	"fika/internal/system/address"
	"fika/internal/text/safetext"
	"fika/internal/tool"
)

const (
	maxRedirects   = 5
	defaultTimeout = 30 * time.Second
	defaultBytes   = 1 << 20
	mostBytes      = 8 << 20
)

// Options configures the tool; the zero value is ready to use.
type Options struct {
	// AllowPrivate permits loopback and private addresses.
	AllowPrivate bool
	// Closed is that of [address.Dialer].
	Closed    func(netip.AddrPort) bool
	Timeout   time.Duration // of the whole fetch; 0: 30 s
	MaxBytes  int64         // read of a page when a call gives no number: 1 MiB
	UserAgent string        // "" : fika
}

// Tool is the fetch tool.
type Tool struct {
	opts   Options
	client *http.Client
}

var _ tool.Tool = (*Tool)(nil)

// New returns the fetch tool.
func New(o Options) *Tool { return newTool(o, nil) }

// lookup resolves a host name, as [address.Dialer] describes it.
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

func newTool(o Options, resolve lookup) *Tool {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultBytes
	}
	if o.UserAgent == "" {
		o.UserAgent = "fika"
	}
	d := &address.Dialer{Lookup: resolve, AllowPrivate: o.AllowPrivate, Closed: o.Closed}
	return &Tool{opts: o, client: &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // a proxy would connect to addresses nobody checked
			DialContext:            d.DialContext,
			DisableKeepAlives:      true,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: checkRedirect,
	}}
}

// checkRedirect checks each redirect; its address is checked when it is dialled.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fika.Errorf(fika.Failed, "fetch", "more than %d redirects", maxRedirects)
	}
	_, err := checkURL(req.URL.String())
	return err
}

// Spec implements [tool.Tool].
func (t *Tool) Spec() tool.Spec {
	return tool.Spec{
		Name:        "fetch",
		Description: "GET a public web page as text.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"},` +
			`"max_bytes":{"type":"integer"}},"required":["url"]}`),
		Checked: true, ByName: true, Effect: fika.Pure,
		Timeout: t.opts.Timeout + 5*time.Second, // the tool's own timeout comes first
	}
}

type args struct {
	URL      string  `json:"url"`
	MaxBytes float64 `json:"max_bytes"`
}

// Call implements [tool.Tool].
func (t *Tool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var a args
	if err := tool.Decode(t.Spec(), c, &a); err != nil {
		return tool.Refusal(err), nil
	}
	u, err := checkURL(a.URL)
	if err != nil {
		return tool.Refusal(err), nil
	}
	most := t.opts.MaxBytes
	if a.MaxBytes < 0 {
		return tool.Errorf("max_bytes must be at least 1"), nil
	}
	if a.MaxBytes > 0 {
		most = int64(min(a.MaxBytes, mostBytes))
	}
	inner, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	r, err := t.getPage(inner, u, most)
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.Result{}, fika.Wrap(fika.Interrupted, "fetch", context.Cause(ctx))
	case err != nil && inner.Err() != nil:
		return tool.Errorf(fmt.Sprintf("%s did not answer within %s", u.Host, t.opts.Timeout)), nil
	case err != nil:
		return refusalCause(err), nil
	}
	r.Taint = "fetch " + u.Hostname()
	return r, nil
}

// refusalCause returns the cause of an error without the wrapping of net/http, which
// repeats the whole address.
func refusalCause(err error) tool.Result {
	var known *fika.Error
	if errors.As(err, &known) {
		return tool.Refusal(known)
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return tool.Errorf("it could not be fetched: " + safetext.Plain(err.Error()))
}

func (t *Tool) getPage(ctx context.Context, u *url.URL, most int64) (tool.Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return tool.Result{}, err
	}
	req.Header.Set("User-Agent", t.opts.UserAgent)
	req.Header.Set("Accept", "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1")
	resp, err := t.client.Do(req)
	if err != nil {
		return tool.Result{}, err
	}
	defer resp.Body.Close()
	// The bound applies to the body as net/http has decompressed it, so that a small
	// response cannot grow without end.
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil && len(body) == 0 {
		return tool.Result{}, err
	}
	note := ""
	switch {
	case int64(len(body)) > most:
		body, note = body[:most], fmt.Sprintf("\n[only the first %d bytes]", most)
	case err != nil:
		note = "\n[the connection broke off here]"
	}
	return tool.Result{
		Text:    pageText(resp, body) + note,
		IsError: resp.StatusCode >= 400,
	}, ctx.Err()
}

// pageText returns a line that describes the response, and its text.
func pageText(resp *http.Response, body []byte) string {
	kind, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind == "" {
		kind, params, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	head := fmt.Sprintf("[%d %s %s]\n", resp.StatusCode, kind, resp.Request.URL.Redacted())
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return safetext.Plain(head + fmt.Sprintf("(%d bytes packed as %q, which is not understood)", len(body), enc))
	}
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		return safetext.Plain(head + readableText(decodeCharset(body, params["charset"])))
	case isTextual(kind) && utf8OrDeclared(body, params["charset"]):
		return safetext.Plain(head + decodeCharset(body, params["charset"]))
	}
	return safetext.Plain(head + fmt.Sprintf("(not text: %d bytes)", len(body)))
}

func isTextual(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		strings.HasSuffix(kind, "/json") || strings.HasSuffix(kind, "/xml") || strings.HasSuffix(kind, "/yaml") ||
		strings.HasSuffix(kind, "/toml") || strings.HasSuffix(kind, "javascript")
}

func utf8OrDeclared(body []byte, charset string) bool {
	return charset != "" || utf8.Valid(body) || !strings.ContainsRune(string(body[:min(len(body), 1<<10)]), 0)
}

// windows1252 has the characters 0x80 to 0x9f of the charset that pages mean by latin-1;
// every other byte is its own code point.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

func decodeCharset(body []byte, charset string) string {
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1", "windows-1252", "us-ascii":
	default:
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	high := []rune(windows1252)
	var b strings.Builder
	b.Grow(len(body))
	for _, c := range body {
		if c >= 0x80 && c <= 0x9f {
			b.WriteRune(high[c-0x80])
			continue
		}
		b.WriteRune(rune(c))
	}
	return b.String()
}
