package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"fika"
	"fika/internal/llm"
)

// Grace is how long a stream may stay open after the answer is complete, for what may
// still come (usage, the end mark).
const Grace = 2 * time.Second

// Answer gathers one answer from the events of its stream.
type Answer interface {
	// Take handles one event, called as [ReadEvents] calls its callback. It returns
	// [ErrDone] when nothing more is expected.
	Take(name string, data []byte) error
	// Failure returns how an error is to be reported now, depending on whether text was
	// shown.
	Failure() Failure
	// Halted returns the error that ends the call as it is; nil: none.
	Halted() error
	// Complete reports whether nothing essential is missing.
	Complete() bool
	// Finish returns the response, or an error that says what is wrong with a complete
	// answer.
	Finish() (llm.Response, error)
	// Reported returns the tokens that the provider has reported so far.
	Reported() Report
	// CutOff returns the tokens of a call that was ended here before its answer was complete.
	CutOff(Report) fika.Usage
}

// ReadAnswer reads an answer to its end and closes the body. A stream that breaks off
// after the answer was complete is not an error.
func ReadAnswer(ctx context.Context, res *http.Response, a Answer) (llm.Response, error) {
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return llm.Response{}, a.Failure().Status(res)
	}
	err := ReadStream(res, a.Failure(), a.Take)
	broken := llm.Response{Usage: a.Reported().usage()}
	if ctx.Err() != nil {
		broken.Usage = a.CutOff(a.Reported())
	}
	if halted := a.Halted(); halted != nil {
		return broken, halted
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil && !a.Complete() {
		return broken, a.Failure().Transport(ctx, err)
	}
	whole, err := a.Finish()
	if err != nil {
		return broken, err
	}
	return whole, nil
}

// ReadStream reads the body of a successful response: server-sent events, or one JSON
// document from servers that do not stream. It calls each as [ReadEvents] does, and
// closes the body.
func ReadStream(res *http.Response, f Failure, each func(name string, data []byte) error) error {
	defer res.Body.Close()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case strings.HasSuffix(kind, "json") && !strings.Contains(kind, "ndjson"):
		body, err := io.ReadAll(io.LimitReader(res.Body, MaxEvent+1))
		if err != nil {
			return err
		}
		if len(body) > MaxEvent {
			return tooLarge("answer", MaxEvent)
		}
		if err := each("", bytes.TrimSpace(body)); !errors.Is(err, ErrDone) {
			return err
		}
		return nil
	case kind == "text/html":
		return f.fromProvider(&llm.ProviderError{Status: res.StatusCode, Message: f.Host + " answered with a page of HTML: is base_url right?"})
	}
	return ReadEvents(&bounded{res.Body, MaxStream}, each)
}

// bounded reads at most left bytes, so that a small compressed answer cannot keep a call
// busy for ever.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge("answer", MaxStream)
	}
	return n, err
}

// Deadline closes the stream of a call if a complete answer is not followed by its end
// within [Grace].
type Deadline struct {
	cancel context.CancelFunc
	timer  *time.Timer
}

// NewDeadline returns the context that a call's request must use, and its Deadline.
func NewDeadline(ctx context.Context) (context.Context, *Deadline) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, &Deadline{cancel: cancel}
}

// Arm starts the grace period, once.
func (d *Deadline) Arm() {
	if d.timer == nil {
		d.timer = time.AfterFunc(Grace, d.cancel)
	}
}

// Stop ends the call's context and the timer.
func (d *Deadline) Stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.cancel()
}

// BaseURL returns a base URL that a person wrote, without surrounding spaces and
// trailing slashes, or fallback if it is empty.
func BaseURL(raw, fallback string) string {
	raw = strings.TrimRight(strings.TrimSpace(raw), "/")
	if raw == "" {
		return fallback
	}
	return raw
}
