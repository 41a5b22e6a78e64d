package web

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"fika/internal/system/address"
	"fika/internal/tool"
	"fika/internal/tool/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func call(t testing.TB, w *Tool, url string, more string) tool.Result {
	t.Helper()
	raw, err := json.Marshal(url)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Call(t.Context(), tool.Call{Args: json.RawMessage(`{"url":` + string(raw) + more + `}`)})
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.ValidString(r.Text) {
		t.Errorf("%s: not UTF-8", url)
	}
	return r
}

// site answers everything the tests ask.
func site(t *testing.T) *httptest.Server {
	block := make(chan struct{})
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, body)
		})
	}
	serve("/page", "text/html; charset=utf-8", "<title>T</title><script>bad()</script><h1>Head</h1><p>one <b>two</b></p>")
	serve("/plain", "text/plain", "just\x1b[31m text\n")
	serve("/json", "application/json", `{"a":1}`)
	serve("/latin", "text/plain; charset=ISO-8859-1", "caf\xe9 \x80")
	serve("/binary", "image/png", "\x89PNG\x00")
	serve("/br", "text/html", "")
	mux.HandleFunc("/brotli", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		fmt.Fprint(w, "???")
	})
	mux.HandleFunc("/missing", http.NotFound)
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		zeros := []byte(strings.Repeat("0", 1<<20))
		for range 200 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-block:
		}
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/hop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plain", http.StatusFound) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() { close(block); s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	s := site(t)
	tooltest.Run(t, tooltest.Case{
		Tool: New(Options{AllowPrivate: true}),
		Good: []string{`{"url":"` + s.URL + `/page"}`, `{"url":"` + s.URL + `/bomb","max_bytes":1000}`, `{"url":"` + s.URL + `/binary"}`},
		Bad:  []string{`{"url":""}`, `{"url":"ftp://x/"}`, `{"url":"` + s.URL + `/missing"}`, `{"url":"http://u:p@example.org/"}`},
		Slow: `{"url":"` + s.URL + `/hang"}`,
	})
}

func TestFetch(t *testing.T) {
	s := site(t)
	w := New(Options{AllowPrivate: true})
	for path, want := range map[string]string{
		"/page":   "[200 text/html URL]\nT\n\n# Head\n\none two",
		"/plain":  "[200 text/plain URL]\njust text\n",
		"/json":   "[200 application/json URL]\n{\"a\":1}",
		"/latin":  "[200 text/plain URL]\ncafé €",
		"/binary": "[200 image/png URL]\n(not text: 5 bytes)",
	} {
		want = strings.Replace(want, "URL", s.URL+path, 1)
		if r := call(t, w, s.URL+path, ""); r.Text != want || r.IsError {
			t.Errorf("%s: want %q, got %+v", path, want, r)
		}
	}
	if r := call(t, w, s.URL+"/hop", ""); !strings.Contains(r.Text, "/plain]\njust text") {
		t.Errorf("got %+v", r)
	}
	if r := call(t, w, s.URL+"/loop", ""); !r.IsError || !strings.Contains(r.Text, "more than 5 redirects") {
		t.Errorf("got %+v", r)
	}
	if r := call(t, w, s.URL+"/missing", ""); !r.IsError || !strings.HasPrefix(r.Text, "[404 ") {
		t.Errorf("got %+v", r)
	}
	if r := call(t, w, s.URL+"/brotli", ""); !strings.Contains(r.Text, `packed as "br"`) {
		t.Errorf("got %+v", r)
	}
	if r := call(t, w, s.URL+"/bomb", ""); len(r.Text) > 2<<20 || !strings.HasSuffix(r.Text, "[only the first 1048576 bytes]") {
		t.Errorf("got %d bytes", len(r.Text))
	}
	short := New(Options{AllowPrivate: true, Timeout: 30 * time.Millisecond})
	if r := call(t, short, s.URL+"/hang", ""); !r.IsError || !strings.Contains(r.Text, "did not answer within 30ms") {
		t.Errorf("got %+v", r)
	}
}

// names is a name server of its own.
func names(table map[string][]string) lookup {
	return func(_ context.Context, _, host string) ([]netip.Addr, error) {
		var addrs []netip.Addr
		for _, s := range table[strings.ToLower(host)] {
			addrs = append(addrs, netip.MustParseAddr(s))
		}
		if len(addrs) == 0 {
			return nil, errors.New("no such host")
		}
		return addrs, nil
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	w := newTool(Options{}, names(map[string][]string{
		"localhost": {"127.0.0.1"}, "inside.example": {"10.1.2.3"}, "meta.example": {"169.254.169.254", "fd00:ec2::254"}, "mapped.example": {"::ffff:127.0.0.1"},
	}))
	for _, url := range []string{
		"http://127.0.0.1/", "http://127.0.0.1:8222/varz", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]:80/", "http://0.0.0.0/", "http://[::]/",
		"http://localhost/", "http://LOCALHOST/", "http://inside.example/", "http://meta.example/latest/", "http://mapped.example/", "http://169.254.169.254/latest/meta-data/",
		"http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.0.1./", "http://017700000001/", "http://[fe80::1%25lo]/",
		"http://100.100.100.200/", "http://[64:ff9b::7f00:1]/",
	} {
		r := call(t, w, url, "")
		if !r.IsError || !r.Denied {
			t.Errorf("%s: got %+v", url, r)
		}
	}
	for url, want := range map[string]string{
		"file:///etc/passwd": "only http", "gopher://x/": "only http", "http:///x": "no host", "http://a:b@x/": "user or password",
		"http://no.such.example/": "no such host", "://": "cannot be read", "javascript:alert(1)": "only http",
	} {
		if r := call(t, w, url, ""); !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%s: want %q, got %+v", url, want, r)
		}
	}
}

// A public page that redirects inwards: the first hop is let through by a
// dialler that treats the test's server as public, the second one is not.
func TestRedirectsAreCheckedAgain(t *testing.T) {
	s := site(t)
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	for _, to := range []string{"http://127.0.0.2" + port + "/plain", "http://localhost" + port + "/plain", "http://[::1]" + port + "/plain", "http://2130706433" + port + "/plain", "file:///etc/passwd", "http://u:p@127.0.0.1/"} {
		w := newTool(Options{}, names(map[string][]string{"localhost": {"127.0.0.1"}}))
		checked := w.client.Transport.(*http.Transport).DialContext
		open := &address.Dialer{Lookup: names(map[string][]string{"public.example": {"127.0.0.1"}}), AllowPrivate: true}
		w.client.Transport.(*http.Transport).DialContext = dialFirst(open.DialContext, checked)
		r := call(t, w, "http://public.example"+port+"/to?u="+to, "")
		if !r.IsError || strings.Contains(r.Text, "just text") {
			t.Errorf("%s: got %+v", to, r)
		}
	}
}

// Private addresses are allowed, and one port of this machine is not, by whatever name.
func TestClosedPort(t *testing.T) {
	s := site(t)
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	own := netip.MustParseAddrPort("127.0.0.1" + port)
	w := newTool(Options{AllowPrivate: true, Closed: func(a netip.AddrPort) bool { return a.Addr().IsLoopback() && a.Port() == own.Port() }}, names(map[string][]string{"localhost": {"127.0.0.1"}, "own.example": {"127.0.0.1"}}))
	for _, host := range []string{"127.0.0.1", "localhost", "own.example", "[::ffff:127.0.0.1]"} {
		if r := call(t, w, "http://"+host+port+"/plain", ""); !r.IsError || !strings.Contains(r.Text, "not for tools") {
			t.Errorf("%s: got %+v", host, r)
		}
	}
	w = newTool(Options{AllowPrivate: true, Closed: func(netip.AddrPort) bool { return false }}, nil)
	if r := call(t, w, s.URL+"/plain", ""); r.IsError {
		t.Errorf("another port: got %+v", r)
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"http://a/", "http://0x7f.1/", "http://[::1]:80/", "https://x:y@z", "http://127.0.0.1.", "HTTP://ⓛocalhost/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := checkURL(s)
		if err != nil {
			return
		}
		if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
			t.Fatalf("%q was accepted: %#v", s, u)
		}
	})
}
