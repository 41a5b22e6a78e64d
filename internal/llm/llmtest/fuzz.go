package llmtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fika"
	"fika/internal/llm"
)

// FuzzStream feeds arbitrary bytes as a streamed answer to a model that open builds on
// an HTTP client, starting from the replies of the files. Whatever the bytes, the call must
// end in a response of valid text with usable calls, or in an error of a known kind.
func FuzzStream(f *testing.F, open func(baseURL string, c *http.Client) llm.Model, files ...string) {
	for _, file := range files {
		_, replies := readReplies(f, file)
		for _, r := range replies {
			if len(r.body) < 10_000 {
				f.Add(r.header.Get("Content-Type"), r.body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind, body string) {
		m := open("http://model.invalid/v1", &http.Client{Transport: canned{kind, body}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		res, events, err := collect(ctx, m, hello())
		if ctx.Err() != nil {
			t.Fatal("the call did not end")
		}
		for _, e := range events {
			if !utf8.ValidString(e.Text) {
				t.Errorf("event is not UTF-8: %q", e.Text)
			}
		}
		if err != nil {
			var p *llm.ProviderError
			if !errors.As(err, &p) && !fika.IsKind(err, fika.Limit) {
				t.Errorf("unknown error: %v", err)
			}
			return
		}
		checkResponse(t, res, events)
	})
}

func checkResponse(t *testing.T, res llm.Response, events []llm.Event) {
	if got := textOf(events, llm.TextDelta); got != res.Text {
		t.Errorf("text is %q, events said %q", res.Text, got)
	}
	if got := textOf(events, llm.ReasoningDelta); got != res.Reasoning {
		t.Errorf("reasoning is %q, events said %q", res.Reasoning, got)
	}
	ids := map[string]bool{}
	for _, c := range res.Calls {
		if c.ID == "" || ids[c.ID] || c.Args == "" || !utf8.ValidString(c.Args) {
			t.Errorf("call %+v is unusable", c)
		}
		ids[c.ID] = true
	}
	if u := res.Usage; u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.Cost < 0 {
		t.Errorf("usage is %+v", u)
	}
}

// canned is a transport that always gives the same answer.
type canned struct{ kind, body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return &http.Response{
		StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body)), Request: r,
	}, nil
}
