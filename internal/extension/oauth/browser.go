package oauth

import (
	"bufio"
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"fika"
)

// Prompt is how a person is reached.
type Prompt struct {
	// Show shows the address at which to log in. Its error ends the login.
	Show func(address string) error
	// Paste returns a reader of the lines that the person types: the address that the
	// browser ended at, if the browser runs on another machine. Reads end with ctx. nil:
	// there is nobody to type.
	Paste func(ctx context.Context) io.Reader
	// Reject is given the reason why a pasted address is of no use.
	Reject func(why error)
}

// patience is how long a person has for a login.
const patience = 15 * time.Minute

// await shows where to log in and waits for the browser, which comes back to the listener
// or is pasted. Answers with another state are refused and change nothing.
func await(ctx context.Context, l net.Listener, p Prompt, address, state string) (*auth.AuthorizationResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fika.Errorf(fika.Failed, "", "nobody has logged in within %s", patience))
	b := browser{state: state, found: make(chan answer, 1)}
	server := &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	var both sync.WaitGroup
	both.Go(func() { _ = server.Serve(l) }) // ends with Close
	if p.Paste != nil {
		both.Go(func() { b.read(p.Paste(ctx), p.Reject) })
	}
	got := answer{err: p.Show(address)}
	if got.err != nil {
		cancel()
	}
	select {
	case got = <-b.found:
		soon, cancel := context.WithTimeout(ctx, 2*time.Second)
		_ = server.Shutdown(soon) // after the browser has its answer
		cancel()
	case <-ctx.Done():
		if got.err == nil {
			got.err = context.Cause(ctx)
		}
	}
	cancel()
	_ = server.Close()
	both.Wait()
	return got.result, got.err
}

// answer is what the browser brought back.
type answer struct {
	result *auth.AuthorizationResult
	err    error
}

// browser waits for the end of one login.
type browser struct {
	state string
	found chan answer // capacity 1: the first counts
}

// ServeHTTP implements [http.Handler].
func (b browser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	if r.Method != http.MethodGet || r.URL.Path != returnPath {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if err := b.take(r.URL.Query()); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "fika: %v\n", err)
		return
	}
	fmt.Fprintln(w, "fika has got the answer: you can close this window and go back to the terminal.")
}

// take takes the answer of an authorization server. The error says why it is of no use.
func (b browser) take(q url.Values) error {
	if b.state == "" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(b.state)) != 1 {
		return fika.Errorf(fika.Denied, "", "this does not belong to the login that is waiting")
	}
	a := answer{result: &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}}
	switch refused := q.Get("error"); {
	case refused != "":
		why := refused
		if about := q.Get("error_description"); about != "" {
			why += ": " + about
		}
		a = answer{err: fika.Errorf(fika.Denied, "", "the server refuses the login: %s", plain(why))}
	case a.result.Code == "":
		return fika.Errorf(fika.Invalid, "", "it has no code")
	}
	select {
	case b.found <- a:
	default:
	}
	return nil
}

// read takes the first pasted address that is of use.
func (b browser) read(r io.Reader, reject func(error)) {
	for in := bufio.NewScanner(r); in.Scan(); {
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		u, err := url.Parse(line)
		if err == nil {
			err = b.take(u.Query())
		} else {
			err = fika.Errorf(fika.Invalid, "", "not an address")
		}
		if err == nil {
			return
		}
		reject(err)
	}
}
